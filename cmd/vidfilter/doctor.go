package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"vidfilter/decode"
	"vidfilter/gpu"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// findings is the report of vidfilter doctor.
type findings struct {
	System  string            `json:"system"`
	Kernel  sandbox.Kernel    `json:"kernel"`
	Missing []string          `json:"missing"` // that stays open
	Doors   []sandbox.Attempt `json:"doors"`
	OK      bool              `json:"ok"`
}

func (a *app) newDoctorCommand(s terminal.Stdio) *cobra.Command {
	var asJSON, nvenc bool
	var mode string
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Flag(&asJSON, "json", "", "print JSON")
	t.Flag(&nvenc, "nvenc", "", "test NVENC instead, and print a report")
	job.SandboxFlag(t, &mode)
	return withFlags(&cobra.Command{
		Use: "doctor [options]", Short: "Check this machine's protection from files",
		Long: withExits("Print the kernel's features for the sandbox, and prove them: a process like that\n"+
			"of a job tries to read, write, connect, run programs and reach other processes.\n"+
			"The exit code is 1 if something is open that such a process does not need.\n"+
			"--nvenc tests NVENC instead, which is experimental: it encodes a small video\n"+
			"with each codec, format and setting, and compares them. See docs/nvenc.md.",
			contract.ExitFailed, contract.ExitOutput, contract.ExitDevice),
		Example: "  vidfilter doctor\n  vidfilter doctor --sandbox off                 # the same without it\n" +
			"  vidfilter doctor --nvenc >nvenc.txt            # takes some minutes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sandbox.Inside() != nil {
				return tryDoors()
			}
			switch {
			case nvenc && asJSON:
				return cli.Usagef("give one of them", "--nvenc and --json exclude each other")
			case nvenc:
				return a.tryNVENC(mode)
			}
			found, err := a.examine(a.guards(cmd))
			if err != nil {
				return err
			}
			return found.report(s.Out, asJSON)
		},
	}, fs, nil)
}

// tryDoors is the child of doctor.
func tryDoors() error {
	box := sandbox.Inside()
	var targets sandbox.Targets
	if err := box.Ask("bait", nil, &targets); err != nil {
		return err
	}
	device, err := gpu.Open(gpu.Options{})
	if err == nil {
		defer device.Close()
	}
	also := sandbox.Policy{Write: []string{targets.Output}}
	if err := job.EnterSandbox(also, decode.Options{}, targets.Input); err != nil {
		return err
	}
	doors := sandbox.Try(targets)
	if device != nil {
		doors = append([]sandbox.Attempt{filterOn(device)}, doors...)
	}
	return box.Ask("doors", doors, nil)
}

// filterOn filters a picture on a GPU, whose driver must work in the sandbox.
func filterOn(b *gpu.Backend) sandbox.Attempt {
	d := sandbox.Attempt{Name: "filter on " + b.Name(), Wanted: true, Open: true}
	src := measure.Picture(measure.FormatOf(pipeline.NV12, measure.Size{Width: 640, Height: 360}))
	if _, err := measure.FilterTime(context.Background(), b, kernels.DefaultBilateral(1), gpu.Repeat{Batches: 1, Runs: 8}, src); err != nil {
		d.Open, d.Says = false, err.Error()
	}
	return d
}

// examine makes the targets and has a child try to reach them; without a sandbox this process
// tries.
func (a *app) examine(guarded bool) (findings, error) {
	dir, err := os.MkdirTemp("", "vidfilter-doctor-")
	if err != nil {
		return findings{}, fmt.Errorf("doctor: %w", err)
	}
	defer os.RemoveAll(dir)
	targets, closeServers, err := sandbox.MakeTargets(dir)
	defer closeServers()
	if err != nil {
		return findings{}, fmt.Errorf("doctor: %w", err)
	}
	e := &experiment{targets: targets}
	found := findings{System: sandbox.System(), Kernel: sandbox.Offered(), OK: true}
	found.Missing = found.Kernel.Missing()
	if !guarded {
		found.Missing = []string{"--sandbox off: all of it"}
		e.doors = sandbox.Try(e.targets)
	} else if code, err := a.runChild(&child{about: "doctor", service: e}); err != nil {
		return findings{}, err
	} else if code != 0 {
		return findings{}, fmt.Errorf("doctor: the process in the sandbox ended with code %d", code)
	}
	found.Doors = e.doors
	for _, d := range found.Doors {
		found.OK = found.OK && !d.Wrong()
	}
	return found, nil
}

// experiment is the parent's part of an examination: a sandbox.Service.
type experiment struct {
	targets sandbox.Targets
	doors   []sandbox.Attempt
}

func (e *experiment) Kinds() map[string]error { return nil }
func (e *experiment) Close()                  {}

func (e *experiment) Do(op string, body json.RawMessage) (any, error) {
	switch op {
	case "bait":
		return e.targets, nil
	case "doors":
		return nil, json.Unmarshal(body, &e.doors)
	case sandbox.Sealed:
		return nil, nil
	}
	return nil, errors.New("unknown operation " + op)
}

// report prints the findings. An open door is an error.
func (f findings) report(w io.Writer, asJSON bool) error {
	var err error
	if asJSON {
		err = text.JSON(w, f)
	} else {
		_, err = io.WriteString(w, f.String())
	}
	if err == nil && !f.OK {
		err = hint.Says("a door is open that should be closed, or closed that should be open", "docs/trust.md has the kernel's requirements")
	}
	return err
}

func (f findings) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v\n", f.System, f.Kernel)
	if f.Kernel.Landlock > 0 && f.Kernel.Landlock < sandbox.WantedABI {
		fmt.Fprintf(&b, "Landlock %d would close all that seccomp closes once more\n", sandbox.WantedABI)
	}
	for _, m := range f.Missing {
		fmt.Fprintf(&b, "not closed: %s\n", m)
	}
	t := text.NewTable(4, "", "a job's process tries to", "", "")
	t.Empty, t.Indent = "", 0
	for _, d := range f.Doors {
		mark, result := "", "refused"
		if d.Open {
			result = "allowed"
		}
		if d.Wrong() {
			mark = "!"
		}
		t.Add(mark, d.Name, result, text.OneLine(d.Says))
	}
	return b.String() + t.String()
}
