package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/batchrun"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
)

func newServeCommand(s cli.Stdio) *cobra.Command {
	o := new(batchrun.ServeOptions)
	return withFlags(&cobra.Command{
		Use:   "serve --state DIR [options]",
		Short: "Serve a queue to other machines",
		Long: withExits(`Serve the queue of vidfilter batch --server and vidfilter worker until
interrupted. DIR/serve.json says where while it runs:
{"url":"tls://HOST:PORT","creds":FILE,"status":URL,"pid":N}`, contract.ExitOutput, contract.ExitQueue, contract.ExitInterrupt),
		Example: `  vidfilter serve --state queue
  vidfilter serve --state queue --listen :4222 --host queue.example.org`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.ApplyEnvironment(cmd.Flags(), s.Env); err != nil {
				return err
			}
			return batchrun.RunServe(o, s)
		},
	}, o.Flags(), nil)
}
