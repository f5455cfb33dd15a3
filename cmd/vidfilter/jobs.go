package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newJobsCommand(s terminal.Stdio) *cobra.Command {
	o := new(batchrun.JobsOptions)
	return withFlags(&cobra.Command{
		Use:   "jobs DIR | --server URL [options]",
		Short: "List, pause, cancel and retry jobs; print their logs",
		Long:  withExits("List and steer the jobs of the batch with -o DIR, or of the queue at URL.", contract.ExitOutput, contract.ExitQueue, contract.ExitInterrupt),
		Example: `  vidfilter jobs filtered --watch
  vidfilter jobs filtered --state failed
  vidfilter jobs --server tls://HOST:4222 --creds submitter.creds`,
		RunE: func(*cobra.Command, []string) error { return batchrun.RunJobs(o, s) },
	}, o.Flags(), o.Take)
}
