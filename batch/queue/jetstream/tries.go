package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

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
	Ticket string    `json:"ticket,omitempty"` // of Owner, if it came through the head of a queue
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
