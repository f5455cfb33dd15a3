package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// take begins an attempt. If it may not, the message is put where it belongs.
func (a *attempt) take(ctx context.Context) error {
	err := a.persist(ctx, a.tryTake)
	switch {
	case errors.Is(err, errFinished):
		a.finished(ctx)
	case errors.Is(err, errClaimed):
		_ = a.m.NakWithDelay(heartbeat(a.e.o.AckWait))
	case errors.Is(err, errGone), errors.Is(err, queue.ErrNoJob):
		a.drop(ctx)
	case errors.Is(err, errMalformed):
		a.giveUp(ctx, queue.Failed, 0, ending{How: endPermanent, Reason: err.Error()})
	}
	return err // for any other, the message comes again when AckWait is over
}

// tryTake begins an attempt, if the task is still open and no worker has it.
func (a *attempt) tryTake(ctx context.Context) error {
	e := a.e
	if err := a.read(); err != nil {
		return err
	}
	r, _, err := e.get(ctx, a.c.job)
	switch {
	case err != nil:
		return err
	case r.Epoch != a.c.epoch || !r.live() || r.Paused: // Pause puts it in the queue again
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

// read reads the task in the message. The server has no message, but a ticket.
func (a *attempt) read() error {
	if _, ok := a.m.(relayed); ok {
		return nil
	}
	if err := json.Unmarshal(a.m.Data(), &a.t); err != nil || a.t.Job != a.c.job || a.t.Name != a.c.task {
		return errGone // not one of our messages
	}
	return nil
}

// begin records the attempt, and that the job runs.
func (a *attempt) begin(ctx context.Context) error {
	e := a.e
	again := false
	t, err := e.tryUpdate(ctx, a.c, func(t *tries) error {
		if t.Owner == a.id && t.Worker == a.worker { // recorded, but the answer was lost
			return nil
		}
		if claimed, err := a.claimedElsewhere(ctx, *t); claimed || err != nil {
			return errors.Join(err, errClaimed)
		}
		before := t.Attempt
		t.begin(a.round, a.id, a.worker)
		t.Ticket = a.ticket
		again = before > 0 && t.Attempt > before
		return nil
	})
	if err != nil {
		return err
	}
	a.t.Attempt = t.Attempt
	if t.Deaths >= e.o.Silences {
		return a.fail(ctx, queue.Quarantined, 0, fmt.Errorf("%d workers fell silent at it", t.Deaths))
	}
	r, err := e.update(ctx, a.c.job, func(r *record) error {
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
	if a.c.over(r, err) {
		return e.gone(ctx, a.c)
	}
	return err
}

// claimedElsewhere reports whether a live worker is doing the task: after a restart of the
// server, a message may come again too early.
func (a *attempt) claimedElsewhere(ctx context.Context, t tries) (bool, error) {
	switch t.Worker {
	case "":
		return false, nil
	case a.worker:
		return a.holds != "" && a.holds == t.Owner, nil
	}
	if t.Owner == "" {
		return false, nil
	}
	_, err := a.e.workers.Get(ctx, t.Worker)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// wanted returns why the task is no longer wanted. If the queue does not answer, it is.
func (a *attempt) wanted(ctx context.Context) error {
	r, _, err := a.e.get(ctx, a.c.job)
	if a.c.over(r, err) || err == nil && r.Round != a.round {
		return queue.ErrCancelled
	}
	if err != nil {
		return nil
	}
	if k, err := a.e.kept(ctx, a.c); err == nil && k.By != a.id {
		return queue.ErrOvertaken
	}
	if !r.live() {
		return queue.ErrCancelled
	}
	return nil
}

// tries is the stored state of the attempts at a task.
type tries struct {
	Attempt int `json:"attempt"` // number of the last one
	Round   int `json:"round,omitempty"`
	Failed  int `json:"failed,omitempty"`  // attempts of this round that ended with an error
	Deaths  int `json:"deaths,omitempty"`  // attempts of this round that ended in silence
	Crashes int `json:"crashes,omitempty"` // attempts of this round whose process died

	On     []machine `json:"on,omitempty"`     // where attempts of this round failed
	Owner  string    `json:"owner,omitempty"`  // the current attempt, as far as known
	Worker string    `json:"worker,omitempty"` // of Owner
	Ticket string    `json:"ticket,omitempty"` // of Owner, if it came through a server
	Back   bool      `json:"back,omitempty"`   // the last attempt was put back, and does not count
}

// errClaimed is the error of a task that a live worker is doing.
var errClaimed = errors.New("queue: another worker is at it")

// begin records an attempt. If the last one has an owner, it ended in silence.
func (t *tries) begin(round int, owner, worker string) {
	if t.Round != round {
		*t = tries{Attempt: t.Attempt, Round: round}
	}
	if t.Owner != "" {
		t.Deaths++
	}
	if !t.Back {
		t.Attempt++
	}
	t.Owner, t.Worker, t.Back = owner, worker, false
}

func (e *Engine) tries(ctx context.Context, c claim) (t tries, revision uint64, err error) {
	entry, err := e.results.Get(ctx, triesKey(c))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return t, 0, nil
	}
	if err != nil {
		return t, 0, err
	}
	err = decode(entry, &t)
	for _, n := range []int{t.Attempt, t.Round, t.Failed, t.Deaths, t.Crashes} {
		if err == nil && (n < 0 || n > mostCount) {
			err = fmt.Errorf("%w: %s: %d is out of range", errMalformed, entry.Key(), n)
		}
	}
	return t, entry.Revision(), err
}

// tryUpdate changes the tries of a task. It calls change again after a conflict.
func (e *Engine) tryUpdate(ctx context.Context, c claim, change func(t *tries) error) (tries, error) {
	for {
		t, revision, err := e.tries(ctx, c)
		if err != nil {
			return t, fmt.Errorf("queue: attempts at task %s of job %s: %w", c.task, c.job, err)
		}
		if err := change(&t); err != nil {
			return t, err
		}
		if err := e.store(ctx, e.results, triesKey(c), t, revision); !conflict(err) {
			return t, err
		}
	}
}
