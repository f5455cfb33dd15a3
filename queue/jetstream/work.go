package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

// crew is one call of Work.
type crew struct {
	e      *Engine
	id     string
	w      queue.Worker
	h      queue.Handler
	since  time.Time
	beat   time.Duration
	wake   chan struct{}
	frozen func() bool // for tests: no sign of life while it says so

	from []jetstream.Consumer

	mu      sync.Mutex
	running map[claim]*attempt
}

// Work is described at queue.Engine. Tasks of jobs that are begun come first, and among them those that only this site can do.
func (e *Engine) Work(ctx context.Context, w queue.Worker, h queue.Handler) error {
	return e.newCrew(w, h).work(ctx)
}

func (e *Engine) newCrew(w queue.Worker, h queue.Handler) *crew {
	return &crew{
		e: e, id: newID(), w: w, h: h, since: time.Now().UTC(),
		wake: make(chan struct{}, 1), frozen: func() bool { return false }, running: map[claim]*attempt{},
	}
}

func (k *crew) work(ctx context.Context) error {
	if k.w.Slots < 1 || !k.w.Any && len(k.w.Sites) == 0 {
		return fmt.Errorf("queue: worker %s: no slot or no site to work for", k.w.Name)
	}
	if err := k.e.connected(ctx); err != nil {
		return nil
	}
	if err := k.consumers(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return fmt.Errorf("queue: worker %s: %w", k.w.Name, setUpError(err))
	}
	stop, err := k.listen()
	if err != nil {
		return fmt.Errorf("queue: worker %s: %w", k.w.Name, err)
	}
	defer stop()

	aside, cancel := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	beside.Go(func() { k.present(aside) })
	beside.Go(func() { k.e.sweeps(aside) })
	defer beside.Wait()
	defer cancel()

	k.slots(ctx)
	return nil
}

// slots takes tasks until ctx ends, one for each slot that is free, and waits for the last.
func (k *crew) slots(ctx context.Context) {
	var busy sync.WaitGroup
	defer busy.Wait()
	free := make(chan struct{}, k.w.Slots)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		m := k.next(ctx)
		if m == nil {
			return
		}
		busy.Go(func() {
			k.do(ctx, m)
			<-free
		})
	}
}

// consumers opens what the crew takes tasks from, in that order.
func (k *crew) consumers(ctx context.Context) error {
	var sites []string
	for _, s := range k.w.Sites {
		sites = append(sites, siteToken(s))
	}
	if k.w.Any {
		sites = append(sites, anySite)
	}
	var from []jetstream.Consumer
	for _, class := range []string{classOn, classNew} {
		for _, site := range sites {
			c, err := k.e.consumer(ctx, class, site)
			if err != nil {
				return err
			}
			from = append(from, c)
		}
	}
	k.from = from
	k.beat = beat(from[0].CachedInfo().Config.AckWait)
	return nil
}

// next returns a task's message, or nil when ctx ends.
func (k *crew) next(ctx context.Context) jetstream.Msg {
	for ctx.Err() == nil {
		for _, c := range k.from {
			m, err := fetchOne(ctx, c)
			if m != nil {
				return m
			}
			if err != nil && ctx.Err() == nil && k.e.nc.IsConnected() {
				k.reopen(ctx, err)
			}
		}
		select {
		case <-k.wake:
		case <-time.After(k.e.o.poll()):
		case <-ctx.Done():
		}
	}
	return nil
}

// reopen makes consumers again that somebody has deleted.
func (k *crew) reopen(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := k.consumers(ctx); err != nil && ctx.Err() == nil {
		k.e.o.Warn(fmt.Sprintf("worker %s gets no tasks at the moment: %v: %v", k.w.Name, why, err))
	}
}

// fetchOne returns a message that is there now, or nil.
func fetchOne(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
	b, err := c.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	select {
	case m := <-b.Messages():
		if m == nil {
			return nil, b.Error()
		}
		return m, nil
	case <-ctx.Done():
		go func() { // one that is on the way goes to somebody else
			if m := <-b.Messages(); m != nil {
				_ = m.Nak()
			}
		}()
		return nil, ctx.Err()
	}
}

// listen lets events wake the crew, and its attempts look whether they are still wanted.
func (k *crew) listen() (stop func(), err error) {
	var subs []*nats.Subscription
	stop = func() {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
	}
	for kind, f := range map[string]nats.MsgHandler{
		eventPut:  func(*nats.Msg) { k.rouse() },
		eventStop: func(m *nats.Msg) { k.look(m.Subject, false) },
		eventDone: func(m *nats.Msg) { k.look(m.Subject, true) },
		eventAsk:  func(*nats.Msg) { k.each(func(_ claim, a *attempt) { a.say() }) },
	} {
		s, err := k.e.nc.Subscribe(k.e.names.events(kind), f)
		if err != nil {
			stop()
			return nil, err
		}
		subs = append(subs, s)
	}
	return stop, nil
}

func (k *crew) rouse() { nudge(k.wake) }

// look lets the attempts that an event is about look whether they are still wanted.
func (k *crew) look(subject string, sameTask bool) {
	c, err := fromSubject(subject)
	if err != nil {
		return
	}
	k.each(func(own claim, a *attempt) {
		if own.job == c.job && own.epoch == c.epoch && (!sameTask || own.task == c.task) {
			a.glance()
		}
	})
}

func (k *crew) each(f func(c claim, a *attempt)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c, a := range k.running {
		f(c, a)
	}
}

// sweeps repairs now and then what a kill left between two steps.
func (e *Engine) sweeps(ctx context.Context) {
	for {
		if err := e.Sweep(ctx); err != nil && ctx.Err() == nil && e.nc.IsConnected() && !errors.Is(err, context.DeadlineExceeded) {
			e.o.Warn(err.Error())
		}
		wait := 2*e.o.AckWait + rand.N(2*e.o.AckWait) // not all at once
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
