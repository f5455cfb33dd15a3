package batchrun

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/batch/status"
	"vidfilter/batch/tasks"
	"vidfilter/internal/cli"
	"vidfilter/internal/durable"
	"vidfilter/internal/terminal"
)

// ServeOptions are the options of vidfilter serve.
type ServeOptions struct {
	status        statusOptions
	State         string
	Listen        string
	Hosts         []string
	CA, Cert, Key string
	Private       bool
	Prefix        string
	Lease         time.Duration
	Quota         jetstream.Quota
	Share         map[string]int // see jetstream.ServeOptions
	Keep          time.Duration
	Quiet         bool
}

func (o *ServeOptions) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Add(cli.String(&o.State, "DIR"), "state", "", "folder of the queue, its keys and its audit log")
	t.Add(cli.String(&o.Listen, "ADDR"), "listen", "", "address to listen at (default "+jetstream.DefaultAddr+")")
	t.Add(cli.NewRepeated(&o.Hosts, "NAME"), "host", "", "host name for the certificate; repeatable")
	t.Add(cli.String(&o.Cert, "FILE"), "tls-cert", "", "certificate (default self-made)")
	t.Add(cli.String(&o.Key, "FILE"), "tls-key", "", "key of --tls-cert")
	t.Add(cli.String(&o.CA, "FILE"), "tls-ca", "", "CA of --tls-cert, if workers do not trust it")
	o.status.flags(t)
	t.Flag(&o.Private, "private", "", "require the token to read the status page")
	t.Add(cli.String(&o.Prefix, "NAME"), "prefix", "", "prefix of names in the queue (default vf)")
	t.Add(cli.NewValue(&o.Lease, "TIME", parseLease), "lease", "", leaseText)
	t.Add(cli.NewValue(&o.Quota.Store, "SIZE", parseBytes), "max-store", "", "limit of the whole queue (default 90 % of the disk)")
	t.Add(cli.NewValue(&o.Quota.Job, "SIZE", parseBytes), "max-job", "", "limit of a job's files in the queue at a time")
	t.Add(cli.NewValue(&o.Quota.Object, "SIZE", parseBytes), "max-object", "", "limit of a file in the queue")
	o.Keep = tasks.FailedRetention
	t.Add(cli.NewValue(&o.Keep, "TIME", parseSpan), "keep", "", "remove jobs that have ended, or stand still, for so long (default 168h; 0: never)")
	t.Add(cli.NewValue(&o.Share, "NAME=N,...", parseShare), "share", "", "workers do N parts of this credential's jobs for each one of others that wait (default 1)")
	t.Flag(&o.Quiet, "quiet", "q", "print errors only")
	return fs
}

// parseShare reads alice=3,bob=2.
func parseShare(s string) (map[string]int, error) {
	const advice = "alice=3,bob=2: workers do three parts of alice's jobs for two of bob's, and for one of others"
	share := map[string]int{}
	for part := range strings.SplitSeq(s, ",") {
		name, n, _ := strings.Cut(part, "=")
		if _, twice := share[name]; twice || pki.CheckName(name) != nil {
			return nil, cli.Usagef(advice, "%q is there twice, or is no name for a credential", name)
		}
		var err error
		if share[name], err = cli.IntIn(1, 1000)(n); err != nil {
			return nil, cli.Usagef(advice, "the share of %q: %v", name, err)
		}
	}
	return share, nil
}

// RunServe serves a queue until a signal.
func RunServe(o *ServeOptions, s terminal.Stdio) error {
	switch {
	case o.State == "":
		return cli.Usagef("vidfilter serve --state DIR", "no folder for the queue: --state is missing")
	case (o.Cert == "") != (o.Key == ""):
		return cli.Usagef("give both", "--tls-cert and --tls-key go together")
	case o.Private && !o.status.hasToken():
		return cli.Usagef("add --token TOKEN or --view-token TOKEN", "--private needs a token")
	}
	if err := o.status.check(); err != nil {
		return err
	}
	ctx, stop := terminal.UntilSignal()
	defer stop()
	return o.run(ctx, s)
}

func (o *ServeOptions) run(ctx context.Context, s terminal.Stdio) error {
	log := terminal.NewLogger(s.Err, o.Quiet)
	serveInfo{}.remove(o.State) // left by a killed server
	if o.Quota.Store == 0 {
		if _, total, err := durable.Space(o.State); err == nil {
			o.Quota.Store = total / 10 * 9
		}
	}
	audit := newAudit(o.State, log)
	server, err := jetstream.Serve(jetstream.ServeOptions{
		Options: jetstream.Options{Log: log, Prefix: o.Prefix, AckWait: o.Lease},
		Dir:     o.State, Addr: o.Listen, Hosts: o.Hosts, Cert: o.Cert, Key: o.Key, CA: o.CA,
		Sites: tasks.PartSites(), Quota: o.Quota, Share: o.Share, Keep: o.Keep, Version: cli.Version(), Audit: audit.note,
		Check: tasks.CheckResult, ForWorkers: tasks.ForWorkers, Public: tasks.Public,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sweeping.Go(func() { o.sweep(ctx, server.Engine()) })
	about := serveInfo{URL: serverURL(server.Addr(), o.Hosts), Listen: server.Addr().String(), PID: os.Getpid(),
		Creds: server.Creds(pki.Worker), Submitter: server.Creds(pki.Submitter), Prefix: o.Prefix, CA: o.CA, Cert: o.Cert}
	if o.status.Status != "" {
		var end func()
		engine := server.Engine()
		requests := server.Requests(pageOwner)
		q := status.Follow(engine, sums)
		defer q.Close()
		about.Status, end, err = o.status.serve(ctx, q, status.Options{
			Version: cli.Version(), Private: o.Private, Health: server.Health, Limits: server.Limits, Store: server.Store, Sizes: server.Sizes, BadResults: server.BadResults,
			Retry: retry(engine), Remove: remove(engine), Prioritize: engine.Prioritize,
			PauseWorkers: server.PauseWorkers, Paused: server.Paused, Acted: audit.page,
			Requests: requests, Submit: submitFile(requests),
			FreeDisk: func() (int64, error) { free, _, err := durable.Space(o.State); return free, err },
		}, log)
		if err != nil {
			return err
		}
		defer end()
	}
	if err := about.write(o.State); err != nil {
		return err
	}
	defer about.remove(o.State)
	about.tell(log)
	<-ctx.Done()
	return terminal.Stopped(ctx)
}
