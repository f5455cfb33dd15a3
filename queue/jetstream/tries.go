package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// tries is what is kept of the attempts at a task.
type tries struct {
	Attempt int    `json:"attempt"` // the last one's number
	Round   int    `json:"round,omitempty"`
	Failed  int    `json:"failed,omitempty"` // in this round: attempts that ended with an error
	Deaths  int    `json:"deaths,omitempty"` // in this round: attempts that ended with no word
	Owner   string `json:"owner,omitempty"`  // the attempt that is at work, as far as known
	Worker  string `json:"worker,omitempty"` // whose it is
	Back    bool   `json:"back,omitempty"`   // the last attempt was put back, and does not count
}

// errHeld says that a worker that is alive is at the task.
var errHeld = errors.New("queue: another worker is at it")

// begin notes an attempt of a round by a worker. died says that the last attempt ended with no word.
func (t *tries) begin(round int, owner, worker string) (died bool) {
	if t.Round != round {
		*t = tries{Attempt: t.Attempt, Round: round}
	}
	died = t.Owner != ""
	if died {
		t.Deaths++
	}
	if !t.Back {
		t.Attempt++
	}
	t.Owner, t.Worker, t.Back = owner, worker, false
	return died
}

func (e *Engine) tries(ctx context.Context, c claim) (t tries, revision uint64, err error) {
	entry, err := e.results.Get(ctx, triesKey(c))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return t, 0, nil
	}
	if err != nil {
		return t, 0, err
	}
	return t, entry.Revision(), json.Unmarshal(entry.Value(), &t)
}

// tryUpdate changes the tries of a task; change is called again when another was quicker.
func (e *Engine) tryUpdate(ctx context.Context, c claim, change func(t *tries) error) (tries, error) {
	for {
		t, revision, err := e.tries(ctx, c)
		if err != nil {
			return t, fmt.Errorf("queue: attempts at task %s of job %s: %w", c.task, c.job, err)
		}
		if err := change(&t); err != nil {
			return t, err
		}
		b, err := json.Marshal(t)
		if err != nil {
			return t, err
		}
		if revision == 0 {
			_, err = e.results.Create(ctx, triesKey(c), b)
		} else {
			_, err = e.results.Update(ctx, triesKey(c), b, revision)
		}
		if !conflict(err) {
			return t, err
		}
	}
}
