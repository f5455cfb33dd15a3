package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// record is the stored state of a job.
type record struct {
	queue.Status
	// names the job's results and messages; changes when the job is started over
	Epoch string   `json:"epoch"`
	Round int      `json:"round,omitempty"` // counts retries of the job
	Open  []group  `json:"open,omitempty"`  // tasks to do, or being done
	Old   []string `json:"old,omitempty"`   // epochs that may still have results

	Lost map[string]taskFailures `json:"lost,omitempty"` // this round's, by task, of those that are not done
}

// group is the tasks named by one outcome.
type group struct {
	By   string   `json:"by,omitempty"`   // task of the outcome; "" for the job's first task
	Left []string `json:"left"`           // tasks without a result
	Then string   `json:"then,omitempty"` // follows when all are done
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

// over reports whether the task's epoch has ended, by its job's record or the error of reading it.
func (c claim) over(r *record, err error) bool {
	return errors.Is(err, queue.ErrNoJob) || err == nil && r.Epoch != c.epoch
}

func (r *record) group(task string) int {
	return slices.IndexFunc(r.Open, func(g group) bool { return slices.Contains(g.Left, task) })
}

// finish records the outcome of an open task.
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
	delete(r.Lost, task)
	if task == r.Job.First.Name {
		r.Planned = len(o.Next)
	}
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
		r.end(queue.Failed, fmt.Sprintf("the task %s left no task and did not end the job", task))
	}
}

func (r *record) end(s queue.State, reason string) {
	r.State, r.Reason, r.Ended, r.Paused = s, oneLine(reason), time.Now().UTC(), false
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

// followers returns all tasks that an outcome names.
func followers(o queue.Outcome) []queue.Task {
	if o.Then == nil {
		return o.Next
	}
	return append(slices.Clone(o.Next), *o.Then)
}

// decodeRecord decodes the record under a key. A malformed one reads as a failed job: anybody
// with credentials can write there, which must not stop workers or hide other jobs. Submit
// replaces it.
func decodeRecord(key string, b []byte) *record {
	r := new(record)
	err := json.Unmarshal(b, r)
	if err == nil {
		err = r.check(key)
	}
	if err != nil {
		return &record{Status: queue.Status{
			Job: queue.Job{ID: key}, State: queue.Failed, Reason: oneLine("the job's record in the queue is malformed: " + err.Error()),
		}}
	}
	for _, raw := range []*json.RawMessage{&r.Job.Spec, &r.Result} {
		if string(*raw) == "null" {
			*raw = nil
		}
	}
	return r
}

// malformed reports whether decodeRecord has replaced the record.
func (r *record) malformed() bool { return r.Epoch == "" }

// mostCount limits all counts in a record.
const mostCount = 1 << 24

// check refuses records that Submit and outcomes cannot have written.
func (r *record) check(key string) error {
	if r.Job.ID != key {
		return fmt.Errorf("it names the job %q", r.Job.ID)
	}
	names := append([]string{r.Job.ID, r.Job.First.Name, r.Epoch}, r.Old...)
	for _, g := range r.Open {
		names = append(names, g.Left...)
		for _, n := range []string{g.By, g.Then} {
			if n != "" {
				names = append(names, n)
			}
		}
	}
	if i := slices.IndexFunc(names, func(n string) bool { return !isName(n) }); i >= 0 {
		return fmt.Errorf("%q is no name of a job, a task or an epoch", names[i])
	}
	counts := []int{r.Job.Retries, r.Job.Deaths, r.Tasks, r.Finished, r.Planned, r.Retried, r.Round, r.Failure.Attempts}
	for _, l := range r.Lost {
		counts = append(counts, l.N)
	}
	for _, n := range counts {
		if n < 0 || n > mostCount {
			return fmt.Errorf("%d is out of range", n)
		}
	}
	if !slices.Contains([]queue.State{queue.Queued, queue.Running, queue.Done, queue.Failed, queue.Quarantined, queue.Cancelled}, r.State) {
		return fmt.Errorf("%q is no state", r.State)
	}
	return nil
}

// errMalformed is wrapped by the errors of entries that no worker has written.
var errMalformed = errors.New("queue: a malformed entry")

// decode decodes an entry of the bucket of results.
func decode(entry interface {
	Key() string
	Value() []byte
}, v any) error {
	if err := json.Unmarshal(entry.Value(), v); err != nil {
		return fmt.Errorf("%w: %s: %w", errMalformed, entry.Key(), err)
	}
	return nil
}

// get returns a job's record and its revision.
func (e *Engine) get(ctx context.Context, id string) (*record, uint64, error) {
	entry, err := e.jobs.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, fmt.Errorf("%w: %s", queue.ErrNoJob, id)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("queue: job %s: %w", id, err)
	}
	return decodeRecord(id, entry.Value()), entry.Revision(), nil
}

// Get implements queue.Engine.
func (e *Engine) Get(ctx context.Context, id string) (queue.Status, error) {
	if !isName(id) {
		return queue.Status{}, fmt.Errorf("%w: %q", queue.ErrNoJob, id)
	}
	r, _, err := e.get(ctx, id)
	if err != nil {
		return queue.Status{}, err
	}
	return r.Status, nil
}

// errKeep is returned by a change without effect.
var errKeep = errors.New("queue: nothing to change")

// update changes a job's record. It calls change again after a conflict.
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

// write stores a record if the key still has the revision; 0 creates it.
func (e *Engine) write(ctx context.Context, r *record, revision uint64) error {
	err := e.store(ctx, e.jobs, r.Job.ID, r, revision)
	if err != nil && !conflict(err) {
		return fmt.Errorf("queue: job %s: %w", r.Job.ID, err)
	}
	if err == nil {
		e.publishEvent(eventChange, r.claim("job"), nil)
	}
	return err
}

// store writes an entry if its key still has the revision; 0 creates it. An entry that cannot be
// read, since the disk has spoiled it, counts as missing.
func (e *Engine) store(ctx context.Context, to bucket, key string, v any, revision uint64) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if revision != 0 {
		_, err = to.Update(ctx, key, b, revision)
		return err
	}
	if _, err = to.Create(ctx, key, b); !conflict(err) {
		return err
	}
	if _, unreadable := to.Get(ctx, key); !errors.Is(unreadable, jetstream.ErrKeyNotFound) {
		return err
	}
	e.o.Log.Warn(fmt.Sprintf("queue: the entry %s of %s is spoiled, and counts as none", key, to.Bucket()))
	if err := to.erase(ctx, key); err != nil {
		return err
	}
	_, err = to.Create(ctx, key, b)
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
