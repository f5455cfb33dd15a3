package jetstream

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Counters counts events on the queue, by all workers, since this engine was opened. Events are
// lost while the connection is down, so decide nothing by them.
type Counters struct {
	Done    int64 // tasks with a result
	Retried int64 // attempts after the first one
	Later   int64 // tasks put back without counting an attempt
	Twins   int64 // results refused because there was one
	Deaths  int64 // tasks returned from dead workers
	Failed  int64 // jobs
	Bytes   int64 // in the store now: all files and records
}

type counters struct{ done, retried, later, twins, deaths, failed atomic.Int64 }

func (e *Engine) count() error {
	for kind, n := range map[string]*atomic.Int64{
		eventDone: &e.counts.done, eventRetry: &e.counts.retried, eventLater: &e.counts.later,
		eventTwin: &e.counts.twins, eventDeath: &e.counts.deaths, eventFail: &e.counts.failed,
	} {
		if _, err := e.nc.Subscribe(e.names.events(kind), func(*nats.Msg) { n.Add(1) }); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	return nil
}

// Counters returns the current counters.
func (e *Engine) Counters(ctx context.Context) (Counters, error) {
	c := Counters{
		Done: e.counts.done.Load(), Retried: e.counts.retried.Load(), Later: e.counts.later.Load(),
		Twins: e.counts.twins.Load(), Deaths: e.counts.deaths.Load(), Failed: e.counts.failed.Load(),
	}
	for _, name := range []string{
		e.names.tasks(), "KV_" + e.names.jobs(), "KV_" + e.names.results(), "KV_" + e.names.workers(), "OBJ_" + e.names.blobs(),
	} {
		s, err := e.js.Stream(ctx, name)
		if err != nil {
			return c, fmt.Errorf("queue: counting bytes: %w", err)
		}
		c.Bytes += int64(s.CachedInfo().State.Bytes)
	}
	return c, nil
}
