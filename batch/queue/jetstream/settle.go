package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// ending is the end of an attempt, as its worker reports it.
type ending struct {
	Outcome *queue.Outcome `json:"outcome,omitempty"` // if How is endDone
	How     string         `json:"how"`
	Reason  string         `json:"reason,omitempty"`
	Code    string         `json:"code,omitempty"` // see queue.CodeOf
	Delay   time.Duration  `json:"delay,omitempty"`
	Log     string         `json:"log,omitempty"` // output of the task's processes
}

// Ways in which an attempt ends.
const (
	endDone      = "done"
	endOvertaken = "twin"      // another worker was quicker
	endCancelled = "cancelled" // with its job
	endBack      = "back"      // does not count, and is tried again after Delay
	endPermanent = "permanent" // failed, and always would
	endDied      = "died"      // failed, since its process died
	endFailed    = "failed"
)

// endingOf describes what a handler returned. cause is why its context ended, or nil; stopping
// means that the worker stops.
func endingOf(o queue.Outcome, err, cause error, stopping bool) ending {
	later := new(queue.Postponed)
	end := func(how string) ending { return ending{How: how, Reason: err.Error(), Code: queue.CodeOf(err)} }
	switch {
	case err == nil:
		return ending{How: endDone, Outcome: &o}
	// the handler may be the first to notice
	case errors.Is(cause, queue.ErrOvertaken), errors.Is(err, queue.ErrOvertaken):
		return end(endOvertaken)
	case errors.Is(cause, queue.ErrCancelled):
		return end(endCancelled)
	case stopping:
		return end(endBack)
	case queue.IsPermanent(err):
		return end(endPermanent)
	case errors.As(err, &later):
		e := end(endBack)
		e.Delay = later.Delay
		return e
	case queue.HasDied(err):
		return end(endDied)
	}
	return end(endFailed)
}

func (e ending) err() error {
	if e.Code == "" {
		return errors.New(e.Reason)
	}
	return queue.Coded(e.Code, errors.New(e.Reason))
}

// settle reports the end of an attempt to the queue. It returns queue.ErrOvertaken if another one
// counts.
func (a *attempt) settle(ctx context.Context, end ending) error {
	defer a.over()
	a.e.addLog(ctx, a.c.job, lastOf(end.Log, mostLog))
	switch end.How {
	case endDone:
		return a.deliver(ctx, *end.Outcome)
	case endOvertaken:
		return a.overtaken(ctx)
	case endCancelled:
		a.drop(ctx)
	case endBack:
		a.putBack(ctx, end.Delay)
	default:
		a.failed(ctx, end)
	}
	return nil
}

// over tells watchers that the attempt is at its task no more.
func (a *attempt) over() {
	if b, err := json.Marshal(queue.Active{Task: a.c.task, Kind: a.t.Kind, Attempt: a.t.Attempt}); err == nil {
		a.e.publishEvent(eventOver, a.c, b)
	}
}

// deliver claims the result and advances the job.
func (a *attempt) deliver(ctx context.Context, o queue.Outcome) error {
	k := storedOutcome{o, a.id}
	err := a.persist(ctx, func(ctx context.Context) error {
		_, err := a.e.claimResult(ctx, a.c, k)
		if err != nil {
			return err
		}
		return a.e.advance(ctx, a.c, o)
	})
	switch {
	case err == nil:
		a.e.failures.note(a.worker, a.c, true)
		a.e.publishEvent(eventDone, a.c, nil)
		a.ack(ctx)
	case errors.Is(err, queue.ErrOvertaken):
		return a.overtaken(ctx)
	case errors.Is(err, errGone), errors.Is(err, queue.ErrNoJob):
		a.drop(ctx)
	case errors.Is(err, nats.ErrMaxPayload):
		a.failed(ctx, a.e.tooLarge())
	}
	return nil
}

// tooLarge is the end of an attempt whose outcome no message can hold.
func (l *link) tooLarge() ending {
	return ending{How: endPermanent, Reason: fmt.Sprintf("its outcome is too large for the queue: the limit is %d bytes", l.nc.MaxPayload())}
}

// overtaken ends an attempt that another one has overtaken.
func (a *attempt) overtaken(ctx context.Context) error {
	a.finished(ctx)
	return queue.ErrOvertaken
}

// finished advances a job again whose worker died after storing the result.
func (a *attempt) finished(ctx context.Context) {
	err := a.persist(ctx, func(ctx context.Context) error {
		k, err := a.e.kept(ctx, a.c)
		if errors.Is(err, errNoResult) {
			return errGone
		}
		if err != nil {
			return err
		}
		return a.e.advance(ctx, a.c, k.Outcome)
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
	e := a.e
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
func (a *attempt) failed(ctx context.Context, end ending) {
	var now tries
	here := a.e.machine(ctx, a.worker)
	err := a.leave(ctx, func(t *tries) {
		t.Failed++
		if end.How == endDied {
			t.Crashes++
		}
		t.On = a.e.with(ctx, t.On, here)
		now = *t
	})
	by := nobody
	if err == nil && end.How != endPermanent {
		by = a.judge(ctx, now.On)
	}
	var as queue.State
	var given ending
	if err == nil && end.How == endDied {
		as, given, err = a.crashed(ctx, now, by, end.Reason)
	}
	switch n := now.Failed; {
	case errors.Is(err, errGone):
		a.drop(ctx)
	case err != nil: // another worker has the task
	case end.How == endPermanent:
		a.giveUp(ctx, queue.Failed, 0, end)
	case as != "":
		a.giveUp(ctx, as, 0, given)
	case n > a.job.Retries && by != nobody:
		a.giveUp(ctx, queue.Failed, n, end)
	default:
		a.nak(ctx, a.e.o.delay(n))
	}
}

// crashed records that the task's process died, and returns whether that ends the job; see poison.
func (a *attempt) crashed(ctx context.Context, t tries, by blame, last string) (as queue.State, end ending, err error) {
	err = a.persist(ctx, func(ctx context.Context) error {
		r, err := a.e.update(ctx, a.c.job, func(r *record) error {
			if r.Epoch != a.c.epoch || r.Round != a.round || !r.live() {
				return errGone
			}
			if r.Lost == nil {
				r.Lost = map[string]taskFailures{}
			}
			r.Lost[a.c.task] = taskFailures{t.Crashes, t.On}
			return nil
		})
		if err == nil {
			as, end = poison(r, a.c.task, cmp.Or(a.job.Deaths, queue.DefaultDeaths), by, last)
		}
		return err
	})
	return as, end, err
}

// giveUp ends the job in a state of failure. attempts is 0 if retrying would not help.
func (a *attempt) giveUp(ctx context.Context, as queue.State, attempts int, end ending) {
	err := a.persist(ctx, func(ctx context.Context) error { return a.fail(ctx, as, attempts, end.err()) })
	if errors.Is(err, errGone) {
		a.drop(ctx)
	}
}

// fail ends the job, unless it has been restarted since, and returns errGone.
func (a *attempt) fail(ctx context.Context, as queue.State, attempts int, why error) error {
	f := queue.Failure{Task: a.c.task, Kind: a.t.Kind, Attempts: attempts, Code: queue.CodeOf(why)}
	current := func(r *record) bool { return r.Epoch == a.c.epoch && r.Round == a.round }
	err := a.e.end(ctx, a.c.job, current, func(r *record) {
		r.end(as, why.Error())
		r.Failure = f
	})
	return cmp.Or(err, errGone)
}

// leave records the end of the attempt, or returns errNotOwner if another one has the task.
func (a *attempt) leave(ctx context.Context, change func(t *tries)) error {
	return a.persist(ctx, func(ctx context.Context) error {
		_, err := a.e.tryUpdate(ctx, a.c, func(t *tries) error {
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
	_ = a.e.nc.FlushWithContext(ctx)
}
