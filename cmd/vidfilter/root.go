package main

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/app/job"
	"vidfilter/internal/app/liverun"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/netfile"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// app is one run of vidfilter.
type app struct {
	terminal.Stdio
	program bool  // this process is the program, and no test of it
	code    int   // exit code of a job, which reports its errors by itself
	helpErr error // of printing help
}

// commands build the commands below the root. A start builds those that its arguments name: the
// options of all take longer than a small job.
func (a *app) commands() map[string]func(terminal.Stdio) *cobra.Command {
	guarded := func(build func(terminal.Stdio) *cobra.Command) func(terminal.Stdio) *cobra.Command {
		return func(s terminal.Stdio) *cobra.Command { return a.guard(build(s)) }
	}
	return map[string]func(terminal.Stdio) *cobra.Command{
		"agent": newAgentCommand, "batch": newBatchCommand, "bench": a.newBenchCommand, "compare": guarded(newCompareCommand), "cut": guarded(newCutCommand),
		"devices": newDevicesCommand, "doctor": a.newDoctorCommand, "footage": newFootageTopic, "info": guarded(newInfoCommand),
		"jobs": newJobsCommand, "lab": a.newLabCommand, "live": a.newLiveCommand, "man": newManCommand, "options": newOptionsTopic, "preview": a.newPreviewCommand,
		"segments": guarded(newSegmentsCommand), "serve": newServeCommand, "version": newVersionCommand, "worker": newWorkerCommand,
	}
}

// addCommands adds the commands that args may name, or all if they may list them.
func (a *app) addCommands(root *cobra.Command, args []string) {
	lists := slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, cobra.ShellCompRequestCmd) || slices.Contains([]string{"help", "completion", "man"}, arg)
	})
	for name, build := range a.commands() {
		if lists || slices.Contains(args, name) {
			root.AddCommand(build(a.Stdio))
		}
	}
	checkArgumentsOfHelpers(root)
}

// addAllCommands replaces the commands of root, whose errors and help list all.
func (a *app) addAllCommands(root *cobra.Command) {
	root.RemoveCommand(root.Commands()...)
	a.addCommands(root, []string{"help"})
}

// command returns the root command, which filters a file.
func (a *app) command() *cobra.Command {
	o := job.NewOptions()
	root := withFlags(&cobra.Command{
		Use:     "vidfilter -i IN -o OUT [options]",
		Short:   "Remove noise from videos and pictures",
		Long:    "Remove the noise from a video or a picture, and keep everything else that the file holds.",
		Example: rootExamples,
		Version: cli.Version(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				o.Beside = true
				if err := cmd.Flags().Set("input", args[0]); err != nil {
					return err
				}
			}
			a.code, err = a.runJob(cmd, o, func() error { return o.Complete(cmd.Flags(), a.Env) })
			return err
		},
		SilenceErrors: true, SilenceUsage: true, DisableAutoGenTag: true,
	}, o.Flags(), nil)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetVersionTemplate(versionLine())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd == root {
			a.addAllCommands(root)
		}
		a.helpErr = printHelp(a.Out, cmd)
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.FlagError(cmd.Flags(), err, helpFor(cmd)) })
	root.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	root.Args = func(_ *cobra.Command, args []string) error {
		err := checkFile(root, args)
		if err != nil && len(args) > 0 {
			a.addAllCommands(root)
			err = checkFile(root, args)
		}
		return err
	}
	return root
}

// longestIdle is how long a job may take for a frame, as a task of a batch may.
const longestIdle = 10 * time.Minute

// runJob filters a file with options that complete checks. Once that has begun it reports errors
// itself, and returns the exit code. A child of this process does the work.
func (a *app) runJob(cmd *cobra.Command, o *job.Options, complete func() error) (int, error) {
	s := a.Stdio
	if a.guards(cmd) {
		if err := cli.ApplyEnvironment(cmd.Flags(), a.Env); err != nil {
			return contract.ExitUsage, err
		}
		if netfile.Fetches(o.Input) { // a mistake must show before that takes its time
			if err := complete(); err != nil {
				return contract.ExitUsage, err
			}
		}
		c := &child{about: netfile.Shown(o.Input), inputs: []string{o.Input}, ui: o.OpenUI(s), verbose: o.Verbose, signals: true}
		if netfile.Fetches(o.Input) || !o.MayStall() {
			c.idle = longestIdle
		}
		return a.runChild(c)
	}
	if err := complete(); err != nil {
		return contract.ExitUsage, err
	}
	u := o.OpenUI(s)
	remove, err := fetchInputs([]string{o.Input}, func(s string) { u.Info(s) })
	if err != nil {
		return u.Finish(terminal.Result{}, err), nil
	}
	defer remove()
	if netfile.Fetches(o.Input) {
		o.Input = netfile.Shown(o.Input)
	}
	if err := job.CheckPipes(o, s); err != nil {
		return u.Finish(terminal.Result{}, err), nil
	}
	for _, line := range unknownEnvironment(s.Env, cmd.Flags()) {
		u.Warn(line)
	}
	return u.Finish(terminal.Interruptible(u, func(ctx context.Context, stop <-chan struct{}) (terminal.Result, error) {
		return job.Run(ctx, o, u, stop)
	})), nil
}

// checkFile checks the arguments of the root command: at most one file.
func checkFile(root *cobra.Command, args []string) error {
	files := len(args) > 0 && !root.Flags().Changed("input") && (sandbox.Inside() != nil || looksLikeFile(args[0]))
	if files && len(args) > 1 {
		return cli.Usagef("one file: vidfilter in.mp4 -o out.mp4; many: vidfilter *.mp4 -o FOLDER", "%d files need -o FOLDER", len(args))
	}
	if files {
		return cli.SwallowedFlag(root.Flags())
	}
	return noCommand(root, args, "a file needs no command: vidfilter in.mp4 -o out.mp4")
}

// looksLikeFile reports whether an argument is meant as a file, and not as a command.
func looksLikeFile(arg string) bool {
	_, err := os.Lstat(arg)
	return err == nil || arg == "-" || strings.ContainsAny(arg, "./*?")
}

// batchOf makes a batch of a command line that names a folder or several files without a command:
// vidfilter *.mp4 -o out.
func (a *app) batchOf(args []string) []string {
	if a.program && sandbox.Inside() != nil || slices.Contains(args, "-i") || !slices.ContainsFunc(args, looksLikeFile) {
		return args
	}
	fs := batchrun.NewBatchOptions().Flags()
	job.NewOptions().Flags().VisitAll(func(f *pflag.Flag) {
		if fs.Lookup(f.Name) == nil {
			fs.AddFlag(f)
		}
	})
	if fs.Parse(cli.Joined(fs, args)) != nil || fs.Changed("input") || !fs.Changed("output") || fs.NArg() == 0 {
		return args
	}
	files := fs.Args()
	many := len(files) > 1 || strings.ContainsAny(files[0], "*?[") || durable.IsDir(files[0]) || netfile.IsStored(files[0]) && strings.HasSuffix(files[0], "/")
	if a.commands()[files[0]] != nil || !looksLikeFile(files[0]) || !many {
		return args
	}
	return append([]string{"batch"}, args...)
}

// noCommand explains an argument that is neither an option nor a command. hint is for words that
// resemble no command.
func noCommand(root *cobra.Command, args []string, hint string) error {
	if err := cli.SwallowedFlag(root.Flags()); err != nil || len(args) == 0 {
		return err
	}
	if _, err := strconv.ParseFloat(args[0], 64); err == nil {
		hint = "the encoder's quality is --crf " + args[0] // of -q 20
	}
	if root.Flags().NFlag() > 0 {
		return cli.Usagef(hint, "unexpected argument %q", args[0])
	}
	if near := text.Closest(args[0], commandNames(root)); near != "" {
		return cli.Usagef("did you mean \""+near+"\"?", "unknown command %q", args[0])
	}
	return cli.Usagef(hint, "unknown command %q", args[0])
}

func commandNames(root *cobra.Command) (all []string) {
	for _, c := range root.Commands() {
		if !c.Hidden {
			all = append(all, c.Name())
		}
	}
	return all
}

// unknownEnvironment returns warnings about variables that look like options but are not, neither
// of a command with these flags nor of another.
func unknownEnvironment(env []string, own *pflag.FlagSet) []string {
	return cli.UnknownVariables(env, own, func() []*pflag.FlagSet {
		return []*pflag.FlagSet{liverun.NewOptions().Flags(), job.NewOptions().Flags()}
	})
}
