package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// settle reports the end of an attempt to the queue. stopping means that the worker stops.
func (a *attempt) settle(ctx context.Context, o queue.Outcome, err, cause error, stopping bool) {
	later := new(queue.Postponed)
	switch {
	case err == nil:
		a.deliver(ctx, o)
	// the handler may be the first to notice
	case errors.Is(cause, queue.ErrTwin), errors.Is(err, queue.ErrTwin):
		a.twin(ctx)
	case errors.Is(cause, queue.ErrCancelled):
		a.drop(ctx)
	case stopping:
		a.putBack(ctx, 0)
	case queue.IsPermanent(err):
		a.failed(ctx, err, true)
	case errors.As(err, &later):
		a.putBack(ctx, later.Delay)
	default:
		a.failed(ctx, err, false)
	}
}

// deliver claims the result and advances the job.
func (a *attempt) deliver(ctx context.Context, o queue.Outcome) {
	k := kept{o, a.id}
	err := a.persist(ctx, func(ctx context.Context) error {
		_, err := a.pool.e.claimResult(ctx, a.c, k)
		if err != nil {
			return err
		}
		return a.pool.e.advance(ctx, a.c, o)
	})
	switch {
	case err == nil:
		a.pool.e.tell(eventDone, a.c, nil)
		a.ack(ctx)
	case errors.Is(err, queue.ErrTwin):
		a.twin(ctx)
	case errors.Is(err, errGone), errors.Is(err, queue.ErrNoJob):
		a.drop(ctx)
	case errors.Is(err, nats.ErrMaxPayload):
		reason := fmt.Errorf("its outcome is too large for the queue: the limit is %d bytes", a.pool.e.nc.MaxPayload())
		a.failed(ctx, reason, true)
	}
}

// twin ends an attempt that another one has overtaken.
func (a *attempt) twin(ctx context.Context) {
	a.pool.e.o.Log.Warn(fmt.Sprintf("task %s of job %s, attempt %d: another worker has done it; this result is dropped",
		a.c.task, a.c.job, a.t.Attempt))
	a.finished(ctx)
}

// finished advances a job again whose worker died after storing the result.
func (a *attempt) finished(ctx context.Context) {
	err := a.persist(ctx, func(ctx context.Context) error {
		k, err := a.pool.e.kept(ctx, a.c)
		if errors.Is(err, errNoResult) {
			return errGone
		}
		if err != nil {
			return err
		}
		return a.pool.e.advance(ctx, a.c, k.Outcome)
	})
	switch {
	case err == nil:
		a.ack(ctx)
	case final(err):
		a.drop(ctx)
	}
}

// ack removes the message. If that fails it comes again, and is found finished.
func (a *attempt) ack(ctx context.Context) {
	for range 2 {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := a.m.DoubleAck(try)
		cancel()
		if err == nil || ctx.Err() != nil {
			return
		}
	}
}

// drop removes a message that is no longer wanted. If the job was submitted again meanwhile, and
// found this message in place, it is queued again.
func (a *attempt) drop(ctx context.Context) {
	e := a.pool.e
	_ = a.persist(ctx, func(ctx context.Context) error {
		if err := a.m.Ack(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return err
		}
		if err := e.nc.FlushWithContext(ctx); err != nil {
			return err
		}
		r, _, err := e.get(ctx, a.c.job)
		if err != nil || r.Epoch != a.c.epoch {
			return err
		}
		return e.putOpen(ctx, r)
	})
}

var errNotOwner = errors.New("queue: another worker has taken the task")

// putBack returns the task to the queue after a delay; the attempt does not count.
func (a *attempt) putBack(ctx context.Context, delay time.Duration) {
	err := a.leave(ctx, func(t *tries) { t.Back = true })
	if err == nil {
		a.nak(ctx, delay)
	}
}

// failed counts an attempt that ended with an error.
func (a *attempt) failed(ctx context.Context, why error, permanent bool) {
	n, dead := 0, 0
	err := a.leave(ctx, func(t *tries) {
		t.Failed++
		n = t.Failed
		if queue.HasDied(why) {
			t.Crashes++
			dead = t.Crashes + t.Deaths
		}
	})
	switch {
	case err != nil: // another worker has the task
	case permanent:
		a.giveUp(ctx, queue.Failed, 0, why)
	case dead >= cmp.Or(a.job.Deaths, queue.DefaultDeaths):
		a.giveUp(ctx, queue.Quarantined, 0, queue.Coded(queue.CodeOf(why), fmt.Errorf("%d processes died at it, at last: %w", dead, why)))
	case n > a.job.Retries:
		a.giveUp(ctx, queue.Failed, n, why)
	default:
		a.nak(ctx, a.pool.e.o.delay(n))
	}
}

// giveUp ends the job in a state of failure. attempts is 0 if retrying would not help.
func (a *attempt) giveUp(ctx context.Context, as queue.State, attempts int, why error) {
	err := a.persist(ctx, func(ctx context.Context) error { return a.fail(ctx, as, attempts, why) })
	if errors.Is(err, errGone) {
		a.drop(ctx)
	}
}

// fail ends the job, unless it has been restarted since, and returns errGone.
func (a *attempt) fail(ctx context.Context, as queue.State, attempts int, why error) error {
	f := queue.Failure{Task: a.c.task, Kind: a.t.Kind, Attempts: attempts, Code: queue.CodeOf(why)}
	current := func(r *record) bool { return r.Epoch == a.c.epoch && r.Round == a.round }
	err := a.pool.e.end(ctx, a.c.job, current, func(r *record) { r.failAt(as, f, why.Error()) })
	return cmp.Or(err, errGone)
}

// leave records the end of the attempt, or returns errNotOwner if another one has the task.
func (a *attempt) leave(ctx context.Context, change func(t *tries)) error {
	return a.persist(ctx, func(ctx context.Context) error {
		_, err := a.pool.e.tryUpdate(ctx, a.c, func(t *tries) error {
			if t.Owner != a.id {
				return errNotOwner
			}
			t.Owner = ""
			change(t)
			return nil
		})
		return err
	})
}

func (a *attempt) nak(ctx context.Context, delay time.Duration) {
	if delay <= 0 {
		_ = a.m.Nak()
	} else {
		_ = a.m.NakWithDelay(delay)
	}
	_ = a.pool.e.nc.FlushWithContext(ctx)
}
