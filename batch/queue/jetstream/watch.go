package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// watcher merges records with the events of workers.
type watcher struct {
	*link
	f    func(queue.Status)
	live func()              // nil after the call
	jobs map[string]*watched // that have not ended

	// revisions of those that have ended, by the hash of the ID: a batch may have 100,000
	ended map[uint64]uint64
	seed  maphash.Seed

	changes bool // a record has changed that was not read yet
}

func newWatcher(l *link, f func(queue.Status), live func()) *watcher {
	return &watcher{link: l, f: f, live: live, jobs: map[string]*watched{}, ended: map[uint64]uint64{}, seed: maphash.MakeSeed()}
}

type watched struct {
	r      *record
	at     uint64          // revision
	active map[string]seen // by task
	begun  bool            // there was an event of a task in this round
}

type seen struct {
	queue.Active
	at time.Time
}

// Watch implements queue.Engine.
func (e *Engine) Watch(ctx context.Context, f func(s queue.Status), live func()) error {
	// if it is full, events are lost; later ones make up for them
	events := make(chan *nats.Msg, 4096)
	for _, kind := range []string{eventProgress, eventOver, eventChange} {
		sub, err := e.nc.ChanSubscribe(e.names.events(kind), events)
		if err != nil {
			return fmt.Errorf("queue: watching: %w", err)
		}
		defer sub.Unsubscribe()
	}
	w := newWatcher(&e.link, f, live)
	for {
		again, err := w.follow(ctx, e, events)
		if err != nil || !again {
			return err
		}
	}
}

// follow calls f until ctx ends. again means that the connection was down: records may have been
// lost, and are read anew.
func (w *watcher) follow(ctx context.Context, e *Engine, events <-chan *nats.Msg) (again bool, err error) {
	if err := w.connected(ctx); err != nil {
		return false, err
	}
	connection := w.nc.Stats().Reconnects
	r := &recordReader{e: e, f: func(s storedRecord, _ time.Time) { w.changed(s.Key, s.Value, s.At, s.Gone) }}
	if err := r.all(ctx); err != nil {
		return w.again(ctx, err)
	}
	w.isLive()
	w.publishEvent(eventAsk, claim{all, all, all}, nil)
	tick := time.NewTicker(min(time.Second, w.o.AckWait/2))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case m := <-events:
			w.event(m)
			if !w.changes || len(events) > 0 {
				continue
			}
		case <-tick.C: // events may be lost
			w.expire()
			if w.nc.Stats().Reconnects != connection {
				return true, nil
			}
		}
		w.changes = false
		if err := r.news(ctx); err != nil {
			return w.again(ctx, err)
		}
	}
}

// recordReader reads the records as they change. The watches of nats.go would do, but may panic
// when one ends while it is being repaired, as on a busy machine.
type recordReader struct {
	e    *Engine
	f    func(r storedRecord, written time.Time)
	last uint64 // revision
}

// all calls f with every record.
func (r *recordReader) all(ctx context.Context) error {
	return latest(ctx, r.e.jobs.stream, r.e.jobs.subject(">"), r.take)
}

// news calls f with the records that have changed since.
func (r *recordReader) news(ctx context.Context) error {
	_, err := after(ctx, r.e.jobs.stream, r.last, r.e.jobs.subject(">"), r.take)
	return err
}

func (r *recordReader) take(m *jetstream.RawStreamMsg) {
	r.last = max(r.last, m.Sequence)
	r.f(storedRecord{Key: strings.TrimPrefix(m.Subject, r.e.jobs.subject("")), Value: m.Data, At: m.Sequence, Gone: isGone(m.Header)}, m.Time)
}

// again reports whether to continue after an error.
func (w *watcher) again(ctx context.Context, err error) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case !w.nc.IsConnected(), errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
		return true, nil
	}
	return false, fmt.Errorf("queue: watching: %w", err)
}

func (w *watcher) isLive() {
	if w.live != nil {
		w.live()
	}
	w.live = nil
}

// changed takes a record as stored at a revision, or its removal.
func (w *watcher) changed(key string, value []byte, at uint64, gone bool) {
	id := maphash.String(w.seed, key)
	if gone {
		if _, ended := w.ended[id]; ended || w.jobs[key] != nil {
			w.f(queue.Status{Job: queue.Job{ID: key}, State: queue.Removed})
		}
		delete(w.jobs, key)
		delete(w.ended, id)
		return
	}
	r := decodeRecord(key, value)
	j := w.jobs[key]
	if j == nil {
		j = &watched{at: w.ended[id]}
	}
	if j.at >= at {
		return // seen before the connection was lost
	}
	j.at = at
	if !r.live() || j.r != nil && j.r.Epoch != r.Epoch {
		clear(j.active)
	}
	if j.r != nil && (j.r.Epoch != r.Epoch || j.r.Round != r.Round) {
		j.begun = false
	}
	j.r = r
	w.emit(j)
	if r.live() {
		w.jobs[key] = j
		delete(w.ended, id)
	} else {
		delete(w.jobs, key)
		w.ended[id] = at
	}
}

func (w *watcher) event(m *nats.Msg) {
	c, err := fromSubject(m.Subject)
	if err == nil && m.Subject == w.names.event(eventChange, c) {
		w.changes = true
		return
	}
	j := w.jobs[c.job]
	var a queue.Active
	if err != nil || j == nil || j.r.Epoch != c.epoch || json.Unmarshal(m.Data, &a) != nil || !credible(c, a) {
		return
	}
	was, there := j.active[c.task]
	switch {
	case m.Subject == w.names.event(eventOver, c):
		if !there || was.Attempt > a.Attempt {
			return
		}
		delete(j.active, c.task)
	case there && was.Attempt > a.Attempt: // from a worker that was taken for dead
		return
	default:
		if j.active == nil {
			j.active = map[string]seen{}
		}
		j.active[c.task] = seen{a, time.Now()}
	}
	w.emit(j)
}

// expire removes active tasks without recent events.
func (w *watcher) expire() {
	for _, j := range w.jobs {
		before := len(j.active)
		for task, a := range j.active {
			if time.Since(a.at) > w.o.AckWait {
				delete(j.active, task)
			}
		}
		if len(j.active) != before {
			w.emit(j)
		}
	}
}

func (w *watcher) emit(j *watched) {
	s := j.r.Status
	s.Active = nil
	for _, a := range j.active {
		s.Active = append(s.Active, a.Active)
	}
	j.begun = j.begun || len(s.Active) > 0
	if s.State == queue.Queued && j.begun {
		s.State = queue.Running // the events are quicker than the record; the task may be over by now
	}
	slices.SortFunc(s.Active, func(a, b queue.Active) int { return cmp.Compare(a.Task, b.Task) })
	w.f(s)
}
