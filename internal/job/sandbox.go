package job

import (
	"cmp"
	"os"

	"vidfilter/decode"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/sandbox"
)

// SandboxModes are the values of --sandbox.
var SandboxModes = []string{"on", "off"}

// SandboxFlag adds --sandbox to a command; SandboxOff reads it.
func SandboxFlag(t cli.Table, mode *string) {
	t.Add(cli.OneOf(mode, SandboxModes), "sandbox", "", "on (default) off: keep all rights")
}

// SandboxOff reports whether --sandbox, or else the environment, turns the sandbox off.
func SandboxOff(mode string, env []string) bool {
	return cmp.Or(mode, cli.Lookup(env, cli.EnvName("sandbox"))) == "off"
}

// EnterSandbox leaves this process, if it is a child of one that has the user's rights, no more than
// reading inputs and what also allows. Nothing of an input may have been read before.
func EnterSandbox(tell func(string), also sandbox.Policy, o decode.Options, inputs ...string) error {
	if sandbox.Inside() == nil {
		return nil
	}
	k, err := sandbox.Enter(PolicyOf(o, inputs...).With(also).With(sandbox.CUDA(os.Getenv)))
	if err != nil {
		return hint.Wrap(err, "--sandbox off does without, and decodes with all rights of this user")
	}
	tell("sandbox: " + k.String())
	for _, open := range k.Missing() {
		tell("sandbox: " + open)
	}
	return nil
}

// PolicyOf allows to read inputs.
func PolicyOf(o decode.Options, inputs ...string) sandbox.Policy {
	p := sandbox.Policy{Memory: decode.MachineMemory()}
	for _, in := range inputs {
		r := decode.ReachOf(in, o)
		p.Read = append(p.Read, r.Files...)
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
	if j.o.Sandbox == "off" && sandbox.Inside() == nil {
		j.ui.Info("--sandbox off: the input is decoded with all rights of this user")
		return nil
	}
	var also sandbox.Policy
	for _, t := range j.targets() {
		if t.Path() != "-" {
			also.Write = append(also.Write, t.Path())
		}
	}
	return EnterSandbox(func(s string) { j.ui.Debug(s) }, also, j.o.DecodeOptions(j.ui), inputs...)
}
