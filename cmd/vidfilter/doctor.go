package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
)

func newDoctorCommand(s cli.Stdio) *cobra.Command {
	return withFlags(&cobra.Command{Use: "doctor", Short: "Check the sandbox", RunE: func(*cobra.Command, []string) error { return nil }}, new(pflag.FlagSet), nil)
}
