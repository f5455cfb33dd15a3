package tasks

import (
	"context"
	"errors"
	"strings"
	"time"

	"vidfilter/batch/queue"
)

// FailedRetention is how long the store keeps the parts of a failed job for a retry.
const FailedRetention = 7 * 24 * time.Hour

// Sweep removes files from the store that no job needs: those of jobs that are done, cancelled or
// failed long ago. Kills and late workers leave them.
func Sweep(ctx context.Context, e queue.Engine) error {
	names, err := e.Blobs().List(ctx, "") // before asking for the jobs: a job exists before its files
	if err != nil {
		return err
	}
	needed := map[string]bool{} // by job
	for _, name := range names {
		id, _, _ := strings.Cut(name, "/")
		if _, asked := needed[id]; !asked {
			s, err := e.Get(ctx, id)
			if err != nil && !errors.Is(err, queue.ErrNoJob) {
				return err
			}
			needed[id] = err == nil && needs(s)
		}
		if needed[id] {
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

// OwnJobs returns the IDs of a credential's jobs by what JobID has returned for them, the latest of
// those that have not ended if there are several.
func OwnJobs(ctx context.Context, e queue.Engine, owner string) (map[string]string, error) {
	all, err := Jobs(ctx, e)
	ids := map[string]string{}
	for id, s := range all {
		if s.Job.User != owner {
			continue
		}
		base := queue.BaseOf(id)
		if other, there := all[ids[base]]; !there || precedes(s, other) {
			ids[base] = id
		}
	}
	return ids, err
}

func precedes(s, other queue.Status) bool {
	if a, b := s.State.Ended(), other.State.Ended(); a != b {
		return b
	}
	return s.Submitted.After(other.Submitted)
}

// Jobs returns the jobs in the queue by ID.
func Jobs(ctx context.Context, e queue.Engine) (map[string]queue.Status, error) {
	all := map[string]queue.Status{}
	return all, queue.Each(ctx, e, func(s queue.Status) { all[s.Job.ID] = s })
}
