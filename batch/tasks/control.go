package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Served reports whether a worker that takes tasks has the files of a site.
func Served(workers []queue.WorkerStatus, site string) bool {
	return slices.ContainsFunc(workers, func(w queue.WorkerStatus) bool {
		return !w.Draining && slices.Contains(w.Sites, site)
	})
}

// Nobody returns why a job waits that is in the queue: nobody is connected that has its files. It
// is "" if somebody is.
func Nobody(ctx context.Context, e queue.Engine, id string) (string, error) {
	s, err := e.Get(ctx, id)
	if err != nil {
		return "", err
	}
	workers, err := e.Workers(ctx)
	if err != nil || Served(workers, s.Job.Site) {
		return "", err
	}
	return "nobody who is connected has its files: it waits until its batch is run again", nil
}

// Remove removes a job, which it cancels before if need be, and its files in the store.
func Remove(ctx context.Context, e queue.Engine, id string) error {
	if _, err := e.Get(ctx, id); err != nil {
		return err
	}
	if err := e.Cancel(ctx, id, "removed by hand"); err != nil {
		return err
	}
	names, err := e.Blobs().List(ctx, id+"/")
	for _, name := range names {
		err = errors.Join(err, e.Blobs().Delete(ctx, name))
	}
	if err != nil {
		return err
	}
	return e.Forget(ctx, id)
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
