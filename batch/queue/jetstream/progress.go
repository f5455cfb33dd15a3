package jetstream

import (
	"context"
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

// active returns the progress, and marks it as published.
func (p *progress) active(a *runningAttempt) queue.Active {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = false
	return queue.Active{Task: a.c.task, Kind: a.t.Kind, Attempt: a.t.Attempt, Worker: a.pool.w.Name, Since: p.since, Progress: p.last}
}

func (p *progress) isFresh() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

// publishEvery is the shortest time between two events of a task.
const publishEvery = time.Second

// publish publishes the progress of the task, and heartbeats if there is none.
func (a *runningAttempt) publish(ctx context.Context) {
	var last time.Time
	say := func() {
		last = time.Now()
		a.pool.desk.progress(ctx, a.attempt, a.report.active(a))
	}
	say()
	tick := time.NewTicker(min(publishEvery, a.pool.heartbeat))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.publishNow:
			if time.Since(last) < publishEvery/2 { // anybody may ask, and often
				continue
			}
		case <-tick.C:
			if !a.report.isFresh() && time.Since(last) < a.pool.heartbeat {
				continue
			}
		}
		if a.pool.frozen() {
			continue
		}
		say()
	}
}
