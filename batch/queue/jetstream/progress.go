package jetstream

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"vidfilter/batch/queue"
)

// progress is the last report of a handler.
type progress struct {
	since time.Time

	mu    sync.Mutex
	last  queue.Progress
	fresh bool // not published yet
}

func (p *progress) set(q queue.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.fresh = q, true
}

// encode returns the progress as an event, and marks it as published.
func (p *progress) encode(a *effort, worker string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = false
	b, err := json.Marshal(queue.Active{
		Task: a.c.task, Kind: a.t.Kind, Attempt: a.t.Attempt, Worker: worker, Since: p.since, Progress: p.last,
	})
	if err != nil { // a float that is not a number
		return nil
	}
	return b
}

func (p *progress) isFresh() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

// publishEvery is the shortest time between two events of a task.
const publishEvery = time.Second

// publish publishes the progress of the task, and heartbeats if there is none.
func (a *effort) publish(ctx context.Context) {
	say := func() { a.pool.l.tell(eventProgress, a.c, a.report.encode(a, a.pool.w.Name)) }
	say()
	last := time.Now()
	tick := time.NewTicker(min(publishEvery, a.pool.heartbeat))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.publishNow:
		case <-tick.C:
			if !a.report.isFresh() && time.Since(last) < a.pool.heartbeat {
				continue
			}
		}
		if a.pool.frozen() {
			continue
		}
		say()
		last = time.Now()
	}
}
