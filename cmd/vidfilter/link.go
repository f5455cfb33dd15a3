package main

import (
	"vidfilter/queue"
	"vidfilter/queue/jetstream"
)

// link is how a queue on another machine is reached.
type link struct {
	Server, Creds string
	CA, Cert, Key string
	Prefix        string
	Replicas      int
}

func (l *link) flags(t table) {
	t.add(str(&l.Server, "URL"), "server", "", "queue of vidfilter serve, or of a NATS cluster")
	t.add(str(&l.Creds, "FILE"), "creds", "", "what serve made for its workers, or NATS credentials")
	t.add(str(&l.CA, "FILE"), "tls-ca", "", "what signed a cluster's certificate")
	t.add(str(&l.Cert, "FILE"), "tls-cert", "", "our own certificate for a cluster")
	t.add(str(&l.Key, "FILE"), "tls-key", "", "the key of --tls-cert")
	t.add(str(&l.Prefix, "NAME"), "prefix", "", "of all names in the queue (default vf)")
	t.add(newValue(&l.Replicas, "N", intIn(1, 5)), "replicas", "", "copies that a cluster keeps (default 1)")
}

// remote says whether the queue is on another machine.
func (l *link) remote() bool { return l.Server != "" }

// connect opens the queue. what says who we are in the server's lists.
func (l *link) connect(o jetstream.Options, what string) (queue.Engine, error) {
	o.Prefix, o.Replicas = l.Prefix, l.Replicas
	return jetstream.Connect(l.Server, l.Creds, jetstream.ConnectOptions{
		Options: o, Name: "vidfilter " + what + " " + workerName(), CA: l.CA, Cert: l.Cert, Key: l.Key,
	})
}
