package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/batchrun"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
)

func newWorkerCommand(s cli.Stdio) *cobra.Command {
	o := batchrun.NewWorkerOptions()
	return withFlags(&cobra.Command{
		Use:   "worker --server URL --creds FILE [options]",
		Short: "Filter for a batch on another machine",
		Long: withExits(`Filter parts of videos for vidfilter batch --server until interrupted. Another
worker then redoes unfinished parts. A worker takes only parts of its own
version. It fails if it cannot reach the server at first; later it waits for the
server as long as it takes.`, contract.ExitOutput, contract.ExitQueue, contract.ExitInterrupt),
		Example: `  vidfilter worker --server tls://HOST:4222 --creds worker.creds
  vidfilter worker --server tls://HOST:4222 --creds worker.creds --shared /films`,
		RunE: func(*cobra.Command, []string) error { return batchrun.RunWorker(o, s) },
	}, o.Flags(), nil)
}
