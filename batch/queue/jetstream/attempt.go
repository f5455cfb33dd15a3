package jetstream

import (
	"context"
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

type message interface {
	Subject() string
	Data() []byte
	Ack() error
	DoubleAck(ctx context.Context) error
	Nak() error
	NakWithDelay(delay time.Duration) error
	InProgress() error
	Term() error
}

// attempt is one attempt at a task by a worker, as the queue sees it.
type attempt struct {
	e      *Engine // nil at a client, whose server has it
	id     string
	worker string // key of its presence
	holds  string // attempt of the same worker that is at this task, or ""
	m      message
	c      claim
	t      queue.Task
	job    queue.Job
	round  int    // of the job
	ticket string // at a server
}

// runningAttempt is an attempt as its worker sees it.
type runningAttempt struct {
	*attempt
	pool       *workerPool
	recheck    chan struct{} // check now whether the task is still wanted
	publishNow chan struct{}
	report     progress
	said       tail
}

// grace is how long a stopping worker tries to deliver a result or to return a task.
const grace = 10 * time.Second

// errFinished is one of take's errors, as are errGone, queue.ErrNoJob and errClaimed.
var errFinished = errors.New("queue: the task has its result")

// final reports whether retrying a write to the queue would give the same error.
func final(err error) bool {
	return slices.ContainsFunc([]error{
		errGone, queue.ErrNoJob, errClaimed, errFinished, errNotOwner, errMalformed, errNoResult,
		queue.ErrOvertaken, queue.ErrCancelled, queue.ErrNoBlob, queue.ErrStoreFull, queue.ErrQuota, queue.ErrNoRequest, queue.ErrHeld,
		nats.ErrMaxPayload, nats.ErrConnectionClosed, jetstream.ErrInvalidKey, queue.ErrRefused, errProtocol, errReplaced,
	}, func(f error) bool { return errors.Is(err, f) })
}

// do does the open part of a message's task. ctx ends when the worker stops.
func (p *workerPool) do(ctx context.Context, m message) {
	c, err := fromSubject(m.Subject())
	if err != nil {
		p.l.o.Log.Warn(err.Error())
		_ = m.Term()
		return
	}
	a := &runningAttempt{
		attempt: &attempt{id: newID(), worker: p.id, holds: p.holds(c), m: m, c: c},
		pool:    p, recheck: make(chan struct{}, 1), publishNow: make(chan struct{}, 1),
	}
	// The outcome is written even if the worker stops, but not for ever.
	settle, cancel := withGrace(ctx, grace)
	defer cancel()
	defer a.live()()
	err = p.source.take(settle, a.attempt)
	if errors.Is(err, queue.ErrRefused) {
		p.l.o.Log.Warn(err.Error())
	}
	if err != nil { // the task source has put the message where it belongs, or it comes again
		return
	}
	defer p.enter(a)()
	o, err, cause := a.handle(ctx)
	end, crowded := p.crowded(err, endingOf(o, err, cause, ctx.Err() != nil))
	end.Log = a.said.of(a.attempt, p.w.Name, end)
	err = p.source.settle(settle, a.attempt, end)
	p.ended(kindOf(c.task), end, crowded)
	switch {
	case errors.Is(err, queue.ErrOvertaken):
		p.l.o.Log.Warn(fmt.Sprintf("task %s of job %s, attempt %d: another worker has done it; this result is dropped", c.task, c.job, a.t.Attempt))
	case errors.Is(err, queue.ErrRefused):
		p.l.o.Log.Warn(fmt.Sprintf("task %s of job %s, attempt %d: this result is dropped: %v", c.task, c.job, a.t.Attempt, err))
	}
}

// holds returns the attempt that is at a task here, or "".
func (p *workerPool) holds(c claim) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.running[c]; own != nil {
		return own.id
	}
	return ""
}

// enter counts an attempt as running until the returned function is called.
func (p *workerPool) enter(a *runningAttempt) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[a.c] = a
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running[a.c] == a {
			delete(p.running, a.c)
		}
	}
}

func (a *attempt) persist(ctx context.Context, f func(ctx context.Context) error) error {
	return a.e.persist(ctx, a.String(), f)
}

func (a *attempt) String() string { return fmt.Sprintf("task %s of job %s", a.c.task, a.c.job) }

func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() { stop(); cancel() }
}

// live sends heartbeats until the returned function is called.
func (a *runningAttempt) live() (stop func()) {
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

// handle calls the handler. cause is why its context ended, or nil.
func (a *runningAttempt) handle(ctx context.Context) (o queue.Outcome, err, cause error) {
	ctx, stop := context.WithCancelCause(ctx)
	a.report.since = time.Now().UTC()
	var beside sync.WaitGroup
	beside.Go(func() { a.watch(ctx, stop) })
	beside.Go(func() { a.publish(ctx) })
	o, err = a.pool.h(queue.WithLog(a.pool.source.context(ctx, a.attempt), a.said.add), a.job, a.t, a.report.set)
	cause = context.Cause(ctx)
	stop(nil)
	beside.Wait()
	return o, err, cause
}

// watch ends the handler's context when the task is no longer wanted.
func (a *runningAttempt) watch(ctx context.Context, stop context.CancelCauseFunc) {
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

// errShutOut ends a task whose result the queue would not take. A connection that is only down is
// not closed: its tasks go on.
var errShutOut = errors.New("ended, since the queue lets this worker in no more")

// wanted returns why the task is no longer wanted.
func (a *runningAttempt) wanted(ctx context.Context) error {
	if a.pool.l.nc.IsClosed() {
		return errShutOut
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return a.pool.source.wanted(ctx, a.attempt)
}

// progress is the last report of a handler.
type progress struct {
	since time.Time

	mu    sync.Mutex
	last  queue.Progress
	fresh bool // not published yet
}

func (p *progress) set(q queue.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.fresh = q, true
}

// active returns the progress, and marks it as published.
func (p *progress) active(a *runningAttempt) queue.Active {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = false
	return queue.Active{Task: a.c.task, Kind: a.t.Kind, Attempt: a.t.Attempt, Worker: a.pool.w.Name, Since: p.since, Progress: p.last}
}

func (p *progress) isFresh() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

// publishEvery is the shortest time between two events of a task.
const publishEvery = time.Second

// publish publishes the progress of the task, and heartbeats if there is none.
func (a *runningAttempt) publish(ctx context.Context) {
	var last time.Time
	say := func() {
		last = time.Now()
		a.pool.source.progress(ctx, a.attempt, a.report.active(a))
	}
	say()
	tick := time.NewTicker(min(publishEvery, a.pool.heartbeat))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.publishNow:
			if time.Since(last) < publishEvery/2 { // anybody may ask, and often
				continue
			}
		case <-tick.C:
			if !a.report.isFresh() && time.Since(last) < a.pool.heartbeat {
				continue
			}
		}
		if a.pool.frozen() {
			continue
		}
		say()
	}
}
