package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"vidfilter/batch/queue"
)

// Cancel cancels a job at a user's request; reason is queue.ByHand or queue.WithBatch.
func Cancel(ctx context.Context, e queue.Engine, id, reason string) error {
	s, err := e.Get(ctx, id)
	if err != nil {
		return err
	}
	if s.State.Ended() {
		return fmt.Errorf("job %s has already ended: it is %s", id, s.State)
	}
	return e.Cancel(ctx, id, reason)
}

// Retry resubmits a job that failed or was cancelled.
func Retry(ctx context.Context, e queue.Engine, id string) error {
	s, err := e.Get(ctx, id)
	if err != nil {
		return err
	}
	if !s.State.Retryable() {
		return fmt.Errorf("job %s is %s: only one that failed or was cancelled can be retried", id, s.State)
	}
	return e.Submit(ctx, again(s), true)
}

// Waits returns queue.Unserved for a job whose files no worker has, else "".
func Waits(ctx context.Context, e queue.Engine, id string) (string, error) {
	s, err := e.Get(ctx, id)
	if err != nil {
		return "", err
	}
	workers, err := e.Workers(ctx)
	if err != nil || len(queue.Serving(workers, s.Job.Site)) > 0 {
		return "", err
	}
	return queue.Unserved, nil
}

// Remove removes a job, which it cancels before if need be, and its files in the store.
func Remove(ctx context.Context, e queue.Engine, id string) error {
	if _, err := e.Get(ctx, id); err != nil {
		return err
	}
	if err := e.Cancel(ctx, id, "removed by hand"); err != nil {
		return err
	}
	if err := removeFiles(ctx, e.Blobs(), id); err != nil {
		return err
	}
	return e.Forget(ctx, id)
}

func removeFiles(ctx context.Context, store queue.Blobs, job string) error {
	names, err := store.List(ctx, job+"/")
	for _, name := range names {
		err = errors.Join(err, store.Delete(ctx, name))
	}
	return err
}

func again(s queue.Status) queue.Job {
	j := s.Job
	if s.State == queue.Cancelled {
		digest, _, _ := strings.Cut(j.Digest, redoMark)
		j.Digest = redo(knownOf(s), digest)
	}
	return j
}

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
