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

	"vidfilter/batch/queue"
)

// Submit implements queue.Engine.
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
			continue // a conflict: look again
		}
		if err != nil {
			return err
		}
		if err := e.forgetOld(ctx, r); err != nil {
			return err
		}
		err = e.putOpen(ctx, r)
		if !errors.Is(err, errNoResult) && !errors.Is(err, errMalformed) {
			return err
		}
		// The disk has lost or spoiled the result that names the next tasks.
		e.o.Log.Warn(err.Error() + ": starting over")
		if err := e.startOver(ctx, j, r.Epoch); err != nil {
			return err
		}
	}
}

// startOver replaces the record of a job that cannot go on, if it has not changed since.
func (e *Engine) startOver(ctx context.Context, j queue.Job, epoch string) error {
	_, err := e.update(ctx, j.ID, func(r *record) error {
		if r.Epoch != epoch {
			return errKeep
		}
		*r = *r.anew(j)
		return nil
	})
	return err
}

func (e *Engine) submit(ctx context.Context, j queue.Job, again bool) (*record, error) {
	r, revision, err := e.get(ctx, j.ID)
	switch {
	case err != nil && !errors.Is(err, queue.ErrNoJob):
		return nil, err
	case err != nil, r.malformed():
		r := newRecord(j)
		return r, e.write(ctx, r, revision)
	case r.Job.Digest != j.Digest:
		r = r.anew(j)
		return r, e.write(ctx, r, revision)
	case again && r.State.Retryable():
		r.again(j)
		return r, e.write(ctx, r, revision)
	}
	return r, nil
}

func (r *record) anew(j queue.Job) *record {
	next := newRecord(j)
	next.Old = append(slices.Clone(r.Old), r.Epoch)
	return next
}

// again restarts an ended job, which keeps its finished tasks.
func (r *record) again(j queue.Job) {
	j.First = r.Job.First
	r.Job = j
	r.State, r.Reason, r.Failure = queue.Queued, "", queue.Failure{}
	r.Ended = time.Time{}
	r.Round++
	r.Lost = nil
	if len(r.Open) == 0 { // no task is left: from the start
		r.Old = append(r.Old, r.Epoch)
		anew := newRecord(j)
		r.Epoch, r.Open, r.Tasks, r.Finished, r.Planned = anew.Epoch, anew.Open, anew.Tasks, 0, 0
	}
}

// forgetOld removes the leftovers of earlier epochs. It is idempotent.
func (e *Engine) forgetOld(ctx context.Context, r *record) error {
	if len(r.Old) == 0 {
		return nil
	}
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

// Forget removes a job that has ended. If it was submitted again meanwhile, nothing happens.
func (e *Engine) Forget(ctx context.Context, id string) error {
	r, revision, err := e.get(ctx, id)
	switch {
	case errors.Is(err, queue.ErrNoJob):
		return nil
	case err != nil:
		return err
	case r.live():
		return fmt.Errorf("queue: job %s has not ended", id)
	}
	for _, epoch := range append(r.Old, r.Epoch) {
		if err := e.forget(ctx, id, epoch); err != nil {
			return err
		}
	}
	if err := e.logs.erase(ctx, id); err != nil {
		return err
	}
	// Watches hear of it by a marker, which Sweep removes later.
	e.forgets.Store(true)
	err = e.jobs.Purge(ctx, id, jetstream.LastRevision(revision))
	if conflict(err) {
		return nil
	}
	e.publishEvent(eventChange, r.claim("job"), nil)
	return err
}

// forget stops an epoch and removes its messages and results.
func (e *Engine) forget(ctx context.Context, job, epoch string) error {
	e.publishEvent(eventStop, claim{job, epoch, "job"}, nil)
	if err := e.purgeTasks(ctx, job, epoch); err != nil {
		return err
	}
	tasks := claim{job, epoch, all}
	for _, keys := range []string{resultKey(tasks), triesKey(tasks)} {
		if err := e.results.erase(ctx, keys); err != nil {
			return fmt.Errorf("queue: job %s: removing results: %w", job, err)
		}
	}
	return nil
}

// purgeTasks removes the tasks of an epoch from the queue.
func (e *Engine) purgeTasks(ctx context.Context, job, epoch string) error {
	subject := e.names.task(all, all, job, epoch, all)
	return wrapf(e.tasks.Purge(ctx, jetstream.WithPurgeSubject(subject)), "queue: job %s: removing tasks", job)
}

// putOpen queues the open tasks of a job; those in the queue stay.
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

func (e *Engine) putGroup(ctx context.Context, r *record, g group) error {
	tasks := []queue.Task{r.Job.First}
	if g.By != "" {
		kept, err := e.kept(ctx, r.claim(g.By))
		if err != nil {
			return fmt.Errorf("queue: job %s: tasks after %s: %w", r.Job.ID, g.By, err)
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
	if r.Paused {
		return nil
	}
	t.Job = r.Job.ID
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	class := classOn
	switch {
	case r.Job.Priority > 0:
		class = classFirst
	case t.Name == r.Job.First.Name:
		class = classNew
	}
	site := e.token(r.Job.User, t.Site)
	c := r.claim(t.Name)
	m := &nats.Msg{Subject: e.names.task(class, site, c.job, c.epoch, c.task), Data: b}
	for range 3 { // the message in place may be purged, as its job ended, after the refusal
		_, err = e.js.PublishMsg(ctx, m)
		if !isStoreFailure(err) {
			break
		}
		if e.isThere(ctx, c) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("queue: job %s: task %s: %w", r.Job.ID, t.Name, err)
	}
	e.publishEvent(eventPut, c, []byte(site))
	return nil
}

// isStoreFailure reports whether the server refused to store a message. Among other things, that
// happens if the stream has a message with this subject.
func isStoreFailure(err error) bool {
	const streamStoreFailed = 10077 // JSStreamStoreFailedF
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == streamStoreFailed
}

// isThere reports whether the stream has a message for a task, or had one: a worker may finish the
// task between a refusal and this call.
func (e *Engine) isThere(ctx context.Context, c claim) bool {
	info, err := e.tasks.Info(ctx, jetstream.WithSubjectFilter(e.names.task(all, all, c.job, c.epoch, c.task)))
	if err == nil && len(info.State.Subjects) > 0 {
		return true
	}
	_, err = e.kept(ctx, c)
	return err == nil
}

// Cancel implements queue.Engine.
func (e *Engine) Cancel(ctx context.Context, id, reason string) error {
	return e.end(ctx, id, always, func(r *record) { r.end(queue.Cancelled, reason) })
}

// Pause implements queue.Engine. The tasks of a paused job leave the queue when workers reach them.
func (e *Engine) Pause(ctx context.Context, id string, on bool) error {
	r, err := e.changeLive(ctx, id, func(r *record) { r.Paused = on })
	if err != nil {
		return err
	}
	return e.putOpen(ctx, r)
}

// Prioritize changes the priority of a job that has not ended. Its waiting tasks move to the
// consumers of their new class. Tasks at work go on, since a worker that gets such a task again
// gives it back.
func (e *Engine) Prioritize(ctx context.Context, id string, priority int) error {
	r, err := e.changeLive(ctx, id, func(r *record) { r.Job.Priority = priority })
	if err == nil {
		err = e.purgeTasks(ctx, id, r.Epoch)
	}
	if err != nil {
		return err
	}
	return e.putOpen(ctx, r)
}

func (e *Engine) changeLive(ctx context.Context, id string, change func(r *record)) (*record, error) {
	return e.update(ctx, id, func(r *record) error {
		if !r.live() {
			return fmt.Errorf("job %s has already ended: it is %s", id, r.State)
		}
		change(r)
		return nil
	})
}

// Finish implements queue.Engine.
func (e *Engine) Finish(ctx context.Context, id string, result json.RawMessage) error {
	return e.end(ctx, id, always, func(r *record) {
		r.end(queue.Done, "")
		r.Result, r.Open = result, nil
	})
}

func always(*record) bool { return true }

// end calls finish, which ends the job, unless it has ended or applies returns false.
func (e *Engine) end(ctx context.Context, id string, applies func(*record) bool, finish func(*record)) error {
	r, err := e.update(ctx, id, func(r *record) error {
		if !r.live() || !applies(r) {
			return errKeep
		}
		finish(r)
		return nil
	})
	if err != nil || r.live() || !applies(r) || r.malformed() {
		return err
	}
	// Also for a job that had ended before: its worker may have been killed here.
	return e.ended(ctx, r)
}

// ended stops the tasks of a job that has ended, and removes them from the queue. If the job was
// submitted again meanwhile, and found its tasks in place, they are queued again.
func (e *Engine) ended(ctx context.Context, r *record) error {
	e.publishEvent(eventStop, r.claim("job"), nil)
	if err := e.purgeTasks(ctx, r.Job.ID, r.Epoch); err != nil {
		return err
	}
	now, _, err := e.get(ctx, r.Job.ID)
	switch {
	case errors.Is(err, queue.ErrNoJob):
		return nil
	case err != nil || now.Epoch != r.Epoch:
		return err
	}
	return e.putOpen(ctx, now)
}
