package batchrun

import (
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/cli"
)

// serverOptions are the options of a queue on another machine.
type serverOptions struct {
	Server, Creds string
	CA, Cert, Key string
	Prefix        string
	Replicas      int
	Lease         time.Duration

	acting *jetstream.Acting // for the owner of a batch; nil: for ourselves
}

func (l *serverOptions) flags(t cli.Table) {
	t.Add(cli.String(&l.Server, "URL"), "server", "", "queue of vidfilter serve or a NATS cluster")
	t.Add(cli.String(&l.Creds, "FILE"), "creds", "", "credentials of serve, or of a NATS account")
	t.Add(cli.String(&l.CA, "FILE"), "tls-ca", "", "CA of the cluster's certificate")
	t.Add(cli.String(&l.Cert, "FILE"), "tls-cert", "", "client certificate for the cluster")
	t.Add(cli.String(&l.Key, "FILE"), "tls-key", "", "key of --tls-cert")
	t.Add(cli.String(&l.Prefix, "NAME"), "prefix", "", "prefix of names in the queue (default vf)")
	t.Add(cli.NewValue(&l.Replicas, "N", cli.IntIn(1, 5)), "replicas", "", "copies that the cluster keeps (default 1)")
	t.Add(cli.NewValue(&l.Lease, "TIME", parseLease), "lease", "", leaseText)
}

// leaseText is shared with serve: the value holds for the whole queue.
const leaseText = "time after which a silent worker is lost (default 30s)"

// parseLease refuses times that a slow network exceeds, or that are too long to help.
func parseLease(s string) (time.Duration, error) {
	d, err := parseSpan(s)
	if err == nil && (d < time.Second || d > time.Hour) {
		return 0, cli.Usagef("30s is the default; a network that stalls wants more", "not between 1s and 1h")
	}
	return d, err
}

// check refuses options that need --server.
func (l *serverOptions) check() error {
	if l.remote() {
		return nil
	}
	for name, given := range map[string]bool{
		"creds": l.Creds != "", "tls-ca": l.CA != "", "tls-cert": l.Cert != "", "tls-key": l.Key != "",
		"prefix": l.Prefix != "", "replicas": l.Replicas != 0, "lease": l.Lease != 0,
	} {
		if given {
			return cli.Usagef("add --server URL", "--%s needs --server", name)
		}
	}
	return nil
}

// remote reports whether the queue is on another machine.
func (l *serverOptions) remote() bool { return l.Server != "" }

// needs says which roles do for what.
var needs = map[string][]pki.Role{
	"worker": {pki.Worker, pki.Submitter, pki.Operator},
	"batch":  {pki.Submitter, pki.Operator},
	"agent":  {pki.Agent, pki.Operator, pki.Submitter},
	"jobs":   {pki.Observer, pki.Submitter, pki.Operator},
}

// connect opens the queue. what is our name in the server's lists, and most is how many jobs that
// are done or cancelled are heard of, 0 for all.
func (l *serverOptions) connect(o jetstream.Options, what string, most int) (queue.Engine, error) {
	if l.acting != nil {
		what = "agent"
	}
	o.Prefix, o.Replicas, o.AckWait = l.Prefix, l.Replicas, l.Lease
	return jetstream.Connect(l.Server, l.Creds, jetstream.ConnectOptions{
		Options: o, Most: most, Acting: l.acting, Name: "vidfilter " + what + " " + workerName(), Version: cli.Version(), Roles: needs[what], CA: l.CA, Cert: l.Cert, Key: l.Key,
	})
}
