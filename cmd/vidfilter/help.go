package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpWidth = 80

const rootExamples = `  vidfilter in.mp4                                          write in.clean.mp4
  vidfilter -i in.mp4 -o out.mkv --strength 1.5 --crf 20    more, smaller file
  vidfilter batch films -o clean                            a folder; resumes`

func printHelp(w io.Writer, cmd *cobra.Command) error {
	help := commandHelp
	if !cmd.HasParent() {
		help = rootHelp
	}
	_, err := io.WriteString(w, help(cmd))
	return err
}

func rootHelp(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nusage: %s\n       vidfilter COMMAND [options]\n\nCommands:\n", root.Example, root.Use)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, "  %-12s%s\n", c.Name(), c.Short)
		}
	}
	fmt.Fprintf(&b, "\nOptions (vidfilter help options lists all):\n%s\n", cli.Basic.Only(root.Flags()).FlagUsages())
	b.WriteString(exitHelp())
	return b.String()
}

func commandHelp(cmd *cobra.Command) string {
	var b strings.Builder
	if cmd.Runnable() {
		fmt.Fprintf(&b, "usage: %s\n\n", cmd.UseLine())
	}
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(cmd.Long))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nCommands: %s\n", strings.Join(commandNames(cmd), " "))
	}
	b.WriteString(groupedFlags(cmd.Flags()))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	return b.String()
}

// groupedFlags lists flags under the titles of their groups. Media options of a batch are listed
// elsewhere.
func groupedFlags(fs *pflag.FlagSet) string {
	var b strings.Builder
	var titles []string
	sets := map[string]*pflag.FlagSet{}
	fs.VisitAll(func(f *pflag.Flag) {
		title := cli.GroupOf(f)
		if title == "" || f.Hidden {
			return
		}
		if sets[title] == nil {
			titles = append(titles, title)
			sets[title] = cli.NewFlagSet()
		}
		sets[title].AddFlag(f)
	})
	if i := slices.IndexFunc(titles, func(t string) bool { return t == batchrun.BatchGroup || t == previewGroup }); i >= 0 {
		titles = titles[i : i+1] // the options of jobs have a topic of their own
	}
	for _, title := range titles {
		fmt.Fprintf(&b, "\n%s:\n%s", title, sets[title].FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}

// newOptionsTopic is vidfilter help options.
func newOptionsTopic(terminal.Stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "all options",
		Long: "Options of vidfilter -i IN -o OUT. VIDFILTER_CRF=20 sets the default of --crf.\n" +
			groupedFlags(job.NewOptions().Flags()) + "\n" + exitHelp(),
	}
}

// newFootageTopic is vidfilter help footage.
func newFootageTopic(terminal.Stdio) *cobra.Command {
	b := new(strings.Builder)
	fmt.Fprint(b, text.Wrap("--footage NAME sets the options that suit a kind of video. Options that you set take precedence. "+
		"It is not required for a good result.", helpWidth))
	for _, f := range job.Footages {
		fmt.Fprintf(b, "\n--footage %s (%s):\n", f.Name, f.Of)
		t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
		for _, c := range f.Options {
			fmt.Fprintf(t, "  %s\t%s\n", c, c.Why)
		}
		t.Flush()
	}
	return &cobra.Command{Use: "footage", Short: "the kinds of --footage", Long: b.String()}
}

// exitHelp lists exit codes with their meanings; all without an argument.
func exitHelp(codes ...int) string {
	var texts []string
	for _, e := range contract.ExitTexts {
		if len(codes) == 0 || slices.Contains(codes, e.Code) {
			texts = append(texts, fmt.Sprintf("%d %s", e.Code, e.Text))
		}
	}
	return text.Wrap("Exit codes: "+strings.Join(texts, ", ")+".", helpWidth)
}

// withExits ends the description of a command with its exit codes.
func withExits(long string, codes ...int) string {
	return strings.TrimSpace(long) + "\n\n" + exitHelp(append([]int{contract.ExitDone, contract.ExitFailed, contract.ExitUsage}, codes...)...)
}
