package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newBatchCommand(s terminal.Stdio) *cobra.Command {
	o := batchrun.NewBatchOptions()
	return withFlags(&cobra.Command{
		Use:   "batch FILES... -o DIR [options]",
		Short: "Filter many files",
		Long:  withExits(batchLong, contract.ExitInput, contract.ExitOutput, contract.ExitDevice, contract.ExitDamaged, contract.ExitQueue, contract.ExitInterrupt, contract.ExitTerminated),
		Example: `  vidfilter batch films -o filtered
  vidfilter batch '*.mkv' @list.txt -o filtered --crf 20 --report report.html
  vidfilter batch jobs.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Take(cmd.Flags(), args)
			return batchrun.RunBatch(o, s, unknownEnvironment(s.Env))
		},
	}, o.Flags(), anyArguments)
}

const batchLong = `Filter files, folders, globs, @LIST (a file of names), - (names on stdin) or the
jobs of a YAML or JSON file. Sources are left alone. Run the same command again
to resume: finished files are skipped. Filter and encoder options apply to every
file, as --strength 1.5 --crf 20: see vidfilter help options.`
