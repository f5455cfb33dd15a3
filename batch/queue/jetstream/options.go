// Package jetstream is a queue on NATS JetStream: embedded in the process, served to other
// machines, or on an existing cluster.
//
// A stream has a message for each task that can be done. A worker takes it, keeps it by heartbeats
// and acknowledges it. A record in a key-value bucket, changed by compare-and-set, holds the state
// of a job and its open tasks. A worker claims a result by creating its key, so there is only one.
// A message is acknowledged after its result is claimed, the record updated, and the next tasks
// are in the stream: if the worker is killed between two of these steps, the message comes again,
// and another worker completes them.
package jetstream

import (
	"cmp"
	"log/slog"
	"time"
)

// Options of an engine. The zero value is ready for use.
type Options struct {
	// lease: silence after which a worker counts as dead; 0 keeps the stored one, or 30 s
	AckWait    time.Duration
	BackOff    time.Duration // before the second attempt; doubles each time; 0 is 5 s
	MaxBackOff time.Duration // 0 is 5 min
	// how many workers may fall silent at a task before its job is quarantined: they were killed,
	// or had no power, which is hardly the task's fault; 0 is 50
	Silences int
	Log      *slog.Logger // of trouble that the queue handles by itself; may be nil
	// called, from any goroutine, when a write has failed for a while and is tried again, or an
	// embedded server takes no more of them; may be nil
	Failing func()
	// of all names on the server, so that several queues can share an account; "" is vf
	Prefix   string
	Replicas int // of everything stored in a cluster; 0 keeps the present number, or 1

	complete bool // has its defaults
	lease    bool // AckWait was set by the caller
}

// embeddedSilences is large: whoever kills a batch kills its worker and its queue.
const embeddedSilences = 1000

func (o Options) withDefaults() Options {
	if !o.complete {
		o.complete, o.lease = true, o.AckWait != 0
	}
	o.AckWait = cmp.Or(o.AckWait, 30*time.Second)
	o.BackOff = cmp.Or(o.BackOff, 5*time.Second)
	o.MaxBackOff = cmp.Or(o.MaxBackOff, 5*time.Minute)
	o.Silences = cmp.Or(o.Silences, 50)
	o.Prefix = cmp.Or(o.Prefix, "vf")
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// delay returns the delay after n failed attempts.
func (o Options) delay(n int) time.Duration {
	d := o.BackOff
	for range n - 1 {
		d = min(2*d, o.MaxBackOff)
	}
	return min(d, o.MaxBackOff)
}

func heartbeat(ackWait time.Duration) time.Duration { return ackWait / 3 }

// poll returns how often an idle worker looks for delayed tasks; events announce new ones.
func (o Options) poll() time.Duration { return min(500*time.Millisecond, o.AckWait/4) }
