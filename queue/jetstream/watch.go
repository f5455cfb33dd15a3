package jetstream

import (
	"cmp"
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

// watcher merges what is kept of jobs with what workers tell.
type watcher struct {
	e    *Engine
	f    func(queue.Status)
	jobs map[string]*watched
}

type watched struct {
	r      *record
	active map[string]seen // by task
}

type seen struct {
	queue.Active
	at time.Time
}

// Watch is described at queue.Engine.
func (e *Engine) Watch(ctx context.Context, f func(s queue.Status), live func()) error {
	events := make(chan *nats.Msg, 4096) // when it is full they are lost, which the next ones make good
	for _, kind := range []string{eventProgress, eventOver} {
		sub, err := e.nc.ChanSubscribe(e.names.events(kind), events)
		if err != nil {
			return fmt.Errorf("queue: watching: %w", err)
		}
		defer sub.Unsubscribe()
	}
	kv, err := e.jobs.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("queue: watching: %w", err)
	}
	defer kv.Stop()
	e.tell(eventAsk, claim{all, all, all}, nil)

	w := &watcher{e: e, f: f, jobs: map[string]*watched{}}
	tick := ticks(ctx, min(time.Second, e.o.AckWait/2))
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-kv.Updates():
			switch {
			case !ok && ctx.Err() == nil:
				return errors.New("queue: watching: the connection was closed")
			case !ok:
			case entry == nil:
				live()
			default:
				w.changed(entry)
			}
		case m := <-events:
			w.told(m)
		case <-tick:
			w.expire()
		}
	}
}

func (w *watcher) changed(entry jetstream.KeyValueEntry) {
	if entry.Operation() != jetstream.KeyValuePut {
		delete(w.jobs, entry.Key())
		return
	}
	r, err := decodeRecord(entry.Value())
	if err != nil {
		w.e.o.Warn(fmt.Sprintf("job %s: %v", entry.Key(), err))
		return
	}
	j := w.jobs[entry.Key()]
	if j == nil {
		j = &watched{active: map[string]seen{}}
		w.jobs[entry.Key()] = j
	}
	if !r.live() || j.r != nil && j.r.Epoch != r.Epoch {
		clear(j.active)
	}
	j.r = r
	w.emit(j)
}

// told takes in what a worker said of a task.
func (w *watcher) told(m *nats.Msg) {
	c, err := fromSubject(m.Subject)
	j := w.jobs[c.job]
	var a queue.Active
	if err != nil || j == nil || j.r.Epoch != c.epoch || !j.r.live() || json.Unmarshal(m.Data, &a) != nil {
		return
	}
	was, there := j.active[c.task]
	switch {
	case m.Subject == w.e.names.event(eventOver, c):
		if !there || was.Attempt > a.Attempt {
			return
		}
		delete(j.active, c.task)
	case there && was.Attempt > a.Attempt: // one that came back from the dead
		return
	default:
		j.active[c.task] = seen{a, time.Now()}
	}
	w.emit(j)
}

// expire removes tasks that nobody speaks of.
func (w *watcher) expire() {
	for _, j := range w.jobs {
		before := len(j.active)
		for task, a := range j.active {
			if time.Since(a.at) > w.e.o.AckWait {
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
	slices.SortFunc(s.Active, func(a, b queue.Active) int { return cmp.Compare(a.Task, b.Task) })
	w.f(s)
}
