// Command vidfilter filters videos and pictures, and keeps everything else in the file.
//
// Stdout carries media or requested output only. Messages go to stderr, one line each, after
// "vidfilter: "; advice on an error follows on a line after "hint: ".
package main

import (
	"cmp"
	"os"
	"strings"

	"vidfilter/decode"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/netfile"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"

	"github.com/spf13/cobra"
)

func main() {
	env, err := sandbox.Inherit(os.Environ())
	if err != nil {
		terminal.PrintError(os.Stderr, err)
		os.Exit(contract.ExitFailed)
	}
	copies, env := netfile.TakeCopies(env)
	decode.UseCopies(copies)
	a := &app{Stdio: terminal.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: env}, program: true}
	if box := sandbox.Inside(); box != nil {
		a.Err = box.Err
	}
	sandbox.Exit(a.run(os.Args[1:]))
}

// run executes a command line in this process and returns the exit code.
func run(args []string, s terminal.Stdio) int { return (&app{Stdio: s}).run(args) }

func (a *app) run(args []string) int {
	terminal.IgnoreWriteSignals()
	job.QuietLibraries()
	root := a.command()
	args = a.batchOf(args)
	a.addCommands(root, args)
	args, err := joined(root, args)
	root.SetArgs(args)
	cmd := root
	if err == nil {
		cmd, err = root.ExecuteC()
	}
	err = cmp.Or(err, a.helpErr)
	switch {
	case err == nil:
		return a.code
	case cmd == root && cli.WantsJSON(args, a.Env):
		o := job.NewOptions()
		o.Progress = "json"
		return o.OpenUI(a.Stdio).Finish(terminal.Result{}, err)
	}
	terminal.PrintError(a.Err, err)
	return contract.ExitCode(err)
}

// joined joins options that may stand alone with their values. It refuses ffmpeg's long options
// behind a single dash, which pflag would take apart into letters.
func joined(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args, nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil {
		return args, err
	}
	return cli.Joined(cmd.Flags(), args), cli.ForeignFlag(cmd.Flags(), rest)
}
