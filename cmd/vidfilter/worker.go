package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newWorkerCommand(s terminal.Stdio) *cobra.Command {
	o := batchrun.NewWorkerOptions()
	return withFlags(&cobra.Command{
		Use:   "worker --server URL --creds FILE [options]",
		Short: "Filter for a batch on another machine",
		Long: withExits(`Filter parts of videos for vidfilter batch --server until interrupted. Another
worker then redoes unfinished parts. Its version may differ from the batch's, as
long as both know the protocol. It fails if it cannot reach the server at its
start, and later waits for the server. It ends after serve drain, and when its
credential is revoked.`, contract.ExitOutput, contract.ExitDevice, contract.ExitQueue, contract.ExitInterrupt),
		Example: `  vidfilter worker --server tls://HOST:4222 --creds worker.creds
  vidfilter worker --server tls://HOST:4222 --creds worker.creds --drain
  vidfilter worker --server tls://HOST:4222 --creds batch.creds --shared /films`,
		RunE: func(*cobra.Command, []string) error { return batchrun.RunWorker(o, s) },
	}, o.Flags(), nil)
}
