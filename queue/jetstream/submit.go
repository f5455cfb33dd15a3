package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

// Submit is described at queue.Engine.
func (e *Engine) Submit(ctx context.Context, j queue.Job, again bool) error {
	if !isName(j.ID) {
		return fmt.Errorf("queue: job name %q: only letters, digits and dashes", j.ID)
	}
	if err := checkTask(j.First); err != nil {
		return fmt.Errorf("job %s: %w", j.ID, err)
	}
	for {
		r, err := e.submit(ctx, j, again)
		if conflict(err) {
			continue // another was quicker: look again
		}
		if err != nil {
			return err
		}
		if len(r.Old) > 0 {
			if err := e.forgetOld(ctx, r); err != nil {
				return err
			}
		}
		return e.putOpen(ctx, r)
	}
}

func (e *Engine) submit(ctx context.Context, j queue.Job, again bool) (*record, error) {
	r, revision, err := e.get(ctx, j.ID)
	switch {
	case errors.Is(err, errNoJob):
		r := newRecord(j)
		return r, e.write(ctx, r, 0)
	case err != nil:
		return nil, err
	case r.Job.Digest != j.Digest:
		anew := newRecord(j)
		anew.Old = append(slices.Clone(r.Old), r.Epoch)
		return anew, e.write(ctx, anew, revision)
	case again && (r.State == queue.Failed || r.State == queue.Cancelled):
		r.again(j)
		return r, e.write(ctx, r, revision)
	}
	return r, nil
}

// again lets an ended job go on from what it has.
func (r *record) again(j queue.Job) {
	j.First = r.Job.First
	r.Job = j
	r.State, r.Reason = queue.Queued, ""
	r.Ended = time.Time{}
	r.Round++
	if len(r.Open) == 0 { // its tasks led nowhere: from the start
		r.Old = append(r.Old, r.Epoch)
		anew := newRecord(j)
		r.Epoch, r.Open, r.Tasks, r.Finished = anew.Epoch, anew.Open, anew.Tasks, 0
	}
}

// forgetOld removes what earlier epochs left. It can be done again at any time.
func (e *Engine) forgetOld(ctx context.Context, r *record) error {
	for _, epoch := range r.Old {
		if err := e.forget(ctx, r.Job.ID, epoch); err != nil {
			return err
		}
	}
	old := r.Old
	_, err := e.update(ctx, r.Job.ID, func(r *record) error {
		if len(r.Old) == 0 {
			return errKeep
		}
		r.Old = slices.DeleteFunc(r.Old, func(s string) bool { return slices.Contains(old, s) })
		return nil
	})
	return err
}

// forget stops an epoch and removes its messages and results.
func (e *Engine) forget(ctx context.Context, job, epoch string) error {
	e.tell(eventStop, claim{job, epoch, "job"}, nil)
	if err := e.purgeTasks(ctx, job, epoch); err != nil {
		return err
	}
	s, err := e.js.Stream(ctx, "KV_"+e.names.results())
	if err != nil {
		return err
	}
	for _, kind := range []string{"r", "t"} {
		subject := "$KV." + e.names.results() + "." + kind + "." + claim{job, epoch, all}.String()
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: job %s: removing results: %w", job, err)
		}
	}
	return nil
}

// purgeTasks takes the tasks of an epoch out of the queue.
func (e *Engine) purgeTasks(ctx context.Context, job, epoch string) error {
	subject := e.names.task(all, all, job, epoch, all)
	if err := e.tasks.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return fmt.Errorf("queue: job %s: removing tasks: %w", job, err)
	}
	return nil
}

// putOpen puts what is open of a job in the queue; what is there stays as it is.
func (e *Engine) putOpen(ctx context.Context, r *record) error {
	if !r.live() {
		return nil
	}
	for _, g := range r.Open {
		if err := e.putGroup(ctx, r, g); err != nil {
			return err
		}
	}
	return nil
}

// putGroup puts the tasks of a group in the queue.
func (e *Engine) putGroup(ctx context.Context, r *record, g group) error {
	tasks := []queue.Task{r.Job.First}
	if g.By != "" {
		kept, err := e.kept(ctx, r.claim(g.By))
		if err != nil {
			return fmt.Errorf("queue: job %s: what comes after %s: %w", r.Job.ID, g.By, err)
		}
		tasks = followers(kept.Outcome)
	}
	for _, t := range tasks {
		if !slices.Contains(g.Left, t.Name) {
			continue
		}
		if err := e.put(ctx, r, t); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) put(ctx context.Context, r *record, t queue.Task) error {
	t.Job = r.Job.ID
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	class := classOn
	if t.Name == r.Job.First.Name {
		class = classNew
	}
	site := siteToken(t.Site)
	c := r.claim(t.Name)
	_, err = e.js.PublishMsg(ctx, &nats.Msg{Subject: e.names.task(class, site, c.job, c.epoch, c.task), Data: b})
	if isThere(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("queue: job %s: task %s: %w", r.Job.ID, t.Name, err)
	}
	e.tell(eventPut, c, []byte(site))
	return nil
}

// isThere says that a message with the subject is in the stream already.
func isThere(err error) bool {
	const maxMessagesPerSubject = 10077 // JSStreamStoreFailed, with the store's words
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == maxMessagesPerSubject && api.Description == "maximum messages per subject exceeded"
}

// Cancel is described at queue.Engine.
func (e *Engine) Cancel(ctx context.Context, id, reason string) error {
	err := e.end(ctx, id, queue.Cancelled, reason, func(*record) bool { return true })
	if errors.Is(err, errNoJob) {
		return fmt.Errorf("queue: no job %s", id)
	}
	return err
}

// end ends a job that has not ended, if that says so of its record.
func (e *Engine) end(ctx context.Context, id string, s queue.State, reason string, that func(r *record) bool) error {
	r, err := e.update(ctx, id, func(r *record) error {
		if !r.live() || !that(r) {
			return errKeep
		}
		r.end(s, reason)
		return nil
	})
	if err != nil || r.live() || !that(r) {
		return err
	}
	// Also for one that had ended: whoever ended it may have been killed here.
	e.tell(eventStop, r.claim("job"), nil)
	return e.purgeTasks(ctx, id, r.Epoch)
}
