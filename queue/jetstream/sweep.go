package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Sweep puts tasks in the queue that are open and not there, as a kill between two steps may leave them, and removes what belongs to
// epochs that are over. Every worker does it when it starts and now and then.
func (e *Engine) Sweep(ctx context.Context) error {
	// Messages first, records then: what comes between is at worst put twice, which does nothing.
	there, err := e.queued(ctx)
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	return e.eachJob(ctx, func(r *record) error {
		if len(r.Old) > 0 {
			if err := e.forgetOld(ctx, r); err != nil {
				return err
			}
		}
		if r.live() && !allThere(r, there) {
			return e.putOpen(ctx, r)
		}
		return nil
	})
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
		c, err := fromSubject(subject)
		if err != nil {
			return nil, err
		}
		there[c] = true
	}
	return there, nil
}

// eachJob calls f with every job's record.
func (e *Engine) eachJob(ctx context.Context, f func(r *record) error) error {
	w, err := e.jobs.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("queue: jobs: %w", err)
	}
	defer w.Stop()
	for {
		select {
		case entry := <-w.Updates():
			if entry == nil {
				return ctx.Err()
			}
			r, err := decodeRecord(entry.Value())
			if err != nil {
				return err
			}
			if err := f(r); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
