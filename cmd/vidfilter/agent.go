package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newAgentCommand(s terminal.Stdio) *cobra.Command {
	o := batchrun.NewAgentOptions()
	return withFlags(&cobra.Command{
		Use:   "agent DIR --server URL --creds FILE [options]",
		Short: "Run the batches of others where their files are",
		Long: withExits(`Run batches of the queue at URL whose sources and outputs are below DIR, until
interrupted: those of vidfilter batch --detach, and those whose process died.
DIR must have the same name as on the machine of the batch. With a credential
of the role agent it runs the batches of all submitters, each with the rights
of its owner; with a submitter's, the batches of that submitter. Another agent
goes on with the batches of one that dies.`, contract.ExitOutput, contract.ExitQueue, contract.ExitInterrupt),
		Example: `  vidfilter serve credentials issue archive --role agent --state queue
  vidfilter agent /films --server tls://HOST:4222 --creds archive.creds`,
		RunE: func(*cobra.Command, []string) error { return batchrun.RunAgent(o, s) },
	}, o.Flags(), o.Take)
}
