package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newServeCommand(s terminal.Stdio) *cobra.Command {
	o := new(batchrun.ServeOptions)
	serve := withFlags(&cobra.Command{
		Use:   "serve --state DIR [options]",
		Short: "Serve a queue to other machines",
		Long: withExits(`Serve the queue of vidfilter batch --server and vidfilter worker until
interrupted. While it runs, DIR/serve.json has its address:
{"url":"tls://HOST:PORT","creds":FILE,"submitter":FILE,"status":URL,"pid":N}
DIR/audit.log records submitted, cancelled and retried jobs. Each machine has a
credential of its own: vidfilter serve credentials.`, contract.ExitOutput, contract.ExitQueue, contract.ExitInterrupt),
		Example: `  vidfilter serve --state queue
  vidfilter serve --state queue --listen :4222 --host queue.example.org`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.ApplyEnvironment(cmd.Flags(), s.Env); err != nil {
				return err
			}
			return batchrun.RunServe(o, s)
		},
	}, o.Flags(), nil)
	serve.AddCommand(newCredentialsCommand(s), newAdminCommand(s, "drain", "drain NAME | all --state DIR",
		"Let the workers of a credential, or all, finish their parts and exit"))
	return serve
}

func newCredentialsCommand(s terminal.Stdio) *cobra.Command {
	c := withFlags(&cobra.Command{
		Use:   "credentials issue | list | revoke | rotate",
		Short: "Issue and revoke the credentials of machines",
		Long: `Issue, list, revoke and rotate the credentials of the machines that use a queue.
They take effect at once, also while vidfilter serve runs. A worker takes parts
and returns them; a submitter also submits jobs and changes its own; an observer
reads; an operator may change all jobs, and drain workers; an agent runs the
batches of submitters.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}, cli.NewFlagSet(), nil)
	c.AddCommand(
		newAdminCommand(s, "issue", "issue NAME --role ROLE --state DIR", "Write the file of a new credential"),
		newAdminCommand(s, "list", "list --state DIR", "List all credentials, and the connections of each"),
		newAdminCommand(s, "revoke", "revoke NAME --state DIR", "Shut out the holders of a credential"),
		newAdminCommand(s, "rotate", "rotate NAME --state DIR", "Write another file of a credential"),
	)
	return c
}

func newAdminCommand(s terminal.Stdio, action, use, short string) *cobra.Command {
	o := new(batchrun.CredentialOptions)
	return withFlags(&cobra.Command{
		Use: use, Short: short, Long: withExits(short+".", contract.ExitQueue),
		RunE: func(_ *cobra.Command, args []string) error { return batchrun.RunCredentials(action, o, args, s) },
	}, o.Flags(action), anyArguments)
}
