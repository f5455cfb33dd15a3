// Package queue is what the batch mode asks of a queue: jobs that consist of tasks, done by workers on this machine or others, each
// task once in effect however often a worker, a machine or the queue itself is killed.
//
// A job begins with one task. What a task's handler returns, its Outcome, is recorded once: of two workers that did the same task,
// the later one is told so and its work counts for nothing. The outcome says which tasks come next, so the queue carries the
// whole state of a job, and any process may go on with it.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Job is something to be done, as submitted.
type Job struct {
	ID      string          // names the job for good: letters, digits and dashes
	Digest  string          // of all that decides about the result; the same ID with another digest is begun anew
	Title   string          // for people: the output's name
	Site    string          // where its files are: tasks that need them run only on workers of this site
	Retries int             // how often a task may be tried again
	Spec    json.RawMessage // what handlers need to know
	First   Task            // what it begins with; Job is filled in by Submit
}

// Task is a step of a job.
type Task struct {
	Job     string          `json:"job"`
	Name    string          `json:"name"`           // unique in the job: letters, digits and dashes
	Site    string          `json:"site,omitempty"` // only for workers of this site; "" for all
	Body    json.RawMessage `json:"body,omitempty"`
	Attempt int             `json:"-"` // 1 at first; set for the handler
}

// Outcome is what a task's handler returns when the task is done.
type Outcome struct {
	Result json.RawMessage `json:"result,omitempty"` // kept under the task's name, see Engine.Results
	Next   []Task          `json:"next,omitempty"`   // what can be done now
	Then   *Task           `json:"then,omitempty"`   // what can be done when all of Next is
	End    bool            `json:"end,omitempty"`    // the job is done, and Result is its result
}

// Handler does a task. ctx ends when the job is cancelled, the worker is to stop, or the queue has taken the task away; whatever it began is
// to be undone then. It calls report as it gets on, and may be killed at any point. An error is tried again, with
// growing delays, unless Permanent or Later wraps it.
type Handler func(ctx context.Context, job Job, t Task, report func(Progress)) (Outcome, error)

// Progress of a task. All counts only grow.
type Progress struct {
	Frames int64   `json:"frames"`
	Total  int64   `json:"total,omitempty"` // 0 when not known
	FPS    float64 `json:"fps,omitempty"`
	Bytes  int64   `json:"bytes,omitempty"` // written
	Note   string  `json:"note,omitempty"`  // why nothing goes on, for people; "" as a rule
}

// State of a job.
type State string

// The states.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed" // the dead-letter list is the jobs in this state
	Cancelled State = "cancelled"
)

// Ended says that nothing more happens in this state.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// Status of a job: what the queue keeps of it, and what its tasks do at the moment.
type Status struct {
	Job       Job
	State     State
	Reason    string          // why it failed or was cancelled
	Result    json.RawMessage // of a job that is done
	Tasks     int             // known so far
	Finished  int             // of them
	Retried   int             // how often a task was tried again
	Submitted time.Time
	Started   time.Time // zero until a worker took the first task
	Ended     time.Time
	Active    []Active // what is at work on it just now, in the order of names; not kept
}

// Active is a task in the hands of a worker.
type Active struct {
	Task     string
	Attempt  int
	Worker   string
	Since    time.Time
	Progress Progress
}

// Worker is who works: a slot takes one task at a time.
type Worker struct {
	Name  string   // unique, for people: host and process
	Sites []string // whose files it can reach
	Any   bool     // takes tasks without a site, too
	Slots int
	GPUs  []string // for people
}

// WorkerStatus is a worker that is alive.
type WorkerStatus struct {
	Worker
	Since, Seen time.Time
	Busy        int // slots
}

// Engine is the queue. Its methods may be called from any goroutine.
type Engine interface {
	// Submit puts a job in the queue. One that is there with the same digest is left alone, but for one that failed or was cancelled if
	// again is set: what it has finished still counts. One with another digest is stopped, forgotten and begun anew.
	Submit(ctx context.Context, j Job, again bool) error

	// Watch calls f with the status of every job, then with each change, in order, until ctx ends; live says that f has had all that were there.
	Watch(ctx context.Context, f func(s Status), live func()) error

	// Cancel ends a job that has not ended.
	Cancel(ctx context.Context, id, reason string) error

	// Work does tasks until ctx ends. It returns when the last handler has.
	Work(ctx context.Context, w Worker, h Handler) error

	// Results returns what the finished tasks of a job left, by name.
	Results(ctx context.Context, job string) (map[string]json.RawMessage, error)

	// Workers returns who is alive.
	Workers(ctx context.Context) ([]WorkerStatus, error)

	// Blobs returns the store for files on their way between machines.
	Blobs() Blobs

	Close() error
}

// Blobs keeps files by name. A file is there whole or not at all.
type Blobs interface {
	Put(ctx context.Context, name string, r io.Reader) error
	Get(ctx context.Context, name string, w io.Writer) error // ErrNoBlob
	Delete(ctx context.Context, name string) error           // one that is not there is no error
	List(ctx context.Context, prefix string) ([]string, error)
}

// ErrNoBlob is the error of a file that is not in the store.
var ErrNoBlob = errors.New("queue: no such file in the store")

// ErrTwin is the cause of the context of a handler whose task another worker has finished.
var ErrTwin = errors.New("queue: another worker has done this task")

// ErrCancelled is the cause of the context of a handler whose job was cancelled or begun anew.
var ErrCancelled = errors.New("queue: the job was cancelled")

type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error that another attempt would meet again: the job fails at once.
func Permanent(err error) error { return permanent{err} }

// IsPermanent says whether Permanent marked err.
func IsPermanent(err error) bool { return errors.As(err, new(permanent)) }

// Postponed is an error that says nothing against the task: it is put back for a while, and no attempt is counted.
type Postponed struct {
	Err   error
	Delay time.Duration
}

func (p *Postponed) Error() string { return p.Err.Error() }
func (p *Postponed) Unwrap() error { return p.Err }

// Later wraps an error into a Postponed.
func Later(err error, delay time.Duration) error { return &Postponed{err, delay} }
