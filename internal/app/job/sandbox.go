package job

import (
	"cmp"
	"errors"
	"os"

	"vidfilter/decode"
	"vidfilter/encode/target"
	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/machine"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
)

// SandboxModes are the values of --sandbox.
var SandboxModes = []string{"on", "off"}

// SandboxFlag adds --sandbox to a command; SandboxMode reads it.
func SandboxFlag(t cli.Table, mode *string) {
	t.Add(cli.OneOf(mode, SandboxModes), "sandbox", "", "on (default) off", cli.NotInBatch("the machine that does the job decides: vidfilter batch --sandbox off"))
}

// WithoutSandbox is what commands say where --sandbox is off.
const WithoutSandbox = "--sandbox off: the input is decoded with all rights of this user"

// SandboxMode returns the mode by --sandbox or the environment, "" if neither is set.
func SandboxMode(flag string, env []string) string {
	return cmp.Or(flag, cli.Lookup(env, cli.EnvName("sandbox")))
}

// IsSandboxOff reports whether the sandbox is switched off.
func IsSandboxOff(flag string, env []string) bool { return SandboxMode(flag, env) == "off" }

// EnterSandbox leaves this process, if it is a child of one that has the user's rights, no more
// than reading inputs, what also allows, and what the driver of a GPU needs, if it is loaded. No
// input may have been read before.
func EnterSandbox(also sandbox.Policy, o decode.Options, inputs ...string) error {
	if sandbox.Inside() == nil {
		return nil
	}
	k, err := sandbox.Enter(PolicyOf(o, inputs...).With(also).With(sandbox.CUDA(os.Getenv)))
	if err != nil {
		return hint.Wrap(err, "--sandbox off does without, and decodes with all rights of this user")
	}
	if o.Log != nil {
		for _, line := range append([]string{k.String()}, k.Missing()...) {
			o.Log.Debug("sandbox: " + line)
		}
	}
	return nil
}

// EnterSandbox does the same for a job or a session. With --sandbox off it only reports that.
func (o *Options) EnterSandbox(u *terminal.UI, also sandbox.Policy, inputs ...string) error {
	if o.Sandbox == "off" {
		u.Info(WithoutSandbox)
		return nil
	}
	return EnterSandbox(also, o.DecodeOptions(u), inputs...)
}

// ofSandbox adds advice to an error of a GPU's driver that may come of the sandbox.
func (o *Options) ofSandbox(err error) error {
	const operatingSystem, notPermitted = 304, 800 // of CUresult
	device, ok := errors.AsType[*gpu.Error](err)
	if !ok || o.Sandbox == "off" || sandbox.Inside() == nil {
		return err
	}
	// NVENC gives no CUresult. A feature that the chip lacks is not hidden by the sandbox.
	ofNVENC := errors.Is(err, gpu.ErrNVENC) && !errors.Is(err, gpu.ErrNVENCLacks) && !errors.Is(err, gpu.ErrNVENCFull)
	if device.Code != operatingSystem && device.Code != notPermitted && !ofNVENC {
		return err
	}
	return hint.Add(err, "--sandbox off shows whether the sandbox is in the driver's way")
}

// PolicyOf allows to read inputs.
func PolicyOf(o decode.Options, inputs ...string) sandbox.Policy {
	p := sandbox.Policy{Memory: machine.TotalMemory()}
	for _, in := range inputs {
		r := decode.ReachOf(in, o)
		p.Read, p.Devices = append(p.Read, r.Files...), append(p.Devices, r.Devices...)
		if r.Peer {
			p.Network = max(p.Network, sandbox.Peer)
		}
		for _, port := range r.Ports {
			p.Network = sandbox.Client
			p.Ports = append(p.Ports, uint16(port))
		}
	}
	return p
}

// enter leaves the job its inputs and its outputs.
func (j *job) enter(inputs []string) error {
	var also sandbox.Policy
	for _, t := range j.targets() {
		if _, open := target.Descriptor(t.Path()); !open {
			also.Write = append(also.Write, t.Path())
		}
	}
	if box := sandbox.Inside(); box != nil {
		m := &j.meters
		j.rest = box.Watch(func() int64 { return m.Decode.Frames() + m.Filter.Frames() + m.Encode.Frames() + j.copied.Load() })
	}
	return j.o.EnterSandbox(j.ui, also, inputs...)
}

// MayStall reports whether a job may wait for as long as it likes: for a pipe, a network or a user.
func (o *Options) MayStall() bool {
	in, err := os.Stat(decode.FileOf(o.Input))
	if err != nil || !in.Mode().IsRegular() {
		return true
	}
	out, err := os.Stat(o.Output)
	return o.Output == "-" || err == nil && !out.Mode().IsRegular() && !out.IsDir()
}
