package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

// record is what the queue keeps of a job.
type record struct {
	queue.Status
	Epoch string   `json:"epoch"`           // names the job's results and messages; another one when the job is begun anew
	Round int      `json:"round,omitempty"` // how often it was submitted again
	Open  []group  `json:"open,omitempty"`  // what is to be done, or being done
	Old   []string `json:"old,omitempty"`   // epochs whose results may still be there
}

// group is tasks that one outcome named.
type group struct {
	By   string   `json:"by,omitempty"`   // the task whose outcome it was; "" for the job's first
	Left []string `json:"left"`           // those without a result
	Then string   `json:"then,omitempty"` // comes when none is left
}

func newRecord(j queue.Job) *record {
	j.First.Job = j.ID
	return &record{
		Status: queue.Status{Job: j, State: queue.Queued, Tasks: 1, Submitted: time.Now().UTC()},
		Epoch:  newID(),
		Open:   []group{{Left: []string{j.First.Name}}},
	}
}

func (r *record) live() bool { return !r.State.Ended() }

func (r *record) claim(task string) claim { return claim{r.Job.ID, r.Epoch, task} }

func (r *record) group(task string) int {
	return slices.IndexFunc(r.Open, func(g group) bool { return slices.Contains(g.Left, task) })
}

// finish notes the outcome of a task that is open.
func (r *record) finish(task string, o queue.Outcome) {
	i := r.group(task)
	g := &r.Open[i]
	g.Left = slices.DeleteFunc(slices.Clone(g.Left), func(n string) bool { return n == task })
	if len(g.Left) == 0 && g.Then != "" {
		g.Left, g.Then = []string{g.Then}, ""
	}
	if len(g.Left) == 0 {
		r.Open = slices.Delete(r.Open, i, i+1)
	}
	r.Finished++
	if next, ok := groupOf(task, o); ok {
		r.Open = append(r.Open, next)
	}
	for range followers(o) {
		r.Tasks++
	}
	switch {
	case o.End:
		r.end(queue.Done, "")
		r.Result, r.Open = o.Result, nil
	case len(r.Open) == 0:
		r.end(queue.Failed, fmt.Sprintf("no task was left after %s, which did not end the job", task))
	}
}

func (r *record) end(s queue.State, reason string) {
	r.State, r.Reason, r.Ended = s, oneLine(reason), time.Now().UTC()
}

func groupOf(task string, o queue.Outcome) (g group, ok bool) {
	g.By = task
	for _, t := range o.Next {
		g.Left = append(g.Left, t.Name)
	}
	if o.Then != nil {
		g.Then = o.Then.Name
	}
	if len(g.Left) == 0 && g.Then != "" {
		g.Left, g.Then = []string{g.Then}, ""
	}
	return g, len(g.Left) > 0
}

// followers are all tasks that an outcome names.
func followers(o queue.Outcome) []queue.Task {
	if o.Then == nil {
		return o.Next
	}
	return append(slices.Clone(o.Next), *o.Then)
}

func decodeRecord(b []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("queue: a job's record cannot be read: %w", err)
	}
	for _, raw := range []*json.RawMessage{&r.Job.Spec, &r.Result} {
		if string(*raw) == "null" {
			*raw = nil
		}
	}
	return r, nil
}

var errNoJob = errors.New("queue: no such job")

// get returns a job's record and its revision.
func (e *Engine) get(ctx context.Context, id string) (*record, uint64, error) {
	entry, err := e.jobs.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, errNoJob
	}
	if err != nil {
		return nil, 0, fmt.Errorf("queue: job %s: %w", id, err)
	}
	r, err := decodeRecord(entry.Value())
	return r, entry.Revision(), err
}

// errKeep is returned by a change that changes nothing.
var errKeep = errors.New("queue: nothing to change")

// update changes a job's record; change is called again when another was quicker.
func (e *Engine) update(ctx context.Context, id string, change func(r *record) error) (*record, error) {
	for {
		r, revision, err := e.get(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(r); errors.Is(err, errKeep) {
			return r, nil
		} else if err != nil {
			return nil, err
		}
		err = e.write(ctx, r, revision)
		if !conflict(err) {
			return r, err
		}
	}
}

// write stores a record whose key has that revision; 0 for a new one.
func (e *Engine) write(ctx context.Context, r *record, revision uint64) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = e.jobs.Create(ctx, r.Job.ID, b)
	} else {
		_, err = e.jobs.Update(ctx, r.Job.ID, b, revision)
	}
	if err != nil && !conflict(err) {
		return fmt.Errorf("queue: job %s: %w", r.Job.ID, err)
	}
	return err
}

func conflict(err error) bool {
	if errors.Is(err, jetstream.ErrKeyExists) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
