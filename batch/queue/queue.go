// Package queue defines the queue that batches need: jobs made of tasks, which workers on this
// machine or others do. Each task takes effect once, however often a worker, a machine or the
// queue itself is killed.
//
// A job begins with one task. The handler of a task returns an Outcome, which is recorded once:
// if two workers do the same task, the later result is refused. The outcome names the tasks that
// come next. So the queue carries the whole state of a job, and any process can continue it.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Protocol is the version of what machines tell each other: tasks, results, and the requests to a
// queue. Programs whose protocols are between OldestProtocol and Protocol of each other work
// together, whatever their versions.
const (
	Protocol       = 1
	OldestProtocol = 1
)

// Job is a unit of work, as submitted.
type Job struct {
	ID string // permanent name: letters, digits and dashes
	// of everything that decides about the result; the same ID with another digest starts over
	Digest  string
	Title   string // for people: the name of the output
	User    string `json:",omitempty"` // the credential that submitted it; set by the server
	Site    string // location of its files; only workers of this site can use them
	Retries int    // how often a task may be tried again
	// tasks of jobs with one above 0 come before others, but for every fourth
	Priority int             `json:",omitempty"`
	Deaths   int             // its own processes that may die at it; 0 is DefaultDeaths
	Spec     json.RawMessage // for the handlers
	First    Task            // first task; Submit fills in its Job
}

// ownerMark is before a credential's name in the ID of a job that only its holder can submit.
const ownerMark = "--"

// OwnedID returns an ID for jobs of a credential. id must not contain two dashes in a row; with ""
// as the owner the ID is anybody's.
func OwnedID(id, owner string) string {
	if owner == "" {
		return id
	}
	return id + ownerMark + owner
}

// BaseOf returns the ID that OwnedID was given.
func BaseOf(id string) string {
	base, _, _ := strings.Cut(id, ownerMark)
	return base
}

// BatchOf returns the name of the batch that a job's ID belongs to: the end of its base, and the
// owner.
func BatchOf(id string) string {
	base := BaseOf(id)
	return id[strings.LastIndexByte(base, '-')+1:]
}

// Reasons of a cancelled job. One that was cancelled with its batch ends the batch.
const (
	ByHand    = "cancelled by hand"
	WithBatch = "cancelled with its batch"
)

// OwnerOf returns the credential whose jobs can have an ID; ok is false if all credentials' can.
func OwnerOf(id string) (owner string, ok bool) {
	_, owner, ok = strings.Cut(id, ownerMark)
	return owner, ok
}

// DefaultDeaths bounds what a file that kills its processes may cost.
const DefaultDeaths = 3

// CodeMachine is the code of a failure that the only machine may have caused: its processes died at
// other jobs as well, without finishing any.
const CodeMachine = "machine"

// Task is a step of a job.
type Task struct {
	Job     string          `json:"job"`
	Name    string          `json:"name"`           // unique in the job; letters, digits, dashes
	Kind    string          `json:"kind,omitempty"` // in the submitter's terms
	Site    string          `json:"site,omitempty"` // only for workers of this site; "" for all
	Body    json.RawMessage `json:"body,omitempty"`
	Attempt int             `json:"-"` // 1 at first; set for the handler
}

// Outcome is the result of a task's handler.
type Outcome struct {
	// kept under the task's name; see Engine.Results
	Result json.RawMessage `json:"result,omitempty"`
	Next   []Task          `json:"next,omitempty"` // tasks that can be done now
	Then   *Task           `json:"then,omitempty"` // task that can be done after all of Next
	End    bool            `json:"end,omitempty"`  // the job is done, and Result is its result
}

// Handler does a task. ctx ends when the job is cancelled, the worker stops, or the queue has
// taken the task away; the handler then undoes its work. It may be killed at any point. Errors are
// retried with growing delays, unless Permanent or Later wraps them.
type Handler func(ctx context.Context, job Job, t Task, report func(Progress)) (Outcome, error)

type logKey struct{}

// WithLog returns a handler's context whose Log calls f.
func WithLog(ctx context.Context, f func(line string)) context.Context {
	return context.WithValue(ctx, logKey{}, f)
}

// Log adds a line of a task's process to the log of its job. It may be called from any goroutine.
func Log(ctx context.Context, line string) {
	if f, ok := ctx.Value(logKey{}).(func(line string)); ok {
		f(line)
	}
}

// Progress of a task. All counts only grow.
type Progress struct {
	Frames int64   `json:"frames"`
	Total  int64   `json:"total,omitempty"` // 0 if unknown
	FPS    float64 `json:"fps,omitempty"`
	Bytes  int64   `json:"bytes,omitempty"` // written
	Note   string  `json:"note,omitempty"`  // why the task does not progress, for people
}

// State of a job.
type State string

const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed" // jobs in this state are the dead-letter list
	Cancelled State = "cancelled"

	Quarantined State = "quarantined" // failed, since processes died at it

	// Removed is the last state that Watch reports of a job which the queue has forgotten.
	Removed State = "removed"
)

// Ended reports whether this state is final.
func (s State) Ended() bool { return s == Done || s == Cancelled || s.HasFailed() }

// HasFailed reports whether a job in this state has failed, whatever the reason.
func (s State) HasFailed() bool { return s == Failed || s == Quarantined }

// Retryable reports whether a job in this state can be submitted again.
func (s State) Retryable() bool { return s == Cancelled || s.HasFailed() }

// Status is the state of a job and of its active tasks.
type Status struct {
	Job       Job
	State     State
	Reason    string          // of a failure or cancellation; see Explain
	Failure   Failure         `json:",omitzero"` // at which task it failed
	Result    json.RawMessage // if State is Done
	Tasks     int             // known so far
	Finished  int             // of them
	Planned   int             // named by the first task, to be done in any order
	Retried   int             // how often a task was tried again
	Paused    bool            `json:",omitempty"` // its tasks at work are finished, and no other begins
	Submitted time.Time
	Started   time.Time // zero until a worker takes the first task
	Ended     time.Time
	Active    []Active // tasks that workers are doing, sorted by name; not stored
}

// Failure says at which task a job failed. It is zero if no task was to blame.
type Failure struct {
	Task     string
	Kind     string // of the task
	Attempts int    `json:",omitempty"` // how many failed; 0 if the first one settled it
	Code     string `json:",omitempty"` // of the handler's error; see Coded
}

// Explain returns the whole reason of a job's end, for people.
func (s Status) Explain() string {
	reason := s.Reason
	if s.Failure.Task != "" {
		reason = "task " + s.Failure.Task + ": " + reason
	}
	switch n := s.Failure.Attempts; n {
	case 0:
		return reason
	case 1:
		return reason + " (1 attempt)"
	default:
		return fmt.Sprintf("%s (%d attempts)", reason, n)
	}
}

// Active is a task that a worker is doing.
type Active struct {
	Task     string
	Kind     string
	Attempt  int
	Worker   string
	Since    time.Time
	Progress Progress
}

// Worker takes one task per slot at a time.
type Worker struct {
	Name  string   // unique: host and process
	Sites []string // whose files it can reach
	Home  []string `json:"-"` // those of Sites whose tasks only this worker does
	Any   bool     // also takes tasks without a site
	Slots int
	GPUs  []string // for people

	Ahead func() Backlog `json:"-"` // jobs it will submit later; may be nil
	// closed when it should end its tasks and take no more; may be nil
	Drain <-chan struct{} `json:"-"`
	// why it should take no task now, or ""; may be nil
	Hold func() string `json:"-"`

	Version    string `json:",omitempty"` // of its program
	Credential string `json:",omitempty"` // that let it in; set by the server
}

// Limit is something that a queue has too much of at some time.
type Limit struct {
	What       string // in the plural
	Of         string // credential; "" for the whole queue
	Used, Most int64
}

// Part returns how much is used, 0 to 1.
func (l Limit) Part() float64 { return float64(l.Used) / float64(max(1, l.Most)) }

// IsNear reports whether little is left.
func (l Limit) IsNear() bool { return l.Part() >= 0.9 }

func (l Limit) String() string {
	of := ""
	if l.Of != "" {
		of = fmt.Sprintf(" of %q", l.Of)
	}
	return fmt.Sprintf("%d %s%s, of %d allowed", l.Used, l.What, of, l.Most)
}

// Backlog counts jobs that are not in the queue yet: a batch submits a few at a time.
type Backlog struct {
	Jobs  int
	Bytes int64 // of their sources
}

// Backlogs returns the sum of the workers' backlogs.
func Backlogs(all []WorkerStatus) (sum Backlog) {
	for _, w := range all {
		sum.Jobs += w.Backlog.Jobs
		sum.Bytes += w.Backlog.Bytes
	}
	return sum
}

// WorkerStatus is a worker that is alive.
type WorkerStatus struct {
	Worker
	Since   time.Time
	Seen    time.Time `json:"-"` // for the last time
	Busy    int       // slots
	Backlog Backlog

	Draining bool   `json:",omitempty"` // takes no more tasks
	Held     string `json:",omitempty"` // why it takes no tasks now
}

// Serving returns the workers that have the files of a site. Held ones count, and those that drain
// do not.
func Serving(workers []WorkerStatus, site string) (found []WorkerStatus) {
	for _, w := range workers {
		if !w.Draining && slices.Contains(w.Sites, site) {
			found = append(found, w)
		}
	}
	return found
}

// Unserved is why a job waits whose files no worker has.
const Unserved = "no connected worker has its files: run its batch again"

// Engine is the queue. Its methods may be called from any goroutine.
type Engine interface {
	// Submit puts a job in the queue. A job that is there with the same digest is left alone,
	// except that again restarts one that failed or was cancelled; its finished tasks still
	// count. A job with another digest is stopped, forgotten and started over.
	Submit(ctx context.Context, j Job, again bool) error

	// Get returns the status of a job without its active tasks, or ErrNoJob.
	Get(ctx context.Context, id string) (Status, error)

	// Watch calls f with the status of every job, then with each change, in order, until ctx
	// ends. It calls live once f has had all existing jobs. The status of a removed job has only
	// its ID and Removed.
	Watch(ctx context.Context, f func(s Status), live func()) error

	// Cancel ends a job unless it has ended.
	Cancel(ctx context.Context, id, reason string) error

	// Pause pauses a job that has not ended, or with false lets it go on.
	Pause(ctx context.Context, id string, on bool) error

	// Finish ends a job as done, unless it has ended: its output was found done.
	Finish(ctx context.Context, id string, result json.RawMessage) error

	// Forget removes a job that has ended.
	Forget(ctx context.Context, id string) error

	// Work does tasks until ctx ends, and returns after the last handler.
	Work(ctx context.Context, w Worker, h Handler) error

	// Results returns the results of a job's finished tasks, by name.
	Results(ctx context.Context, job string) (map[string]json.RawMessage, error)

	// Log returns the last 64 kB of what the processes of a job have said; the engine may keep it
	// for the latest jobs only. An attempt's part is there after its end.
	Log(ctx context.Context, id string) (string, error)

	// Workers returns the live workers.
	Workers(ctx context.Context) ([]WorkerStatus, error)

	// Blobs returns the store for files in transit between machines.
	Blobs() Blobs

	Close() error
}

// Blobs stores files by name, each whole or not at all.
type Blobs interface {
	Put(ctx context.Context, name string, r io.Reader) error
	Get(ctx context.Context, name string, w io.Writer) error // ErrNoBlob
	Delete(ctx context.Context, name string) error           // no error if it is missing
	List(ctx context.Context, prefix string) ([]string, error)
	Sizes(ctx context.Context) (map[string]int64, error) // bytes by the part of the names before "/"
}

// ErrNoBlob is the error of a file that is not in the store.
var ErrNoBlob = errors.New("queue: no such file in the store")

// ErrStoreFull is the error of a file for which the store has no room now.
var ErrStoreFull = errors.New("queue: the store is full")

// ErrQuota is the error of a job or file that is larger than the queue takes.
var ErrQuota = errors.New("queue: over the quota")

// ErrRefused is the error of a request that the credential does not allow.
var ErrRefused = errors.New("queue: refused")

// ErrNoJob is returned for jobs that the queue does not have.
var ErrNoJob = errors.New("there is no job with this ID")

// ErrOvertaken is the cause of a handler's context if another worker has finished the task.
var ErrOvertaken = errors.New("queue: another worker has done this task")

// ErrCancelled is the cause of a handler's context if the job was cancelled or started over.
var ErrCancelled = errors.New("queue: the job was cancelled")

// marked is the error of a handler with a property.
type marked[property any] struct{ error }

func (m marked[property]) Unwrap() error { return m.error }

// The properties.
type permanent struct{}
type died struct{}
type starved struct{}

// Permanent marks an error that a retry would not change: the job fails at once.
func Permanent(err error) error { return marked[permanent]{err} }

// IsPermanent reports whether Permanent marked err.
func IsPermanent(err error) bool { return errors.As(err, new(marked[permanent])) }

// Died marks the error of a handler whose process died: by a signal, or without progress. After
// Job.Deaths of them the job is quarantined, if the job is to blame and not the machine.
func Died(err error) error { return marked[died]{err} }

// HasDied reports whether Died marked err.
func HasDied(err error) bool { return errors.As(err, new(marked[died])) }

// Starved is Died of a process that was killed for lack of memory. While the worker does other
// tasks beside, the attempt does not count, and the worker does fewer at a time from then on.
func Starved(err error) error { return marked[starved]{Died(err)} }

// HasStarved reports whether Starved marked err.
func HasStarved(err error) bool { return errors.As(err, new(marked[starved])) }

type coded struct {
	error
	code string
}

func (c coded) Unwrap() error { return c.error }

// Coded gives a handler's error a code for programs, kept as Failure.Code if the job fails.
func Coded(code string, err error) error { return coded{err, code} }

// CodeOf returns the code that Coded gave err, or "".
func CodeOf(err error) string {
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	return ""
}

// Postponed is an error that does not count as an attempt: the task is put back for a while.
type Postponed struct {
	Err   error
	Delay time.Duration
}

func (p *Postponed) Error() string { return p.Err.Error() }
func (p *Postponed) Unwrap() error { return p.Err }

// Later returns a Postponed.
func Later(err error, delay time.Duration) error { return &Postponed{err, delay} }

// Each calls f with the status of each job that a queue has now.
func Each(ctx context.Context, e Engine, f func(s Status)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	live := false
	err := e.Watch(ctx, func(s Status) {
		if !live {
			f(s)
		}
	}, func() { live = true; cancel() })
	if live {
		err = nil
	}
	return err
}
