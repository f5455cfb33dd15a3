package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

// presence is what a crew writes about itself, and what is gone when it has not done so for the time of a bucket's key.
type presence struct {
	queue.Worker
	Since time.Time
	Busy  int
}

// present keeps the crew among the workers until ctx ends.
func (k *crew) present(ctx context.Context) {
	k.write(ctx)
	for range ticks(ctx, k.beat) {
		if !k.frozen() {
			k.write(ctx)
		}
	}
	bye, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = k.e.workers.Purge(bye, k.id)
}

func (k *crew) write(ctx context.Context) {
	k.mu.Lock()
	busy := len(k.running)
	k.mu.Unlock()
	b, err := json.Marshal(presence{k.w, k.since, busy})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.beat)
	defer cancel()
	_, _ = k.e.workers.Put(ctx, k.id, b)
}

// Workers is described at queue.Engine. The order is that of names.
func (e *Engine) Workers(ctx context.Context) ([]queue.WorkerStatus, error) {
	w, err := e.workers.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("queue: workers: %w", err)
	}
	defer w.Stop()
	var found []queue.WorkerStatus
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case entry := <-w.Updates():
			if entry == nil {
				slices.SortFunc(found, func(a, b queue.WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
				return found, ctx.Err()
			}
			var p presence
			if err := json.Unmarshal(entry.Value(), &p); err != nil {
				return nil, fmt.Errorf("queue: workers: %w", err)
			}
			found = append(found, queue.WorkerStatus{Worker: p.Worker, Since: p.Since, Seen: entry.Created(), Busy: p.Busy})
		}
	}
}
