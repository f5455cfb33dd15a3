package jetstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// taskSource gives tasks to a pool and takes their results: the streams themselves, or the server
// of a queue.
type taskSource interface {
	// open prepares for a worker's sites, and returns the lease.
	open(ctx context.Context, w queue.Worker) (time.Duration, error)
	// next returns the message of a task that is available now, or nil.
	next(ctx context.Context) (message, error)
	// take begins an attempt, and sets its task, job and round.
	take(ctx context.Context, a *attempt) error
	// context returns a handler's context.
	context(ctx context.Context, a *attempt) context.Context
	wanted(ctx context.Context, a *attempt) error
	settle(ctx context.Context, a *attempt, end ending) error
	// progress tells all how far the attempt is. It may be lost.
	progress(ctx context.Context, a *attempt, now queue.Active)
	// present stores the entry of a worker; nil removes it.
	present(ctx context.Context, id string, s *queue.WorkerStatus) error
	// tidy works beside the pool until ctx ends.
	tidy(ctx context.Context)
}

// workerPool is one call of Work.
type workerPool struct {
	l         *link
	source    taskSource
	home      taskSource // for the tasks of queue.Worker.Home, or nil
	id        string
	w         queue.Worker
	h         queue.Handler
	since     time.Time
	heartbeat time.Duration
	wake      chan struct{}
	frozen    func() bool // for tests: suppresses signs of life

	drain     chan struct{} // closed when it takes no more tasks
	drainOnce func()

	mu          sync.Mutex
	running     map[claim]*runningAttempt
	slots       int            // tasks at a time
	busy        int            // slots
	failedInRow map[string]int // tasks that failed in a row, by kind
	failed      time.Time      // the last of them
	restsUntil  time.Time      // until then
	restReason  string
}

// Work implements queue.Engine. Tasks of started jobs come first, and among them those of the
// worker's sites.
func (e *Engine) Work(ctx context.Context, w queue.Worker, h queue.Handler) error {
	return e.newPool(w, h).work(ctx)
}

func (e *Engine) newPool(w queue.Worker, h queue.Handler) *workerPool {
	p := newPool(&e.link, &streams{e: e}, newID(), w, h)
	p.home = &streams{e: e}
	return p
}

func newPool(l *link, d taskSource, id string, w queue.Worker, h queue.Handler) *workerPool {
	drain := make(chan struct{})
	return &workerPool{
		drain: drain, drainOnce: sync.OnceFunc(func() { close(drain) }),
		l: l, source: d, id: id, w: w, h: h, since: time.Now().UTC(),
		wake: make(chan struct{}, 1), frozen: func() bool { return false }, running: map[claim]*runningAttempt{},
		slots: w.Slots, failedInRow: map[string]int{},
	}
}

func (p *workerPool) work(ctx context.Context) error {
	if p.w.Slots < 1 || !p.w.Any && len(p.w.Sites) == 0 {
		return fmt.Errorf("queue: worker %s: no slot or no site to work for", p.w.Name)
	}
	if err := p.l.connected(ctx); err != nil {
		return nil
	}
	lease, err := p.source.open(ctx, p.w)
	if len(p.w.Home) == 0 {
		p.home = nil
	} else if err == nil {
		_, err = p.home.open(ctx, queue.Worker{Sites: p.w.Home})
	}
	if ctx.Err() != nil {
		return nil
	} else if err != nil {
		return fmt.Errorf("queue: worker %s: %w", p.w.Name, setUpError(err))
	}
	p.heartbeat = heartbeat(lease)
	stop, err := p.listen()
	if err != nil {
		return fmt.Errorf("queue: worker %s: %w", p.w.Name, err)
	}
	defer stop()

	aside, cancel := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	beside.Go(func() { p.present(aside) })
	beside.Go(func() { p.source.tidy(aside) })
	defer beside.Wait()
	defer cancel()

	beside.Go(func() {
		select {
		case <-p.w.Drain:
			p.drainOnce()
		case <-p.drain:
		case <-aside.Done():
		}
	})
	p.serve(ctx)
	if p.l.nc.IsClosed() && ctx.Err() == nil {
		return nats.ErrConnectionClosed
	}
	return nil
}

// serve takes a task for each free slot until ctx ends, and waits for the last handler.
func (p *workerPool) serve(ctx context.Context) {
	var busy sync.WaitGroup
	defer busy.Wait()
	free := make(chan struct{}, p.w.Slots)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		case <-p.drain:
			return
		}
		m := p.next(ctx)
		if m == nil {
			return
		}
		p.occupy(1)
		busy.Go(func() {
			p.do(ctx, m)
			p.occupy(-1)
			<-free
		})
	}
}

func (p *workerPool) occupy(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy += n
	wake.Up(p.wake)
}

// next returns the message of a task, or nil when ctx ends or the worker drains.
func (p *workerPool) next(ctx context.Context) message {
	for ctx.Err() == nil && !p.draining() && !p.l.nc.IsClosed() {
		var m message
		var err error
		if from := p.from(); from != nil {
			m, err = from.next(ctx)
		}
		if m != nil {
			return m
		}
		if err != nil && ctx.Err() == nil && p.l.nc.IsConnected() {
			p.l.o.Log.Warn(fmt.Sprintf("worker %s cannot get tasks: %v", p.w.Name, err))
		}
		select {
		case <-p.wake:
		case <-time.After(p.l.o.poll()):
		case <-p.drain:
		case <-ctx.Done():
		}
	}
	return nil
}

func (p *workerPool) draining() bool {
	select {
	case <-p.drain:
		return true
	default:
		return false
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
		eventAsk:  func(*nats.Msg) { p.each(func(_ claim, a *runningAttempt) { wake.Up(a.publishNow) }) },
	} {
		s, err := p.l.nc.Subscribe(p.l.names.events(kind), f)
		if err != nil {
			stop()
			return nil, err
		}
		subs = append(subs, s)
	}
	for _, name := range p.l.drains {
		s, err := p.l.nc.Subscribe(p.l.names.drain(name), func(*nats.Msg) { p.drainOnce() })
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
	p.each(func(own claim, a *runningAttempt) {
		if own.job == c.job && own.epoch == c.epoch && (!sameTask || own.task == c.task) {
			wake.Up(a.recheck)
		}
	})
}

func (p *workerPool) each(f func(c claim, a *runningAttempt)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, a := range p.running {
		f(c, a)
	}
}

// present keeps the entry of the worker until ctx ends.
func (p *workerPool) present(ctx context.Context) {
	last, at := p.presence(), time.Now()
	p.write(ctx, last)
	for range wake.Every(ctx, min(publishEvery, p.heartbeat)) {
		now := p.presence()
		changed := now.Busy != last.Busy || now.Backlog != last.Backlog || now.Draining != last.Draining || now.Held != last.Held
		if p.frozen() || !changed && time.Since(at) < p.heartbeat {
			continue
		}
		last, at = now, time.Now()
		p.write(ctx, last)
	}
	bye, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = p.source.present(bye, p.id, nil)
}

// presence is the entry of the worker about itself. It expires unless renewed.
func (p *workerPool) presence() queue.WorkerStatus {
	held := p.held()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := queue.WorkerStatus{Worker: p.w, Since: p.since, Busy: len(p.running), Draining: p.draining(), Held: held}
	if p.w.Ahead != nil {
		now.Backlog = p.w.Ahead()
	}
	return now
}

func (p *workerPool) write(ctx context.Context, now queue.WorkerStatus) {
	ctx, cancel := context.WithTimeout(ctx, p.heartbeat)
	defer cancel()
	_ = p.source.present(ctx, p.id, &now)
}

// Workers implements queue.Engine, sorted by name.
func (e *Engine) Workers(ctx context.Context) (found []queue.WorkerStatus, err error) {
	err = e.each(ctx, e.workers, jetstream.AllKeys, func(s entry) error {
		var w queue.WorkerStatus
		if decode(s, &w) == nil && isPresence(w) { // else no worker has written it
			w.Seen = s.at
			if e.heldFor != nil {
				w.Held = cmp.Or(e.heldFor(w.Credential), w.Held)
			}
			found = append(found, w)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b queue.WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// isPresence reports whether a worker can have written this about itself.
func isPresence(w queue.WorkerStatus) bool {
	texts := slices.Concat(w.Sites, w.GPUs, []string{w.Name, w.Version})
	return w.Busy >= 0 && w.Busy <= w.Slots && w.Slots <= mostSlots && len(w.Held) <= mostReason &&
		w.Backlog.Jobs >= 0 && w.Backlog.Jobs <= mostCount && w.Backlog.Bytes >= 0 && w.Backlog.Bytes <= mostFrames &&
		len(w.Sites) <= mostAsked && len(w.GPUs) <= 64 && !slices.ContainsFunc(texts, func(s string) bool { return len(s) > 2*mostNote })
}

// mostReason limits the reason why a worker takes no tasks.
const mostReason = 4096

// mostSlots limits the slots of a worker.
const mostSlots = 1 << 14
