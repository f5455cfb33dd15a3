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

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// workerPool is one call of Work.
type workerPool struct {
	e         *Engine
	id        string
	w         queue.Worker
	h         queue.Handler
	since     time.Time
	heartbeat time.Duration
	wake      chan struct{}
	frozen    func() bool // for tests: suppresses signs of life

	from []jetstream.Consumer

	mu      sync.Mutex
	running map[claim]*attempt

	returning sync.WaitGroup // of messages that arrived too late
}

// Work implements queue.Engine. Tasks of started jobs come first, and among them those of the
// worker's sites.
func (e *Engine) Work(ctx context.Context, w queue.Worker, h queue.Handler) error {
	return e.newPool(w, h).work(ctx)
}

func (e *Engine) newPool(w queue.Worker, h queue.Handler) *workerPool {
	return &workerPool{
		e: e, id: newID(), w: w, h: h, since: time.Now().UTC(),
		wake: make(chan struct{}, 1), frozen: func() bool { return false }, running: map[claim]*attempt{},
	}
}

func (p *workerPool) work(ctx context.Context) error {
	if p.w.Slots < 1 || !p.w.Any && len(p.w.Sites) == 0 {
		return fmt.Errorf("queue: worker %s: no slot or no site to work for", p.w.Name)
	}
	if err := p.e.connected(ctx); err != nil {
		return nil
	}
	if err := p.consumers(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return fmt.Errorf("queue: worker %s: %w", p.w.Name, setUpError(err))
	}
	stop, err := p.listen()
	if err != nil {
		return fmt.Errorf("queue: worker %s: %w", p.w.Name, err)
	}
	defer stop()

	aside, cancel := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	beside.Go(func() { p.present(aside) })
	beside.Go(func() { p.e.sweepLoop(aside) })
	defer p.returning.Wait()
	defer beside.Wait()
	defer cancel()

	p.slots(ctx)
	return nil
}

// slots takes a task for each free slot until ctx ends, and waits for the last handler.
func (p *workerPool) slots(ctx context.Context) {
	var busy sync.WaitGroup
	defer busy.Wait()
	free := make(chan struct{}, p.w.Slots)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		m := p.next(ctx)
		if m == nil {
			return
		}
		busy.Go(func() {
			p.do(ctx, m)
			<-free
		})
	}
}

// consumers opens the consumers, in order of priority.
func (p *workerPool) consumers(ctx context.Context) error {
	var sites []string
	for _, s := range p.w.Sites {
		sites = append(sites, siteToken(s))
	}
	if p.w.Any {
		sites = append(sites, anySite)
	}
	var from []jetstream.Consumer
	for _, class := range []string{classOn, classNew} {
		for _, site := range sites {
			c, err := p.e.consumer(ctx, class, site)
			if err != nil {
				return err
			}
			from = append(from, c)
		}
	}
	p.from = from
	p.heartbeat = heartbeat(from[0].CachedInfo().Config.AckWait)
	return nil
}

// next returns the message of a task, or nil when ctx ends.
func (p *workerPool) next(ctx context.Context) jetstream.Msg {
	for ctx.Err() == nil {
		for _, c := range p.from {
			m, err := p.fetchOne(ctx, c)
			if m != nil {
				return m
			}
			if err != nil && ctx.Err() == nil && p.e.nc.IsConnected() {
				p.reopen(ctx, err)
			}
		}
		select {
		case <-p.wake:
		case <-time.After(p.e.o.poll()):
		case <-ctx.Done():
		}
	}
	return nil
}

// reopen recreates consumers that somebody has deleted.
func (p *workerPool) reopen(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := p.consumers(ctx); err != nil && ctx.Err() == nil {
		p.e.o.Log.Warn(fmt.Sprintf("worker %s cannot get tasks: %v: %v", p.w.Name, why, err))
	}
}

// fetchOne returns a message that is available now, or nil.
func (p *workerPool) fetchOne(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
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
		p.returning.Go(func() { // a message in transit goes to another worker
			if m := <-b.Messages(); m != nil {
				_ = m.Nak()
			}
		})
		return nil, ctx.Err()
	}
}

// listen makes events wake the pool and its attempts.
func (p *workerPool) listen() (stop func(), err error) {
	var subs []*nats.Subscription
	stop = func() {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
	}
	for kind, f := range map[string]nats.MsgHandler{
		eventPut:  func(*nats.Msg) { wake.Up(p.wake) },
		eventStop: func(m *nats.Msg) { p.recheck(m.Subject, false) },
		eventDone: func(m *nats.Msg) { p.recheck(m.Subject, true) },
		eventAsk:  func(*nats.Msg) { p.each(func(_ claim, a *attempt) { wake.Up(a.publishNow) }) },
	} {
		s, err := p.e.nc.Subscribe(p.e.names.events(kind), f)
		if err != nil {
			stop()
			return nil, err
		}
		subs = append(subs, s)
	}
	return stop, nil
}

// recheck makes the attempts of an event's job check whether they are still wanted.
func (p *workerPool) recheck(subject string, sameTask bool) {
	c, err := fromSubject(subject)
	if err != nil {
		return
	}
	p.each(func(own claim, a *attempt) {
		if own.job == c.job && own.epoch == c.epoch && (!sameTask || own.task == c.task) {
			wake.Up(a.recheck)
		}
	})
}

func (p *workerPool) each(f func(c claim, a *attempt)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, a := range p.running {
		f(c, a)
	}
}

// sweepLoop sweeps now and then.
func (e *Engine) sweepLoop(ctx context.Context) {
	for {
		if err := e.Sweep(ctx); err != nil && ctx.Err() == nil && e.nc.IsConnected() && !errors.Is(err, context.DeadlineExceeded) {
			e.o.Log.Warn(err.Error())
		}
		wait := 2*e.o.AckWait + rand.N(2*e.o.AckWait) // spread the workers' sweeps
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
