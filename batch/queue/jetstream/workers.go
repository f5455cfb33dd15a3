package jetstream

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// present keeps the entry of the worker until ctx ends.
func (p *workerPool) present(ctx context.Context) {
	last, at := p.presence(), time.Now()
	p.write(ctx, last)
	for range wake.Every(ctx, min(publishEvery, p.heartbeat)) {
		now := p.presence()
		changed := now.Busy != last.Busy || now.Backlog != last.Backlog || now.Draining != last.Draining || now.Held != last.Held
		if p.frozen() || !changed && time.Since(at) < p.heartbeat {
			continue
		}
		last, at = now, time.Now()
		p.write(ctx, last)
	}
	bye, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = p.desk.present(bye, p.id, nil)
}

// presence is the entry of the worker about itself. It expires unless renewed.
func (p *workerPool) presence() queue.WorkerStatus {
	held := p.held()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := queue.WorkerStatus{Worker: p.w, Since: p.since, Busy: len(p.running), Draining: p.draining(), Held: held}
	if p.w.Ahead != nil {
		now.Backlog = p.w.Ahead()
	}
	return now
}

func (p *workerPool) write(ctx context.Context, now queue.WorkerStatus) {
	ctx, cancel := context.WithTimeout(ctx, p.heartbeat)
	defer cancel()
	_ = p.desk.present(ctx, p.id, &now)
}

// Workers implements queue.Engine, sorted by name.
func (e *Engine) Workers(ctx context.Context) (found []queue.WorkerStatus, err error) {
	err = e.each(ctx, e.workers, jetstream.AllKeys, func(s entry) error {
		var w queue.WorkerStatus
		if decode(s, &w) == nil && isPresence(w) { // else no worker has written it
			w.Seen = s.at
			if e.heldFor != nil {
				w.Held = cmp.Or(e.heldFor(w.Credential), w.Held)
			}
			found = append(found, w)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b queue.WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// isPresence reports whether a worker can have written this about itself.
func isPresence(w queue.WorkerStatus) bool {
	texts := slices.Concat(w.Sites, w.GPUs, []string{w.Name, w.Version})
	return w.Busy >= 0 && w.Busy <= w.Slots && w.Slots <= mostSlots && len(w.Held) <= mostReason &&
		w.Backlog.Jobs >= 0 && w.Backlog.Jobs <= mostCount && w.Backlog.Bytes >= 0 && w.Backlog.Bytes <= mostFrames &&
		len(w.Sites) <= mostAsked && len(w.GPUs) <= 64 && !slices.ContainsFunc(texts, func(s string) bool { return len(s) > 2*mostNote })
}

// mostReason limits the reason why a worker takes no tasks.
const mostReason = 4096

// mostSlots limits the slots of a worker.
const mostSlots = 1 << 14
