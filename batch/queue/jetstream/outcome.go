package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

type storedOutcome struct {
	queue.Outcome
	// the attempt that claimed it, so that an attempt that got no answer can recognize its own
	By string `json:"by"`
}

var errNoResult = errors.New("queue: no result")

func (e *Engine) kept(ctx context.Context, c claim) (storedOutcome, error) {
	var k storedOutcome
	entry, err := e.results.Get(ctx, resultKey(c))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return k, errNoResult
	}
	if err != nil {
		return k, err
	}
	return k, decode(entry, &k)
}

// claimResult stores the outcome of an attempt. If there is one of another attempt, it returns
// that and queue.ErrOvertaken.
func (e *Engine) claimResult(ctx context.Context, c claim, k storedOutcome) (storedOutcome, error) {
	if err := e.store(ctx, e.results, resultKey(c), k, 0); !conflict(err) {
		return k, err
	}
	first, err := e.kept(ctx, c)
	if err == nil && first.By != k.By {
		err = queue.ErrOvertaken
	}
	return first, err
}

// errGone is the error of a task whose epoch is over or whose job has ended.
var errGone = errors.New("queue: the job has ended or was begun anew")

// gone removes what an attempt stored after its epoch had ended, since nobody else would, and
// returns errGone.
func (e *Engine) gone(ctx context.Context, c claim) error {
	_ = e.forget(ctx, c.job, c.epoch)
	return errGone
}

// advance records a task's outcome in its job and queues the next tasks. It is idempotent.
func (e *Engine) advance(ctx context.Context, c claim, o queue.Outcome) error {
	var noted bool
	r, err := e.update(ctx, c.job, func(r *record) error {
		noted = false
		if r.Epoch != c.epoch || !r.live() || r.group(c.task) < 0 {
			return errKeep
		}
		noted = true
		if err := e.checkFollowers(ctx, c, o); err != nil {
			r.end(queue.Failed, err.Error())
			return nil
		}
		r.finish(c.task, o)
		return nil
	})
	switch {
	case c.over(r, err):
		return e.gone(ctx, c)
	case err != nil:
		return err
	case r.live():
		return e.putAfter(ctx, r, c.task, noted)
	case noted:
		return e.ended(ctx, r)
	}
	return e.purgeTasks(ctx, c.job, c.epoch)
}

// putAfter queues tasks that a task's outcome may have opened.
func (e *Engine) putAfter(ctx context.Context, r *record, task string, noted bool) error {
	for _, g := range r.Open {
		// A group with one task left may have reached its Then by this outcome.
		if noted && g.By != task && len(g.Left) > 1 {
			continue
		}
		if err := e.putGroup(ctx, r, g); err != nil {
			return err
		}
	}
	return nil
}

// checkFollowers refuses names that the job has used: their results would be taken for those of
// the new tasks.
func (e *Engine) checkFollowers(ctx context.Context, c claim, o queue.Outcome) error {
	seen := map[string]bool{c.task: true}
	for _, t := range followers(o) {
		if err := checkTask(t); err != nil {
			return fmt.Errorf("after task %s: %w", c.task, err)
		}
		_, err := e.kept(ctx, claim{c.job, c.epoch, t.Name})
		if seen[t.Name] || err == nil {
			return fmt.Errorf("after task %s: the task name %s is already in use", c.task, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// Results implements queue.Engine.
func (e *Engine) Results(ctx context.Context, job string) (map[string]json.RawMessage, error) {
	r, _, err := e.get(ctx, job)
	if err != nil {
		return nil, err
	}
	found := map[string]json.RawMessage{}
	err = e.each(ctx, e.results, resultKey(r.claim(all)), func(s entry) error {
		var k storedOutcome
		err := decode(s, &k)
		found[s.key[strings.LastIndex(s.key, ".")+1:]] = k.Result
		return err
	})
	return found, err
}

// oneLine joins the lines of a reason.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
