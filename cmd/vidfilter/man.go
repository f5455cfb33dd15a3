package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/encode/target"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newManCommand(terminal.Stdio) *cobra.Command {
	return withFlags(&cobra.Command{
		Use: "man DIR", Short: "Write manual pages into a folder", Hidden: true,
		Long:    withExits("Write a manual page for each command into DIR, which is created where needed.", contract.ExitOutput),
		Example: "  vidfilter man /usr/local/share/man/man1",
		RunE:    func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}, new(pflag.FlagSet), takes(1, "vidfilter man DIR", "man takes a folder"))
}

// writeManual writes the page of a command and those of its subcommands. cobra's own writer takes
// a parser of Markdown, whose tables would be made at every start of the program.
func writeManual(cmd *cobra.Command, dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, pageOf(cmd)+".1"), []byte(manual(cmd)), 0o666)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", target.ErrOutput, err)
	}
	for _, c := range listedBelow(cmd) {
		if err := writeManual(c, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func listedBelow(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			all = append(all, c)
		}
	}
	return all
}

func manual(cmd *cobra.Command) string {
	var b strings.Builder
	name := pageOf(cmd)
	fmt.Fprintf(&b, ".nh\n.TH %q \"1\" \"\" %q \"vidfilter\"\n", strings.ToUpper(name), "vidfilter "+cli.Version())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n", roff(cmd.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", strings.ReplaceAll(roff(cmd.Long), "\n\n", "\n.PP\n"))
	b.WriteString(".SH OPTIONS\n")
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) { b.WriteString(manualOption(f)) })
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if also := seeAlso(cmd); also != "" {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", also)
	}
	return b.String()
}

func manualOption(f *pflag.Flag) string {
	if f.Hidden || f.Deprecated != "" {
		return ""
	}
	name := `\fB` + roff("--"+f.Name) + `\fP`
	if f.Shorthand != "" {
		name = `\fB` + roff("-"+f.Shorthand) + `\fP, ` + name
	}
	if f.NoOptDefVal == "" {
		name += "=" + roff(f.Value.Type())
	}
	return ".TP\n" + name + "\n" + roff(f.Usage) + "\n"
}

func seeAlso(cmd *cobra.Command) string {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageOf(cmd.Parent()))
	}
	for _, c := range listedBelow(cmd) {
		pages = append(pages, pageOf(c))
	}
	for i, p := range pages {
		pages[i] = `\fB` + roff(p) + `\fP(1)`
	}
	return strings.Join(pages, ",\n")
}

// roff escapes a text for troff, in which a backslash and the first character of a line can be
// commands, and a bare minus is a hyphen.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
