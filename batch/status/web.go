// Package status serves the status page of a queue, for people, programs and Prometheus.
//
//	GET  /                       the page: live, or reloaded every ten seconds without JavaScript
//	GET  /events                 changes as Server-Sent Events; see events.go
//	GET  /api/jobs               see List; ?state=failed,running&limit=100&offset=0
//	GET  /api/jobs/ID            a job; see tally.Job
//	GET  /api/jobs/ID/log        the output of its processes; needs Authorization: Bearer TOKEN
//	GET  /api/workers            {"workers":[..]}; see Worker
//	GET  /api/history            see History
//	GET  /healthz                200 if the queue answers, else 503
//	GET  /livez                  200 as long as the process answers
//	GET  /metrics                Prometheus's text format
//	POST /api/jobs/ID/VERB       needs Authorization: Bearer TOKEN; see verbs
//	POST /api/batches/ID/VERB    the same, for the jobs of a batch to which it applies
//	POST /api/batches            the same: submit the job file in the body; ?name=FILE, ?check
//	POST /api/workers/NAME/VERB  the same: pause or resume the workers of a credential, or "all"
//
// Errors are a sentence of plain text.
package status

import (
	"context"
	"net/http"
	"sync"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/site"
)

// Options of a page. The zero value is a read-only page without access control. The functions
// are called from any goroutine and should not block for long.
type Options struct {
	Version string   // of the program
	Token   string   // for changes and logs; "" forbids them
	Viewer  string   // a token for reading alone; may be ""
	Private bool     // reading needs one of the tokens
	Hosts   []string // names of the page besides localhost: its certificate's, or a proxy's

	Tell func(line string) // reports wrong tokens at the terminal; may be nil

	// Retry resubmits a job that failed or was cancelled, Remove removes any job with its files in
	// the store, and Prioritize changes the priority of one that has not ended. The page lacks
	// those that are nil.
	Retry, Remove func(ctx context.Context, id string) error
	Prioritize    func(ctx context.Context, id string, priority int) error

	// PauseWorkers pauses the workers of a credential, or of all for "all", or lets them go on.
	// Paused returns the paused names. Both may be nil.
	PauseWorkers func(ctx context.Context, name string, on bool) error
	Paused       func() []string

	// Requests are the batches that agents run; nil if the queue has no agents.
	Requests queue.Requests

	// Submit submits a job file, or only checks it, and returns the outcome in words. name stands
	// for the file in errors. If Submit is nil, the page takes no batches.
	Submit func(ctx context.Context, name string, document []byte, check bool) (said string, err error)

	// Acted is called after each change: what is its past tense, such as "cancelled", id the job or
	// "worker:NAME". It may be nil.
	Acted func(what, id, title string)

	Note     func() string         // why the work is held up, or ""; may be nil
	Health   func() error          // why the queue is down; may be nil
	Limits   func() []queue.Limit  // usage near its limit; may be nil
	FreeDisk func() (int64, error) // of the outputs' disk; may be nil

	// BadResults counts the refused results of each credential's workers; may be nil.
	BadResults func() map[string]int

	// Sizes returns the bytes that the files of jobs take in the store; may be nil.
	Sizes func() map[string]int64

	// Store returns the bytes that the queue has stored, and may store; may be nil.
	Store func() (used, limit int64, err error)
}

// Queue keeps a copy of the jobs, so that requests do not load the queue. Pages share it.
type Queue struct {
	engine   queue.Engine
	ctx      context.Context
	cancel   context.CancelFunc
	watching sync.WaitGroup

	mu      sync.Mutex
	t       *tally.Tally
	changed chan struct{} // closed at the next change
	live    bool          // all existing jobs have been seen
	down    error         // why the queue is away
	streams chan struct{} // a place for each reader of events
	history history
	removed int // jobs since the watch began

	workersMu sync.Mutex
	workers   []Worker
	raw       []queue.WorkerStatus // the same
	backlog   queue.Backlog        // of all workers
	asked     time.Time
	refused   error
}

// keptDone is how many of the jobs that are done are listed; the others are counted.
const keptDone = 1000

// Follow watches a queue until Close.
func Follow(engine queue.Engine, sums tally.Options) *Queue {
	sums.Keep = keptDone
	q := &Queue{engine: engine, changed: make(chan struct{}), t: tally.New(sums), streams: make(chan struct{}, maxStreams), history: newHistory()}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	q.watching.Go(q.watch)
	return q
}

// Close ends the watch and all streams of the pages.
func (q *Queue) Close() {
	q.cancel()
	q.watching.Wait()
}

type server struct {
	*Queue
	o     Options
	wrong *site.BadTokens // tokens
}

// Handler returns a page.
func (q *Queue) Handler(o Options) http.Handler {
	s := &server{q, o, site.NewBadTokens(o.Tell)}
	return s.guard(s.routes())
}

// retryDelay is the time before the queue is watched again after an error.
const retryDelay = 2 * time.Second

func (q *Queue) watch() {
	for q.ctx.Err() == nil {
		err := q.engine.Watch(q.ctx, q.update, func() { q.change(func() { q.live, q.down = true, nil }) })
		q.change(func() { q.live, q.down = false, err })
		select {
		case <-q.ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

func (q *Queue) update(s queue.Status) {
	q.change(func() {
		now := time.Now()
		before, ok := q.t.Update(now, s)
		var done time.Time
		switch {
		case s.State == queue.Removed:
			q.removed++
		case s.State == queue.Done && !(ok && before.State == queue.Done):
			done = s.Ended
		}
		q.history.add(now, q.t.Counters().Frames, done)
	})
}

// Forget drops a job that is done; see tally.Tally.Forget.
func (q *Queue) Forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.t.Forget(id)
}

// change makes a change and wakes the streams, without waiting for them.
func (q *Queue) change(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
	close(q.changed)
	q.changed = make(chan struct{})
}

type whole struct {
	Totals   tally.Totals `json:"totals"`
	Words    words        `json:"words"`
	Note     string       `json:"note"` // why the work is held up, or ""
	Workers  []Worker     `json:"workers"`
	Paused   []string     `json:"paused"`    // credentials whose workers get no tasks; see Options.PauseWorkers
	Trouble  string       `json:"trouble"`   // why the queue does not answer, or ""
	ReadOnly bool         `json:"read_only"` // the reader can change nothing, even with the token
	Can      []string     `json:"can"`       // see server.can

	Batches     []Batch `json:"batches"`
	MoreBatches int     `json:"more_batches"`
}

func (s *server) whole(by role) whole {
	w := whole{Note: s.note(), ReadOnly: s.o.Token == "" || by == viewer, Can: s.can(), Paused: s.paused()}
	workers, ahead, err := s.askWorkers()
	w.Workers = workers
	w.Batches, w.MoreBatches = s.batches()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Ahead(ahead)
	w.Totals = s.t.Totals(time.Now(), w.Note != "")
	w.Words = wordsOfAll(w.Totals)
	if _, down := s.up(); down != nil {
		err = down
	}
	if err != nil {
		w.Trouble = err.Error()
	}
	return w
}

// up reports whether the queue can be used, and if not, why, if known. s.mu is held.
func (s *server) up() (bool, error) {
	if s.live && s.o.Health != nil {
		if err := s.o.Health(); err != nil {
			return false, err
		}
	}
	return s.live, s.down
}

func (s *server) note() string {
	if s.o.Note == nil {
		return ""
	}
	return s.o.Note()
}

// Worker is a live worker. The JSON names are stable.
type Worker struct {
	Name  string    `json:"name"`
	Sites []string  `json:"sites"` // whose files it reaches
	Any   bool      `json:"any"`   // takes parts of any job
	Slots int       `json:"slots"`
	Busy  int       `json:"busy"` // slots
	GPUs  []string  `json:"gpus"`
	Since time.Time `json:"since"`
	Seen  time.Time `json:"seen"`
	Held  string    `json:"held"` // why it takes no tasks now, or ""

	Draining   bool   `json:"draining"`             // takes no more tasks
	Credential string `json:"credential,omitempty"` // that let it in
}

// askWorkers returns the live workers. It asks the queue once a second at most, and repeats the
// last answer while the queue is away.
func (q *Queue) askWorkers() ([]Worker, queue.Backlog, error) {
	q.workersMu.Lock()
	defer q.workersMu.Unlock()
	if now := time.Now(); q.asked.IsZero() || now.Sub(q.asked) >= time.Second {
		q.asked = now
		ctx, cancel := context.WithTimeout(q.ctx, 2*time.Second)
		defer cancel()
		all, err := q.engine.Workers(ctx)
		if q.refused = err; err == nil {
			q.workers, q.raw, q.backlog = workerViews(all), all, queue.Backlogs(all)
		}
	}
	return q.workers, q.backlog, q.refused
}

// seen adds the size in the store and the workers' reports to jobs.
func (s *server) seen(jobs []tally.Job) []tally.Job {
	_, _, err := s.askWorkers()
	s.workersMu.Lock()
	workers := s.raw
	s.workersMu.Unlock()
	var sizes map[string]int64
	if s.o.Sizes != nil {
		sizes = s.o.Sizes()
	}
	for i := range jobs {
		jobs[i].Stored = sizes[jobs[i].ID]
		if err == nil {
			jobs[i].Wait(workers)
		}
	}
	return jobs
}

func workerViews(all []queue.WorkerStatus) []Worker {
	views := make([]Worker, len(all))
	for i, w := range all {
		views[i] = Worker{w.Name, append([]string{}, w.Sites...), w.Any, w.Slots, w.Busy, append([]string{}, w.GPUs...), w.Since, w.Seen, w.Held, w.Draining, w.Credential}
	}
	return views
}
