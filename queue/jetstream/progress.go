package jetstream

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"vidfilter/queue"
)

// progress is what a handler last said.
type progress struct {
	mu    sync.Mutex
	since time.Time
	last  queue.Progress
	fresh bool // not published
}

func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now().UTC()
}

func (p *progress) set(q queue.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.fresh = q, true
}

// encode returns the progress as others read it, and notes that they can.
func (p *progress) encode(a *attempt, worker string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = false
	b, err := json.Marshal(queue.Active{
		Task: a.c.task, Attempt: a.t.Attempt, Worker: worker, Since: p.since, Progress: p.last,
	})
	if err != nil { // a float that is no number
		return nil
	}
	return b
}

func (p *progress) isFresh() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

// publishEvery is the least time between two messages about a task.
const publishEvery = time.Second

// publish tells whoever watches how the task gets on, and in any case that it is alive.
func (a *attempt) publish(ctx context.Context) {
	say := func() { a.k.e.tell(eventProgress, a.c, a.report.encode(a, a.k.w.Name)) }
	say()
	last := time.Now()
	tick := ticks(ctx, min(publishEvery, a.k.beat))
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.tell:
		case <-tick:
			if !a.report.isFresh() && time.Since(last) < a.k.beat {
				continue
			}
		}
		if a.k.frozen() {
			continue
		}
		say()
		last = time.Now()
	}
}

// ticks is a ticker that ends with ctx.
func ticks(ctx context.Context, d time.Duration) <-chan time.Time {
	c := make(chan time.Time)
	go func() {
		defer close(c)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-t.C:
				select {
				case c <- now:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return c
}
