package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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

func writeManual(root *cobra.Command, dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		root.Flags().VisitAll(describeValue)
		for _, c := range root.Commands() {
			c.Flags().VisitAll(describeValue)
		}
		err = doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "vidfilter " + cli.Version(), Manual: "vidfilter"}, dir)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", target.ErrOutput, err)
	}
	return nil
}

// describeValue makes pages show --radius=N. Our descriptions state the default, which cobra
// prints there.
func describeValue(f *pflag.Flag) {
	f.DefValue = f.Value.Type()
	if f.NoOptDefVal != "" {
		f.DefValue = "false"
	}
}
