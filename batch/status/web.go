// Package status serves the status page of a queue, for people, programs and Prometheus.
//
//	GET  /                       the page: live, or reloaded every ten seconds without JavaScript
//	GET  /events                 changes as Server-Sent Events; see events.go
//	GET  /api/jobs               see List; ?state=failed,running&limit=100&offset=0
//	GET  /api/jobs/ID            a job; see tally.Job
//	GET  /api/workers            {"workers":[..]}; see Worker
//	GET  /healthz                200 if the queue answers, else 503
//	GET  /metrics                Prometheus's text format
//	POST /api/jobs/ID/cancel     needs Authorization: Bearer TOKEN
//	POST /api/jobs/ID/retry      likewise; for jobs that failed or were cancelled
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
)

// Options of a Handler. The zero value is a read-only page without access control. The functions
// are called from any goroutine and should not block for long.
type Options struct {
	Version string   // of the program
	Token   string   // for cancel and retry; "" forbids both
	Private bool     // reading needs the token, too
	Hosts   []string // names of the page besides localhost: its certificate's, or a proxy's

	// Retry resubmits a job that failed or was cancelled. If it is nil, the page cannot retry.
	Retry func(ctx context.Context, id string) error

	Note     func() string         // why the work is held up, or ""; may be nil
	Health   func() error          // why the queue accepts nothing; may be nil
	FreeDisk func() (int64, error) // of the outputs' disk; may be nil

	// Store returns the bytes that the queue has stored, and may store; may be nil.
	Store func() (used, limit int64, err error)

	Sums tally.Options
	Now  func() time.Time // nil is time.Now; must not go back
}

// server keeps a copy of the jobs, so that requests cost the queue nothing.
type server struct {
	engine queue.Engine
	o      Options
	ctx    context.Context

	mu      sync.Mutex
	t       *tally.Tally
	changed chan struct{} // closed at the next change
	live    bool          // all existing jobs have been seen
	down    error         // why the queue is away
	streams chan struct{} // a place for each reader of events

	workersMu sync.Mutex
	workers   []Worker
	backlog   queue.Backlog // of all workers
	asked     time.Time
	refused   error
}

// Handler returns the page of a queue, and a function that ends all streams and stops watching
// the queue.
func Handler(engine queue.Engine, o Options) (http.Handler, func()) {
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{
		engine: engine, o: o, ctx: ctx, changed: make(chan struct{}), t: tally.New(o.Sums),
		streams: make(chan struct{}, maxStreams),
	}
	var watching sync.WaitGroup
	watching.Go(s.watch)
	return s.guard(s.routes()), func() { cancel(); watching.Wait() }
}

// retryDelay is the time before the queue is watched again after an error.
const retryDelay = 2 * time.Second

func (s *server) watch() {
	for s.ctx.Err() == nil {
		err := s.engine.Watch(s.ctx, s.update, func() { s.change(func() { s.live, s.down = true, nil }) })
		s.change(func() { s.live, s.down = false, err })
		select {
		case <-s.ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

func (s *server) update(st queue.Status) {
	s.change(func() { s.t.Update(s.o.Now(), st) })
}

// change makes a change and wakes the streams, without waiting for them.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// whole is the state of the whole.
type whole struct {
	Totals   tally.Totals `json:"totals"`
	Note     string       `json:"note"` // why the work is held up, or ""
	Workers  []Worker     `json:"workers"`
	Trouble  string       `json:"trouble"`   // why the queue does not answer, or ""
	ReadOnly bool         `json:"read_only"` // no cancel and retry
	CanRetry bool         `json:"can_retry"`
}

func (s *server) whole() whole {
	w := whole{Note: s.note(), ReadOnly: s.o.Token == "", CanRetry: s.o.Retry != nil}
	workers, ahead, err := s.askWorkers()
	w.Workers = workers
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Ahead(ahead)
	w.Totals = s.t.Totals(s.o.Now(), w.Note != "")
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
}

// askWorkers returns the live workers. It asks the queue once a second at most, and repeats the
// last answer while the queue is away.
func (s *server) askWorkers() ([]Worker, queue.Backlog, error) {
	s.workersMu.Lock()
	defer s.workersMu.Unlock()
	if now := s.o.Now(); s.asked.IsZero() || now.Sub(s.asked) >= time.Second {
		s.asked = now
		ctx, cancel := context.WithTimeout(s.ctx, 2*time.Second)
		defer cancel()
		all, err := s.engine.Workers(ctx)
		if s.refused = err; err == nil {
			s.workers, s.backlog = workerViews(all), queue.Backlogs(all)
		}
	}
	return s.workers, s.backlog, s.refused
}

func workerViews(all []queue.WorkerStatus) []Worker {
	views := make([]Worker, len(all))
	for i, w := range all {
		views[i] = Worker{w.Name, append([]string{}, w.Sites...), w.Any, w.Slots, w.Busy, append([]string{}, w.GPUs...), w.Since, w.Seen}
	}
	return views
}
