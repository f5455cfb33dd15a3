package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// removeFiles removes the files of a job from the store.
func removeFiles(ctx context.Context, store queue.Blobs, job string) error {
	names, err := store.List(ctx, job+"/")
	for _, name := range names {
		err = errors.Join(err, store.Delete(ctx, name))
	}
	return err
}

// again returns the job to resubmit.
func again(s queue.Status) queue.Job {
	j := s.Job
	if s.State == queue.Cancelled {
		digest, _, _ := strings.Cut(j.Digest, redoMark)
		j.Digest = redo(knownOf(s), digest)
	}
	return j
}
