package tasks

import (
	"context"
	"strings"
	"time"

	"vidfilter/queue"
)

// KeepFailed is how long the store keeps the parts of a job that failed, for another attempt.
const KeepFailed = 7 * 24 * time.Hour

// Sweep removes from the store what no job needs any more: of those that are done or cancelled, or failed long ago. Kills and workers that
// come back late may leave it.
func Sweep(ctx context.Context, e queue.Engine) error {
	names, err := e.Blobs().List(ctx, "") // before the jobs, of which there is one before it has files
	if err != nil || len(names) == 0 {
		return err
	}
	jobs, err := Jobs(ctx, e)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, _, _ := strings.Cut(name, "/")
		if s, ok := jobs[id]; ok && needs(s) {
			continue
		}
		if err := e.Blobs().Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func needs(s queue.Status) bool {
	return !s.State.Ended() || s.State == queue.Failed && time.Since(s.Ended) < KeepFailed
}

// Jobs returns what the queue has, by ID.
func Jobs(ctx context.Context, e queue.Engine) (map[string]queue.Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all, live := map[string]queue.Status{}, false
	err := e.Watch(ctx, func(s queue.Status) { all[s.Job.ID] = s }, func() { live = true; cancel() })
	if live {
		err = nil
	}
	return all, err
}
