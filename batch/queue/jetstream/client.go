package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
)

// client is a queue.Engine that asks the server of the queue.
type client struct {
	link
	who     caller
	version string
	acting  Acting

	protocol      int
	serverVersion string // its version
	guard         *reconnectGuard

	most int          // see ConnectOptions.Most
	left atomic.Int64 // see Left
}

// Left returns how many jobs a watch has left out; see ConnectOptions.Most.
func (c *client) Left() int { return int(c.left.Load()) }

var _ queue.Engine = (*client)(nil)

func newClient(nc *nats.Conn, o ConnectOptions, who caller, d *reconnectGuard) (*client, error) {
	c := &client{link: newLink(nc, o.Options), who: who, version: o.Version, most: o.Most, guard: d, protocol: cmp.Or(o.protocol, queue.Protocol)}
	if o.Acting != nil {
		c.acting = *o.Acting
	}
	c.drains = append(c.drains, who.name)
	c.guard.watch(nc)
	if o.lease || o.Replicas != 0 {
		return nil, errors.Join(errorf("leave it out, or give --lease to serve", nil,
			"queue: the lease and the copies of this queue are set by vidfilter serve"), c.Close())
	}
	if err := c.hello(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// reconnectGuard closes a connection once its credentials are revoked.
type reconnectGuard struct {
	refusals int // in a row
	shut     atomic.Bool
}

// mostRefusals is how often a server may refuse the credentials when the client connects again: a
// server that starts may not know them yet.
const mostRefusals = 4

func (d *reconnectGuard) close(nc *nats.Conn) {
	d.shut.Store(true)
	go nc.Close()
}

// refused takes the error of a connection that could not be made again.
func (d *reconnectGuard) refused(nc *nats.Conn, err error) {
	if !errors.Is(err, nats.ErrAuthorization) && !errors.Is(err, nats.ErrAuthRevoked) {
		d.refusals = 0
	} else if d.refusals++; d.refusals >= mostRefusals {
		d.close(nc)
	}
}

func (d *reconnectGuard) watch(nc *nats.Conn) {
	before := nc.ErrorHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, s *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrAuthRevoked) {
			d.close(nc)
			return
		}
		before(nc, s, err)
	})
	lost := nc.DisconnectErrHandler()
	nc.SetDisconnectErrHandler(func(nc *nats.Conn, err error) {
		if !d.shut.Load() { // else its message would promise that tasks go on
			lost(nc, err)
		}
	})
}

// why replaces the error of a connection that was closed since the credentials were revoked.
func (c *client) why(err error) error {
	if err != nil && c.guard.shut.Load() {
		return errorf("ask for new ones: vidfilter serve credentials issue, on the machine of the queue", err,
			"queue: the credentials of %q were revoked", c.who.name)
	}
	if errors.Is(err, queue.ErrRefused) {
		return errorf("vidfilter serve credentials list, on the machine of the queue, shows the roles", err, "%s", err.Error())
	}
	return err
}

// Drain makes the workers of a credential, or of all if the name is "all", take no more tasks. It
// is an error if no worker is connected.
func (c *client) Drain(name string) error {
	return c.names.sendDrain(c.nc, name)
}

// Name returns the name of the credentials whose jobs are submitted.
func (c *client) Name() string { return cmp.Or(c.acting.Owner, c.who.name) }

// hello waits for the server, which answers a moment after it listens, and learns the lease.
func (c *client) hello() error {
	for start := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		a, err := c.ask(ctx, "hello", &request{})
		cancel()
		switch {
		case err == nil:
			c.o.AckWait, c.serverVersion = a.Lease, a.Version
			return nil
		case errors.Is(err, errProtocol):
			return errorf("vidfilter version shows that of a machine", err, "%s", err.Error())
		case final(err):
			return err
		case time.Since(start) > 15*time.Second:
			return errorf("check that 'vidfilter serve' there has the same --prefix", err, "queue: nothing answers at %s", c.nc.ConnectedUrlRedacted())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ask asks the server once. A server that is killed never answers.
func (c *client) ask(ctx context.Context, verb string, q anyRequest) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	r := q.shared()
	r.Protocol, r.Version = c.protocol, c.version
	if c.acting.ID != "" {
		r.For, r.Hold = c.acting.ID, c.acting.Hold
	}
	m, err := pack(q, r.data)
	if err != nil {
		return a, err
	}
	m.Subject = c.names.ask(c.who.role, c.who.name, verb)
	back, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return a, err
	}
	if a.data, err = unpack(back, &a); err != nil {
		return a, err
	}
	return a, a.err()
}

const askWithin = 5 * time.Second

// insist asks until the server answers or ctx ends.
func (c *client) insist(ctx context.Context, what, verb string, q anyRequest) (a answer, err error) {
	err = c.persist(ctx, what, func(ctx context.Context) (err error) {
		a, err = c.ask(ctx, verb, q)
		return err
	})
	return a, c.why(err)
}

func (c *client) Submit(ctx context.Context, j queue.Job, again bool) error {
	_, err := c.insist(ctx, "submitting "+j.ID, "submit", &submitRequest{Job: &j, Again: again})
	return err
}

func (c *client) Cancel(ctx context.Context, id, reason string) error {
	_, err := c.insist(ctx, "cancelling "+id, "cancel", &cancelRequest{request{ID: id}, reason})
	return err
}

func (c *client) Finish(ctx context.Context, id string, result json.RawMessage) error {
	_, err := c.insist(ctx, "ending "+id, "finish", &finishRequest{request{ID: id}, result})
	return err
}

func (c *client) Forget(ctx context.Context, id string) error {
	_, err := c.insist(ctx, "removing "+id, "forget", &request{ID: id})
	return err
}

// Give makes a job another credential's.
func (c *client) Give(ctx context.Context, id, to string) error {
	_, err := c.insist(ctx, "handing "+id+" over", "give", &giveRequest{request{ID: id}, to})
	return err
}

func (c *client) Get(ctx context.Context, id string) (queue.Status, error) {
	a, err := c.insist(ctx, "job "+id, "get", &request{ID: id})
	if err != nil || a.Status == nil {
		return queue.Status{}, err
	}
	return *a.Status, nil
}

func (c *client) Results(ctx context.Context, job string) (map[string]json.RawMessage, error) {
	a, err := c.insist(ctx, "results of "+job, "results", &request{ID: job, Ticket: ticketOf(ctx)})
	return a.Results, err
}

func (c *client) Workers(ctx context.Context) (all []queue.WorkerStatus, err error) {
	a, err := c.insist(ctx, "reading workers", "workers", &request{})
	for _, w := range a.Workers {
		w.Seen = w.At
		all = append(all, w.WorkerStatus)
	}
	return all, err
}

// A watch asks for changes after an event, and now and then, since events may be lost.
const (
	askEvery  = 100 * time.Millisecond
	pollEvery = 2 * time.Second
)

// Watch implements queue.Engine.
func (c *client) Watch(ctx context.Context, f func(s queue.Status), live func()) error {
	events := make(chan *nats.Msg, 4096)
	for _, kind := range []string{eventProgress, eventOver, eventChange} {
		sub, err := c.nc.ChanSubscribe(c.names.events(kind), events)
		if err != nil {
			return fmt.Errorf("queue: watching: %w", err)
		}
		defer sub.Unsubscribe()
	}
	w := newWatcher(&c.link, f, live)
	var since uint64
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for asked := (time.Time{}); ; {
		if w.changes || time.Since(asked) >= pollEvery {
			w.changes = false
			if err := c.changes(ctx, w, &since); err != nil {
				return err
			}
			asked = time.Now()
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case m := <-events:
				w.event(m)
			case <-tick.C:
				w.expire()
				waiting = false
			}
		}
	}
}

// changes takes the records that changed after a revision.
func (c *client) changes(ctx context.Context, w *watcher, since *uint64) error {
	most := 0
	if w.live != nil { // else they have just ended
		most = c.most
	}
	for {
		a, err := c.insist(ctx, "reading jobs", "jobs", &jobsRequest{Since: *since, Most: most})
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("queue: watching: %w", err)
		}
		if a.Left > 0 {
			c.left.Store(int64(a.Left))
		}
		for _, r := range a.Records {
			*since = max(*since, r.At)
			w.changed(r.Key, r.Value, r.At, r.Gone)
		}
		if a.More {
			continue
		}
		if w.live != nil {
			w.isLive()
			w.publishEvent(eventAsk, claim{all, all, all}, nil)
		}
		return nil
	}
}

// Work implements queue.Engine.
func (c *client) Work(ctx context.Context, w queue.Worker, h queue.Handler) error {
	w.Version = c.version
	p := newPool(&c.link, &clientSource{c: c}, newID(), w, h)
	p.home = &clientSource{c: c}
	return c.why(p.work(ctx))
}

// clientSource is the task source of a client.
type clientSource struct {
	c *client
	w queue.Worker
}

func (d *clientSource) open(ctx context.Context, w queue.Worker) (time.Duration, error) {
	d.w = w
	err := d.c.persist(ctx, "asking for tasks", func(ctx context.Context) error {
		m, err := d.next(ctx) // also checks that the role allows it
		if m != nil {
			err = m.Nak()
		}
		return err
	})
	return d.c.o.AckWait, err
}

func (d *clientSource) next(ctx context.Context) (message, error) {
	a, err := d.c.ask(ctx, "fetch", &fetchRequest{Sites: d.w.Sites, Any: d.w.Any})
	if err != nil || a.Ticket == nil {
		return nil, err
	}
	return &issuedTask{c: d.c, t: a.Ticket, body: a.Body}, nil
}

func (d *clientSource) tidy(context.Context) {}

// issuedTask is the message of a task that the server has given out. The server acknowledges it.
type issuedTask struct {
	c    *client
	t    *ticket
	body []byte
}

func (m *issuedTask) Subject() string                        { return m.t.Subject }
func (m *issuedTask) Data() []byte                           { return m.body }
func (m *issuedTask) Ack() error                             { return nil }
func (m *issuedTask) DoubleAck(context.Context) error        { return nil }
func (m *issuedTask) Term() error                            { return nil }
func (m *issuedTask) Nak() error                             { return m.say("return") }
func (m *issuedTask) NakWithDelay(delay time.Duration) error { return m.say("return") }
func (m *issuedTask) InProgress() error                      { return m.say("extend") }

func (m *issuedTask) say(verb string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, err := m.c.ask(ctx, verb, &request{Ticket: m.t})
	return err
}

func requestOf(a *attempt) request { return request{Ticket: a.m.(*issuedTask).t, Attempt: a.id} }

func (d *clientSource) take(ctx context.Context, a *attempt) error {
	if err := a.read(); err != nil {
		return err
	}
	got, err := d.c.insist(ctx, a.String(), "take", &takeRequest{requestOf(a), a.worker, a.holds})
	if err == nil && got.Job == nil {
		err = errGone
	}
	if err != nil {
		return err
	}
	a.job, a.round, a.t.Attempt = *got.Job, got.Round, got.Number
	return nil
}

// context has the task's ticket, for its files and results.
func (d *clientSource) context(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, ticketKey{}, a.m.(*issuedTask).t)
}

type ticketKey struct{}

func ticketOf(ctx context.Context) *ticket {
	t, _ := ctx.Value(ticketKey{}).(*ticket)
	return t
}

func (d *clientSource) wanted(ctx context.Context, a *attempt) error {
	q := requestOf(a)
	_, err := d.c.ask(ctx, "wanted", &q)
	if errors.Is(err, queue.ErrOvertaken) || errors.Is(err, queue.ErrCancelled) {
		return err
	}
	return nil // if the server does not answer, it is
}

func (d *clientSource) settle(ctx context.Context, a *attempt, end ending) error {
	q := &settleRequest{requestOf(a), &end}
	_, err := d.c.insist(ctx, a.String(), "settle", q)
	if errors.Is(err, nats.ErrMaxPayload) {
		end = d.c.tooLarge()
		_, err = d.c.insist(ctx, a.String(), "settle", q)
	}
	return err
}

func (d *clientSource) progress(ctx context.Context, a *attempt, now queue.Active) {
	_, _ = d.c.ask(ctx, "progress", &progressRequest{requestOf(a), &now})
}

func (d *clientSource) present(ctx context.Context, id string, s *queue.WorkerStatus) error {
	_, err := d.c.ask(ctx, "presence", &presenceRequest{Worker: id, Presence: s})
	return err
}
