package tasks

import (
	"context"
	"strings"
	"time"

	"vidfilter/batch/queue"
)

// FailedRetention is how long the store keeps the parts of a failed job for a retry.
const FailedRetention = 7 * 24 * time.Hour

// Sweep removes files from the store that no job needs: those of jobs that are done, cancelled or
// failed long ago. Kills and late workers leave them.
func Sweep(ctx context.Context, e queue.Engine) error {
	names, err := e.Blobs().List(ctx, "") // before listing the jobs: a job exists before its files
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
	return !s.State.Ended() || s.State.HasFailed() && time.Since(s.Ended) < FailedRetention
}

// Jobs returns the jobs in the queue by ID.
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
