package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/batchrun"
	"vidfilter/internal/cli"
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
			return batchrun.RunBatch(o, s, unknownEnvironment(s.Env, cmd.Flags()))
		},
	}, o.Flags(), anyArguments)
}

const batchLong = `Filter files, folders, globs, @LIST (a file of names), - (names on stdin) or the
jobs of a YAML or JSON file. Sources are left alone. Run the same command again
to resume: finished files are skipped. Filter and encoder options apply to every
file, as --strength 1.5 --crf 20: see vidfilter help options.`

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
