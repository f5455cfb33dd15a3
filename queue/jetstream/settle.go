package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

// settle tells the queue what became of an attempt. stopping says that the worker is to stop.
func (a *attempt) settle(ctx context.Context, o queue.Outcome, err, cause error, stopping bool) {
	later := new(queue.Postponed)
	switch {
	case err == nil:
		a.deliver(ctx, o)
	case errors.Is(cause, queue.ErrTwin), errors.Is(err, queue.ErrTwin): // the handler may be the first to see it
		a.twin(ctx)
	case errors.Is(cause, queue.ErrCancelled):
		a.drop(ctx)
	case stopping:
		a.putBack(ctx, 0)
	case queue.IsPermanent(err):
		a.failed(ctx, err, true)
	case errors.As(err, &later):
		a.k.e.tell(eventLater, a.c, nil)
		a.putBack(ctx, later.Delay)
	default:
		a.failed(ctx, err, false)
	}
}

// deliver claims the result and lets the job go on.
func (a *attempt) deliver(ctx context.Context, o queue.Outcome) {
	k := kept{o, a.id}
	err := a.persist(ctx, func(ctx context.Context) error {
		_, err := a.k.e.claimResult(ctx, a.c, k)
		if err != nil {
			return err
		}
		return a.k.e.advance(ctx, a.c, o)
	})
	switch {
	case err == nil:
		a.k.e.tell(eventDone, a.c, nil)
		a.ack(ctx)
	case errors.Is(err, queue.ErrTwin):
		a.twin(ctx)
	case errors.Is(err, errGone), errors.Is(err, errNoJob):
		a.drop(ctx)
	case errors.Is(err, nats.ErrMaxPayload):
		reason := fmt.Errorf("its outcome is too large for the queue, which takes %d bytes", a.k.e.nc.MaxPayload())
		a.failed(ctx, reason, true)
	}
}

// twin is for an attempt that another one has overtaken.
func (a *attempt) twin(ctx context.Context) {
	a.k.e.o.Warn(fmt.Sprintf("task %s of job %s, attempt %d: another worker has done it; this result counts for nothing",
		a.c.task, a.c.job, a.t.Attempt))
	a.k.e.tell(eventTwin, a.c, nil)
	a.finished(ctx)
}

// finished is for a task that has its result: whoever claimed it may have been killed before the job went on.
func (a *attempt) finished(ctx context.Context) {
	err := a.persist(ctx, func(ctx context.Context) error {
		k, err := a.k.e.kept(ctx, a.c)
		if errors.Is(err, errNoResult) {
			return errGone
		}
		if err != nil {
			return err
		}
		return a.k.e.advance(ctx, a.c, k.Outcome)
	})
	switch {
	case err == nil:
		a.ack(ctx)
	case final(err):
		a.drop(ctx)
	}
}

// ack takes the message out of the queue. If that fails it comes again, and is found done.
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

// drop takes a message out of the queue that nobody waits for. Should its job have been submitted again meanwhile, which
// found the message in its place, it is put there again.
func (a *attempt) drop(ctx context.Context) {
	e := a.k.e
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

// putBack gives the task to whoever takes it after the delay; the attempt does not count.
func (a *attempt) putBack(ctx context.Context, delay time.Duration) {
	err := a.leave(ctx, func(t *tries) { t.Back = true })
	if err == nil {
		a.nak(ctx, delay)
	}
}

// failed counts an attempt that ended with an error.
func (a *attempt) failed(ctx context.Context, why error, permanent bool) {
	n := 0
	err := a.leave(ctx, func(t *tries) {
		t.Failed++
		n = t.Failed
	})
	switch {
	case err != nil: // somebody else has it
	case permanent:
		a.giveUp(ctx, fmt.Sprintf("task %s: %v", a.c.task, why))
	case n > a.job.Retries:
		a.giveUp(ctx, fmt.Sprintf("task %s: %v (%s)", a.c.task, why, attempts(n)))
	default:
		a.nak(ctx, a.k.e.o.delay(n))
	}
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

func (a *attempt) giveUp(ctx context.Context, reason string) {
	err := a.persist(ctx, func(ctx context.Context) error { return a.fail(ctx, reason) })
	if errors.Is(err, errGone) {
		a.drop(ctx)
	}
}

// fail ends the job, if it is still the one that the attempt was for, and returns errGone.
func (a *attempt) fail(ctx context.Context, reason string) error {
	err := a.k.e.end(ctx, a.c.job, queue.Failed, reason, func(r *record) bool {
		return r.Epoch == a.c.epoch && r.Round == a.round
	})
	if err != nil {
		return err
	}
	a.k.e.tell(eventFail, a.c, nil)
	return errGone
}

// leave notes that the attempt is over, unless another has taken the task: errNotOwner.
func (a *attempt) leave(ctx context.Context, change func(t *tries)) error {
	return a.persist(ctx, func(ctx context.Context) error {
		_, err := a.k.e.tryUpdate(ctx, a.c, func(t *tries) error {
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
	_ = a.k.e.nc.FlushWithContext(ctx)
}
