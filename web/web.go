// Package web is the status page of a queue: who works on what, how far it is, and the same for programs and for Prometheus.
//
//	GET  /                       the page: live where there is JavaScript, else loaded again every ten seconds
//	GET  /events                 what changes, as Server-Sent Events; see events.go
//	GET  /api/jobs               {"count":..,"jobs":[..],"totals":{..},"note":".."}; ?state=failed,running&limit=100&offset=0
//	GET  /api/jobs/ID            a job, see tally.Job
//	GET  /api/workers            {"workers":[..]}, see Worker
//	GET  /healthz                200 as long as the queue answers, else 503
//	GET  /metrics                Prometheus's text format
//	POST /api/jobs/ID/cancel     with Authorization: Bearer TOKEN
//	POST /api/jobs/ID/retry      as well; for jobs that failed or were cancelled
//
// Errors are a sentence of plain text.
package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"vidfilter/internal/tally"
	"vidfilter/queue"
)

// Options of a Handler. The zero value is a page that is read-only and open to who can reach it. The functions are called from
// any goroutine and should not block for long.
type Options struct {
	Version string   // of the program
	Token   string   // who knows it may cancel and retry; "": nobody may
	Private bool     // reading needs the token, too; without a Token nobody can read
	Hosts   []string // names beside localhost under which the page may be asked for on a loopback address: those of a proxy

	// Retry puts a job that failed or was cancelled in the queue again. nil: this cannot be done here.
	Retry func(ctx context.Context, id string) error

	Note     func() string         // what holds the whole up, "" for nothing; may be nil
	FreeDisk func() (int64, error) // bytes free where outputs are written; may be nil

	Weigh  func(queue.Job) int64    // see tally.Options
	Frames func(queue.Status) int64 // see tally.Options

	Now func() time.Time // nil is time.Now; must not go back
}

// server keeps what the queue has said. No request asks the queue for jobs, so that many of them, or slow ones, cost it nothing.
type server struct {
	engine queue.Engine
	o      Options
	ctx    context.Context

	mu      sync.Mutex
	t       *tally.Tally
	changed chan struct{} // closed at the next change
	live    bool          // all that was there has been seen
	down    error         // why nothing comes from the queue
	streams int

	workersMu sync.Mutex
	workers   []Worker
	asked     time.Time
	refused   error
}

// Handler returns the page of a queue, and what stops it: that ends all streams, and returns when the queue is no longer watched.
func Handler(engine queue.Engine, o Options) (http.Handler, func()) {
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{engine: engine, o: o, ctx: ctx, changed: make(chan struct{}),
		t: tally.New(tally.Options{Weigh: o.Weigh, Frames: o.Frames})}
	var watching sync.WaitGroup
	watching.Go(s.watch)
	return s.guard(s.routes()), func() { cancel(); watching.Wait() }
}

// patience is the time before a queue that has gone away is asked again.
const patience = 2 * time.Second

func (s *server) watch() {
	for s.ctx.Err() == nil {
		err := s.engine.Watch(s.ctx, s.update, func() { s.change(func() { s.live, s.down = true, nil }) })
		s.change(func() { s.live, s.down = false, err })
		select {
		case <-s.ctx.Done():
		case <-time.After(patience):
		}
	}
}

func (s *server) update(st queue.Status) {
	s.change(func() { s.t.Update(s.o.Now(), st) })
}

// change makes a change and wakes those who wait for one. It waits for nobody.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// whole is what is shown of the whole.
type whole struct {
	Totals   tally.Totals `json:"totals"`
	Note     string       `json:"note"` // what holds the whole up, "" for nothing
	Workers  []Worker     `json:"workers"`
	Trouble  string       `json:"trouble"`   // why the queue does not answer, "" as a rule
	ReadOnly bool         `json:"read_only"` // nobody may cancel or retry
	CanRetry bool         `json:"can_retry"`
}

func (s *server) whole() whole {
	w := whole{Note: s.note(), ReadOnly: s.o.Token == "", CanRetry: s.o.Retry != nil}
	workers, err := s.askWorkers()
	w.Workers = workers
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Totals = s.t.Totals(s.o.Now(), w.Note != "")
	if s.down != nil {
		err = s.down
	}
	if err != nil {
		w.Trouble = err.Error()
	}
	return w
}

func (s *server) note() string {
	if s.o.Note == nil {
		return ""
	}
	return s.o.Note()
}

// Worker is a worker that is alive. The JSON names are stable.
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

// askWorkers returns who is alive. However many ask, the queue is asked once a second, and what it said last is shown while it is away.
func (s *server) askWorkers() ([]Worker, error) {
	s.workersMu.Lock()
	defer s.workersMu.Unlock()
	if now := s.o.Now(); s.asked.IsZero() || now.Sub(s.asked) >= time.Second {
		s.asked = now
		ctx, cancel := context.WithTimeout(s.ctx, 2*time.Second)
		defer cancel()
		all, err := s.engine.Workers(ctx)
		if s.refused = err; err == nil {
			s.workers = workerViews(all)
		}
	}
	return s.workers, s.refused
}

func workerViews(all []queue.WorkerStatus) []Worker {
	views := make([]Worker, len(all))
	for i, w := range all {
		views[i] = Worker{w.Name, append([]string{}, w.Sites...), w.Any, w.Slots, w.Busy, append([]string{}, w.GPUs...), w.Since, w.Seen}
	}
	return views
}
