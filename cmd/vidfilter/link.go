package main

import (
	"time"

	"vidfilter/queue"
	"vidfilter/queue/jetstream"
)

// link is how a queue on another machine is reached.
type link struct {
	Server, Creds string
	CA, Cert, Key string
	Prefix        string
	Replicas      int
	Lease         time.Duration
}

func (l *link) flags(t table) {
	t.add(str(&l.Server, "URL"), "server", "", "queue of vidfilter serve, or of a NATS cluster")
	t.add(str(&l.Creds, "FILE"), "creds", "", "what serve made for its workers, or NATS credentials")
	t.add(str(&l.CA, "FILE"), "tls-ca", "", "what signed a cluster's certificate")
	t.add(str(&l.Cert, "FILE"), "tls-cert", "", "our own certificate for a cluster")
	t.add(str(&l.Key, "FILE"), "tls-key", "", "the key of --tls-cert")
	t.add(str(&l.Prefix, "NAME"), "prefix", "", "of all names in the queue (default vf)")
	t.add(newValue(&l.Replicas, "N", intIn(1, 5)), "replicas", "", "copies that a cluster keeps (default 1)")
	t.add(newValue(&l.Lease, "TIME", parseLease), "lease", "", leaseText)
}

// leaseText is the same on both sides: whoever says it, it holds for the whole queue.
const leaseText = "how long workers may be silent (30s, or the queue's)"

// parseLease refuses what a slow network would take for death, and what would be no help.
func parseLease(s string) (time.Duration, error) {
	d, err := parseSpan(s)
	if err == nil && (d < time.Second || d > time.Hour) {
		return 0, usagef("30s is the default; a network that stalls wants more", "not between 1s and 1h")
	}
	return d, err
}

// check refuses options that say nothing without a server.
func (l *link) check() error {
	if l.remote() {
		return nil
	}
	for name, given := range map[string]bool{
		"creds": l.Creds != "", "tls-ca": l.CA != "", "tls-cert": l.Cert != "", "tls-key": l.Key != "",
		"prefix": l.Prefix != "", "replicas": l.Replicas != 0, "lease": l.Lease != 0,
	} {
		if given {
			return usagef("add --server URL", "--%s is about a queue on another machine, and there is no --server", name)
		}
	}
	return nil
}

// remote says whether the queue is on another machine.
func (l *link) remote() bool { return l.Server != "" }

// connect opens the queue. what says who we are in the server's lists.
func (l *link) connect(o jetstream.Options, what string) (queue.Engine, error) {
	o.Prefix, o.Replicas, o.AckWait = l.Prefix, l.Replicas, l.Lease
	return jetstream.Connect(l.Server, l.Creds, jetstream.ConnectOptions{
		Options: o, Name: "vidfilter " + what + " " + workerName(), CA: l.CA, Cert: l.Cert, Key: l.Key,
	})
}
