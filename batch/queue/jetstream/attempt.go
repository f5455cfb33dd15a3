package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// attempt is one attempt at a task by a worker.
type attempt struct {
	pool  *workerPool
	id    string
	m     jetstream.Msg
	c     claim
	t     queue.Task
	job   queue.Job
	round int // of the job

	recheck    chan struct{} // check now whether the task is still wanted
	publishNow chan struct{}
	report     progress
}

// grace is how long a stopping worker tries to deliver a result or to return a task.
const grace = 10 * time.Second

// errFinished is one of take's errors, as are errGone, queue.ErrNoJob and errClaimed.
var errFinished = errors.New("queue: the task has its result")

// final reports whether retrying a write to the queue would give the same error.
func final(err error) bool {
	return slices.ContainsFunc([]error{
		errGone, queue.ErrNoJob, errClaimed, errFinished, errNotOwner, errMalformed, errNoResult,
		queue.ErrTwin, nats.ErrMaxPayload, jetstream.ErrInvalidKey,
	}, func(f error) bool { return errors.Is(err, f) })
}

// do does the open part of a message's task. ctx ends when the worker stops.
func (p *workerPool) do(ctx context.Context, m jetstream.Msg) {
	c, err := fromSubject(m.Subject())
	if err != nil {
		p.e.o.Log.Warn(err.Error())
		_ = m.Term()
		return
	}
	a := &attempt{pool: p, id: newID(), m: m, c: c, recheck: make(chan struct{}, 1), publishNow: make(chan struct{}, 1)}
	// The outcome is written even if the worker stops, but not for ever.
	settle, cancel := withGrace(ctx, grace)
	defer cancel()
	defer a.live()()

	switch err := a.persist(settle, a.take); {
	case err == nil:
		p.enter(a)
		defer p.leave(a)
		o, err, cause := a.handle(ctx)
		a.settle(settle, o, err, cause, ctx.Err() != nil)
		p.e.tell(eventOver, c, a.report.encode(a, p.w.Name))
	case errors.Is(err, errFinished):
		a.finished(settle)
	case errors.Is(err, errClaimed):
		_ = m.NakWithDelay(p.heartbeat)
	case errors.Is(err, errGone), errors.Is(err, queue.ErrNoJob):
		a.drop(settle)
	case errors.Is(err, errMalformed):
		a.giveUp(settle, queue.Failed, 0, err)
	default: // the message comes again when AckWait is over
	}
}

func (p *workerPool) enter(a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[a.c] = a
}

func (p *workerPool) leave(a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[a.c] == a {
		delete(p.running, a.c)
	}
}

func (a *attempt) persist(ctx context.Context, f func(ctx context.Context) error) error {
	return a.pool.e.persist(ctx, fmt.Sprintf("task %s of job %s", a.c.task, a.c.job), f)
}

func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() { stop(); cancel() }
}

// live sends heartbeats until the returned function is called.
func (a *attempt) live() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for range wake.Every(ctx, a.pool.heartbeat) {
			if !a.pool.frozen() {
				_ = a.m.InProgress()
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// take begins an attempt, if the task is still open and no worker has it.
func (a *attempt) take(ctx context.Context) error {
	e := a.pool.e
	if err := json.Unmarshal(a.m.Data(), &a.t); err != nil || a.t.Job != a.c.job || a.t.Name != a.c.task {
		return errGone // not one of our messages
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

// begin records the attempt, and that the job runs.
func (a *attempt) begin(ctx context.Context) error {
	e := a.pool.e
	again := false
	t, err := e.tryUpdate(ctx, a.c, func(t *tries) error {
		if t.Owner == a.id { // recorded, but the answer was lost
			return nil
		}
		if claimed, err := a.claimedElsewhere(ctx, *t); claimed || err != nil {
			return errors.Join(err, errClaimed)
		}
		before := t.Attempt
		t.begin(a.round, a.id, a.pool.id)
		again = before > 0 && t.Attempt > before
		return nil
	})
	if err != nil {
		return err
	}
	a.t.Attempt = t.Attempt
	if t.Deaths > 0 && t.Deaths+t.Crashes >= e.deaths(a.job) {
		return a.fail(ctx, queue.Quarantined, 0, fmt.Errorf("%d processes died at it, the last with its worker", t.Deaths+t.Crashes))
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

// deaths returns how many processes may die at a task.
func (e *Engine) deaths(j queue.Job) int { return cmp.Or(e.o.Deaths, j.Deaths, queue.DefaultDeaths) }

// claimedElsewhere reports whether a live worker is doing the task: after a restart of the
// server, a message may come again too early.
func (a *attempt) claimedElsewhere(ctx context.Context, t tries) (bool, error) {
	switch t.Worker {
	case "":
		return false, nil
	case a.pool.id:
		a.pool.mu.Lock()
		defer a.pool.mu.Unlock()
		own := a.pool.running[a.c]
		return own != nil && own.id == t.Owner, nil
	}
	if t.Owner == "" {
		return false, nil
	}
	_, err := a.pool.e.workers.Get(ctx, t.Worker)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// handle calls the handler. cause is why its context ended, or nil.
func (a *attempt) handle(ctx context.Context) (o queue.Outcome, err, cause error) {
	ctx, stop := context.WithCancelCause(ctx)
	a.report.since = time.Now().UTC()
	var beside sync.WaitGroup
	beside.Go(func() { a.watch(ctx, stop) })
	beside.Go(func() { a.publish(ctx) })
	o, err = a.pool.h(ctx, a.job, a.t, a.report.set)
	cause = context.Cause(ctx)
	stop(nil)
	beside.Wait()
	return o, err, cause
}

// watch ends the handler's context when the task is no longer wanted.
func (a *attempt) watch(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(a.pool.heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-a.recheck:
		}
		if a.pool.frozen() {
			continue
		}
		if err := a.wanted(ctx); err != nil {
			stop(err)
			return
		}
	}
}

// wanted returns why the task is no longer wanted. If the queue does not answer, it is.
func (a *attempt) wanted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, _, err := a.pool.e.get(ctx, a.c.job)
	if errors.Is(err, queue.ErrNoJob) || err == nil && (r.Epoch != a.c.epoch || r.Round != a.round) {
		return queue.ErrCancelled
	}
	if err != nil {
		return nil
	}
	if k, err := a.pool.e.kept(ctx, a.c); err == nil && k.By != a.id {
		return queue.ErrTwin
	}
	if !r.live() {
		return queue.ErrCancelled
	}
	return nil
}
