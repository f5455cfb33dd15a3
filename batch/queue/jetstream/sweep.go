package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// Sweep queues open tasks that are not in the queue, which a kill between two steps may cause,
// and removes old epochs. Workers call it at the start and now and then.
func (e *Engine) Sweep(ctx context.Context) error {
	if e.forgets.Load() {
		if err := e.jobs.PurgeDeletes(ctx, jetstream.DeleteMarkersOlderThan(e.o.AckWait)); err != nil {
			return fmt.Errorf("queue: forgotten jobs: %w", err)
		}
	}
	// Messages before records: at worst a task is queued twice, which does nothing.
	there, err := e.queued(ctx)
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	return e.eachJob(ctx, func(r *record) error {
		err := e.mend(ctx, r, there)
		if errors.Is(err, errNoResult) || errors.Is(err, errMalformed) { // nobody can continue it
			reason := err.Error()
			err = e.end(ctx, r.Job.ID, func(now *record) bool { return now.Epoch == r.Epoch }, func(now *record) { now.end(queue.Failed, reason) })
		}
		return err
	})
}

func (e *Engine) mend(ctx context.Context, r *record, there map[claim]bool) error {
	if err := e.forgetOld(ctx, r); err != nil {
		return err
	}
	if r.live() && !allThere(r, there) {
		return e.putOpen(ctx, r)
	}
	return nil
}

func allThere(r *record, there map[claim]bool) bool {
	for _, g := range r.Open {
		for _, task := range g.Left {
			if !there[r.claim(task)] {
				return false
			}
		}
	}
	return true
}

// queued returns the tasks that have a message in the stream.
func (e *Engine) queued(ctx context.Context) (map[claim]bool, error) {
	info, err := e.tasks.Info(ctx, jetstream.WithSubjectFilter(e.names.allTasks()))
	if err != nil {
		return nil, err
	}
	there := map[claim]bool{}
	for subject := range info.State.Subjects {
		// the worker that takes any other one removes it
		if c, err := fromSubject(subject); err == nil {
			there[c] = true
		}
	}
	return there, nil
}

// eachJob calls f with every job's record.
func (e *Engine) eachJob(ctx context.Context, f func(r *record) error) error {
	return each(ctx, e.jobs, jetstream.AllKeys, func(entry jetstream.KeyValueEntry) error {
		return f(decodeRecord(entry.Key(), entry.Value()))
	})
}

// each calls f with the entries of a bucket that there are now.
func each(
	ctx context.Context, b jetstream.KeyValue, keys string, f func(jetstream.KeyValueEntry) error,
) error {
	w, err := b.Watch(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("queue: reading %s: %w", b.Bucket(), err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry := <-w.Updates():
			if entry == nil {
				return ctx.Err()
			}
			if err := f(entry); err != nil {
				return err
			}
		}
	}
}
