package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

// attempt is a task in the hands of a crew.
type attempt struct {
	k     *crew
	id    string
	m     jetstream.Msg
	c     claim
	t     queue.Task
	job   queue.Job
	round int // the job's

	eyes   chan struct{} // look whether it is still wanted
	tell   chan struct{} // publish the progress now
	report progress
}

// grace is how long a worker that is to stop tries to deliver a result or to give a task back.
const grace = 10 * time.Second

// What take finds beside errGone, errNoJob and errHeld.
var errFinished = errors.New("queue: the task has its result")

// final says that another try at writing to the queue would meet the same.
func final(err error) bool {
	for _, f := range []error{errGone, errNoJob, errHeld, errFinished, errNotOwner, queue.ErrTwin, nats.ErrMaxPayload} {
		if errors.Is(err, f) {
			return true
		}
	}
	return false
}

// do does the task of a message, as far as it is still to be done. ctx ends when the worker is to stop.
func (k *crew) do(ctx context.Context, m jetstream.Msg) {
	c, err := fromSubject(m.Subject())
	if err != nil {
		k.e.o.Warn(err.Error())
		_ = m.Term()
		return
	}
	a := &attempt{k: k, id: newID(), m: m, c: c, eyes: make(chan struct{}, 1), tell: make(chan struct{}, 1)}
	// What is to be written in the end is written even if the worker is to stop, but not for ever.
	settle, cancel := withGrace(ctx, grace)
	defer cancel()
	defer a.live()()

	switch err := a.persist(settle, a.take); {
	case err == nil:
		k.enter(a)
		defer k.leave(a)
		o, err, cause := a.handle(ctx)
		a.settle(settle, o, err, cause, ctx.Err() != nil)
		k.e.tell(eventOver, c, a.report.encode(a, k.w.Name))
	case errors.Is(err, errFinished):
		a.finished(settle)
	case errors.Is(err, errHeld):
		_ = m.NakWithDelay(k.beat)
	case errors.Is(err, errGone), errors.Is(err, errNoJob):
		a.drop(settle)
	default: // it comes again when there is no sign of life
	}
}

func (k *crew) enter(a *attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running[a.c] = a
}

func (k *crew) leave(a *attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[a.c] == a {
		delete(k.running, a.c)
	}
}

func (a *attempt) persist(ctx context.Context, f func(ctx context.Context) error) error {
	return a.k.e.persist(ctx, fmt.Sprintf("task %s of job %s", a.c.task, a.c.job), f)
}

func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-late.Done():
		}
	})
	return late, func() { stop(); cancel() }
}

// live says that the worker lives, until the function that it returns is called.
func (a *attempt) live() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for range ticks(ctx, a.k.beat) {
			if !a.k.frozen() {
				_ = a.m.InProgress()
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// take begins an attempt, if the task is still to be done and nobody is at it.
func (a *attempt) take(ctx context.Context) error {
	e := a.k.e
	if err := json.Unmarshal(a.m.Data(), &a.t); err != nil {
		return errGone // nothing of ours
	}
	r, _, err := e.get(ctx, a.c.job)
	switch {
	case err != nil:
		return err
	case r.Epoch != a.c.epoch || !r.live():
		return errGone
	case r.group(a.c.task) < 0:
		return errFinished
	}
	a.job, a.round = r.Job, r.Round
	if _, err := e.kept(ctx, a.c); !errors.Is(err, errNoResult) {
		if err == nil {
			err = errFinished
		}
		return err
	}
	return a.begin(ctx)
}

// begin notes the attempt, and that the job runs.
func (a *attempt) begin(ctx context.Context) error {
	e := a.k.e
	again, died := false, false
	t, err := e.tryUpdate(ctx, a.c, func(t *tries) error {
		if t.Owner == a.id { // noted, but the answer was lost
			return nil
		}
		if held, err := a.held(ctx, *t); held || err != nil {
			return errors.Join(err, errHeld)
		}
		before := t.Attempt
		died = t.begin(a.round, a.id, a.k.id)
		again = before > 0 && t.Attempt > before
		return nil
	})
	if err != nil {
		return err
	}
	a.t.Attempt = t.Attempt
	if died {
		e.tell(eventDeath, a.c, nil)
	}
	if t.Deaths > e.o.Deaths {
		return a.fail(ctx, fmt.Sprintf("task %s: %d workers died at it", a.c.task, t.Deaths))
	}
	if again {
		e.tell(eventRetry, a.c, nil)
	}
	_, err = e.update(ctx, a.c.job, func(r *record) error {
		if r.Epoch != a.c.epoch || r.State == queue.Running && !again {
			return errKeep
		}
		if r.live() {
			r.State = queue.Running
		}
		if r.Started.IsZero() {
			r.Started = time.Now().UTC()
		}
		if again {
			r.Retried++
		}
		return nil
	})
	return err
}

// held says whether a worker that gives signs of life is at the task: the message came again although it is in good hands,
// as after a restart of the server.
func (a *attempt) held(ctx context.Context, t tries) (bool, error) {
	switch t.Worker {
	case "":
		return false, nil
	case a.k.id:
		a.k.mu.Lock()
		defer a.k.mu.Unlock()
		own := a.k.running[a.c]
		return own != nil && own.id == t.Owner, nil
	}
	if t.Owner == "" {
		return false, nil
	}
	_, err := a.k.e.workers.Get(ctx, t.Worker)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// handle calls the handler. cause is why its context ended, nil if it did not.
func (a *attempt) handle(ctx context.Context) (o queue.Outcome, err, cause error) {
	ctx, stop := context.WithCancelCause(ctx)
	a.report.begin()
	var beside sync.WaitGroup
	beside.Go(func() { a.watch(ctx, stop) })
	beside.Go(func() { a.publish(ctx) })
	o, err = a.k.h(ctx, a.job, a.t, a.report.set)
	cause = context.Cause(ctx)
	stop(nil)
	beside.Wait()
	return o, err, cause
}

// glance makes the attempt look whether it is still wanted.
func (a *attempt) glance() { nudge(a.eyes) }

func (a *attempt) say() { nudge(a.tell) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch ends the handler's context when the task is not wanted any more.
func (a *attempt) watch(ctx context.Context, stop context.CancelCauseFunc) {
	tick := ticks(ctx, a.k.beat)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-a.eyes:
		}
		if a.k.frozen() {
			continue
		}
		if err := a.wanted(ctx); err != nil {
			stop(err)
			return
		}
	}
}

// wanted returns why the task is not wanted any more. Where the queue cannot be asked, it is.
func (a *attempt) wanted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, _, err := a.k.e.get(ctx, a.c.job)
	if errors.Is(err, errNoJob) || err == nil && (r.Epoch != a.c.epoch || r.Round != a.round) {
		return queue.ErrCancelled
	}
	if err != nil {
		return nil
	}
	if k, err := a.k.e.kept(ctx, a.c); err == nil && k.By != a.id {
		return queue.ErrTwin
	}
	if !r.live() {
		return queue.ErrCancelled
	}
	return nil
}
