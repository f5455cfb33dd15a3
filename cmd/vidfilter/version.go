package main

import (
	"fmt"
	"io"
	"runtime"

	"vidfilter/internal/cli"
	"vidfilter/internal/licenses"
	"vidfilter/internal/terminal"

	"github.com/spf13/cobra"
)

func newVersionCommand(s terminal.Stdio) *cobra.Command {
	var all bool
	fs := cli.NewFlagSet()
	cli.NewTable(fs, "Options").Flag(&all, "licenses", "", "print the licences of all parts of the program")
	return withFlags(&cobra.Command{
		Use: "version [--licenses]", Short: "Print the version, or the licences",
		Long: "Print the version, as vidfilter --version does. With --licenses, print a list of\n" +
			"everything that is linked into the program, and the licences.",
		RunE: func(*cobra.Command, []string) error {
			text := versionLine()
			if all {
				text = licenses.Text
			}
			_, err := io.WriteString(s.Out, text)
			return err
		},
	}, fs, nil)
}

func versionLine() string {
	return fmt.Sprintf("vidfilter %s (%s, %s/%s)\n", cli.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
