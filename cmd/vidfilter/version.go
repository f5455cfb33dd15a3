package main

import (
	"fmt"
	"io"
	"runtime"

	"vidfilter/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newVersionCommand(s cli.Stdio) *cobra.Command {
	return withFlags(&cobra.Command{
		Use: "version", Short: "Print the version", Long: "Print the version, as vidfilter --version does.",
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Out, versionLine())
			return err
		},
	}, new(pflag.FlagSet), nil)
}

func versionLine() string {
	return fmt.Sprintf("vidfilter %s (%s, %s/%s)\n", cli.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
