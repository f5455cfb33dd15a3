// Package jetstream is the queue on NATS JetStream: in the process itself, served to other machines, or on a cluster that is there.
//
// What is to be done lies in a stream as messages, one for each task, that a worker takes, keeps by heartbeats and acknowledges. What is known
// of a job, and which of its tasks are open, is one record in a key-value bucket, changed by compare-and-set. A result is claimed by
// creating its key, so there is one. A message is acknowledged only when its result is claimed, the record knows it, and what
// comes next is in the stream: whoever is killed between two of these steps, the message comes again and the rest is done then.
package jetstream

import (
	"time"
)

// Options of an engine. The zero value is ready for use.
type Options struct {
	AckWait    time.Duration // silence after which a worker is taken for dead and its tasks are given to others; 0 leaves what is there, or is 30 s
	BackOff    time.Duration // before the second attempt; doubled for each one after it; 0 is 5 s
	MaxBackOff time.Duration // 0 is 5 min
	Deaths     int           // how many workers may die at a task before its job fails; 0 is 20, or 1000 where the queue dies with its worker
	Warn       func(string)  // is told what the queue gets over by itself, one line each, from any goroutine; may be nil
	Prefix     string        // of all names on the server, so that several queues can share an account; "" is vf
	Replicas   int           // of all that is stored, in a cluster; 0 leaves what is there, or is 1

	complete bool // has its defaults
	lease    bool // AckWait was asked for
}

const (
	defaultDeaths  = 20
	embeddedDeaths = 1000 // the worker is killed with the queue, so the task has most likely no part in it
)

func (o Options) withDefaults() Options {
	if !o.complete {
		o.complete, o.lease = true, o.AckWait != 0
	}
	setDefault(&o.AckWait, 30*time.Second)
	setDefault(&o.BackOff, 5*time.Second)
	setDefault(&o.MaxBackOff, 5*time.Minute)
	setDefault(&o.Deaths, defaultDeaths)
	setDefault(&o.Prefix, "vf")
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

func setDefault[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// delay before another attempt after n that failed.
func (o Options) delay(n int) time.Duration {
	d := o.BackOff
	for range n - 1 {
		d = min(2*d, o.MaxBackOff)
	}
	return min(d, o.MaxBackOff)
}

// beat is the time between two signs of life.
func beat(ackWait time.Duration) time.Duration { return ackWait / 3 }

// poll is how often an idle worker looks for tasks whose delay is over; of new ones it is told.
func (o Options) poll() time.Duration { return min(500*time.Millisecond, o.AckWait/4) }
