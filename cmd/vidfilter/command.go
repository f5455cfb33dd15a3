package main

import (
	"slices"
	"strings"

	"vidfilter/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// withFlags adds flags to a command, with completion of their values. check checks the other
// arguments; nil refuses them.
func withFlags(cmd *cobra.Command, fs *pflag.FlagSet, check func(args []string) error) *cobra.Command {
	cmd.Flags().SortFlags = false
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().AddFlagSet(fs)
	fs.VisitAll(func(f *pflag.Flag) { _ = cmd.RegisterFlagCompletionFunc(f.Name, valuesOf(f)) })
	if check == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
		check = func(args []string) error { return refuseArguments("for its usage: " + helpFor(cmd))(args) }
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if err := cli.SwallowedFlag(cmd.Flags()); err != nil {
			return err
		}
		return check(args)
	}
	return cmd
}

func anyArguments([]string) error { return nil }

// refuseArguments returns a check with a hint about an argument.
func refuseArguments(hint string) func([]string) error {
	return func(args []string) error {
		if len(args) > 0 {
			return cli.Usagef(hint, "unexpected argument %q", args[0])
		}
		return nil
	}
}

// takes returns a check for a number of arguments.
func takes(n int, hint, missing string) func([]string) error {
	return func(args []string) error {
		if len(args) != n {
			return cli.Usagef(hint, "%s", missing)
		}
		return nil
	}
}

// valuesOf completes a flag's value: known names, files or folders.
func valuesOf(f *pflag.Flag) cobra.CompletionFunc {
	if c, ok := f.Value.(interface{ Choices() []string }); ok && c.Choices() != nil {
		return cobra.FixedCompletions(c.Choices(), cobra.ShellCompDirectiveNoFileComp)
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	switch f.Value.Type() {
	case "FILE", "INPUT":
		directive = cobra.ShellCompDirectiveDefault
	case "DIR":
		directive = cobra.ShellCompDirectiveFilterDirs
	}
	return cobra.FixedCompletions(nil, directive)
}

// checkArgumentsOfHelpers makes cobra's own commands refuse unknown names as ours do.
func checkArgumentsOfHelpers(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "Print the help of a command"
			c.Args = func(_ *cobra.Command, args []string) error { return knownTopic(root, args) }
		case "completion":
			c.Short = "Print a completion script"
			c.Args = func(_ *cobra.Command, args []string) error { return oneShell(c, args) }
			c.RunE = func(*cobra.Command, []string) error { return oneShell(c, nil) }
		}
	}
}

func knownTopic(root *cobra.Command, args []string) error {
	if cmd, _, err := root.Find(args); len(args) > 0 && (err != nil || cmd == root) {
		return noCommand(root, args, "commands: "+strings.Join(commandNames(root), ", ")+"; vidfilter help options lists the options")
	}
	return nil
}

func oneShell(completion *cobra.Command, args []string) error {
	shells := commandNames(completion)
	slices.Sort(shells)
	if len(args) == 0 {
		return cli.Usagef("for example: source <(vidfilter completion bash)", "completion takes the name of a shell")
	}
	return cli.Usagef("choose from "+strings.Join(shells, ", "), "unknown shell %q", args[0])
}

// helpFor is the command that explains the options of another.
func helpFor(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "vidfilter help options"
	}
	return cmd.CommandPath() + " --help"
}
