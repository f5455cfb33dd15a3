package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// presence is an entry of a worker about itself. It expires unless renewed.
type presence struct {
	queue.Worker
	Since   time.Time
	Busy    int
	Backlog queue.Backlog
}

// present keeps the entry of the worker until ctx ends.
func (p *workerPool) present(ctx context.Context) {
	last, at := p.presence(), time.Now()
	p.write(ctx, last)
	for range wake.Every(ctx, min(publishEvery, p.heartbeat)) {
		now := p.presence()
		if changed := now.Busy != last.Busy || now.Backlog != last.Backlog; p.frozen() || !changed && time.Since(at) < p.heartbeat {
			continue
		}
		last, at = now, time.Now()
		p.write(ctx, last)
	}
	bye, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = p.e.workers.Purge(bye, p.id)
}

func (p *workerPool) presence() presence {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := presence{Worker: p.w, Since: p.since, Busy: len(p.running)}
	if p.w.Ahead != nil {
		now.Backlog = p.w.Ahead()
	}
	return now
}

func (p *workerPool) write(ctx context.Context, now presence) {
	b, err := json.Marshal(now)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.heartbeat)
	defer cancel()
	_, _ = p.e.workers.Put(ctx, p.id, b)
}

// Workers implements queue.Engine, sorted by name.
func (e *Engine) Workers(ctx context.Context) (found []queue.WorkerStatus, err error) {
	err = each(ctx, e.workers, jetstream.AllKeys, func(entry jetstream.KeyValueEntry) error {
		var p presence
		if decode(entry, &p) == nil && p.credible() { // else no worker has written it
			found = append(found, queue.WorkerStatus{Worker: p.Worker, Since: p.Since, Seen: entry.Created(), Busy: p.Busy, Backlog: p.Backlog})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b queue.WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

func (p presence) credible() bool {
	return p.Busy >= 0 && p.Busy <= p.Slots && p.Slots <= mostCount &&
		p.Backlog.Jobs >= 0 && p.Backlog.Jobs <= mostCount && p.Backlog.Bytes >= 0
}
