package jetstream

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
)

// mostAsked limits the sites that a client asks for at a time.
const mostAsked = 16

// fetch gives out the message of a task that the client may do. Workers get tasks of some sites
// only.
func (h *requestHandler) fetch(ctx context.Context, by caller, q *fetchRequest) (answer, error) {
	if n := len(q.Sites); n > mostAsked || n == 0 && !q.Any {
		return answer{}, fmt.Errorf("%w: tasks of %d sites", errMalformed, n)
	}
	for _, s := range q.Sites {
		if by.is(pki.Worker) && !slices.Contains(h.o.Sites, s) {
			return answer{}, fmt.Errorf("%w: a worker's credential is for parts that come through the queue; a worker with --shared needs a submitter's", queue.ErrRefused)
		}
	}
	if q.Any && by.is(pki.Worker) {
		return answer{}, fmt.Errorf("%w: a worker's credential is not for tasks of any site", queue.ErrRefused)
	}
	if !h.tickets.mayFetch(by.name, h.e.o.AckWait) {
		return answer{}, fmt.Errorf("%w: %q has fetched %d tasks and taken none of them", queue.ErrRefused, by.name, mostGiven)
	}
	if h.paused.why(by.name) != "" {
		return answer{}, nil
	}
	from := h.siteQueues(by, q)
	var tokens []string
	for _, s := range from {
		tokens = append(tokens, s.token)
	}
	d, err := h.consumers.streams(ctx, tokens)
	if err != nil {
		return answer{}, err
	}
	before := d.from
	m, err := d.next(ctx)
	if !slices.Equal(before, d.from) {
		h.consumers.forget(d.sites)
	}
	if m == nil || err != nil {
		return answer{}, err
	}
	h.took(m, from)
	t := &ticket{Subject: m.Subject(), Reply: m.(jetstream.Msg).Reply()}
	t.MAC = t.sign(h.key, by.name)
	h.tickets.give(t.MAC, by.name)
	return answer{Ticket: t, Body: m.Data()}, nil
}

// token encodes the site of a credential's task in a subject. Sites of different credentials differ
// even if their names are equal.
func (h *requestHandler) token(user, site string) string {
	if user == "" {
		return siteToken(site)
	}
	return siteToken(user + " " + site)
}

// siteConsumers are the consumers of the tasks of sites. They are made when there are jobs, and end
// with them.
type siteConsumers struct {
	e    *Engine
	mu   sync.Mutex
	open map[string]*siteConsumer // by the site's token
	turn int
}

type siteConsumer struct {
	from map[string]jetstream.Consumer // by class
	used time.Time
}

// streams returns the consumers of some sites.
func (p *siteConsumers) streams(ctx context.Context, tokens []string) (*streams, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &streams{e: p.e, sites: tokens, turn: p.turn}
	p.turn++
	for _, class := range classes {
		for _, token := range tokens {
			at := p.open[token]
			if at == nil {
				at = &siteConsumer{from: map[string]jetstream.Consumer{}}
				p.open[token] = at
			}
			if at.from[class] == nil {
				c, err := p.e.consumer(ctx, class, token)
				if err != nil {
					return nil, err
				}
				at.from[class] = c
			}
			at.used = time.Now()
			s.from = append(s.from, at.from[class])
		}
	}
	return s, nil
}

func (p *siteConsumers) forget(tokens []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, token := range tokens {
		delete(p.open, token)
	}
}

// close ends the consumers of idle sites.
func (p *siteConsumers) close(ctx context.Context, needed map[string]bool, idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for token, at := range p.open {
		if needed[token] || time.Since(at.used) < idle {
			continue
		}
		delete(p.open, token)
		for class := range at.from {
			_ = p.e.tasks.DeleteConsumer(ctx, consumerName(class, token)) // else it ends by itself
		}
	}
}

func (h *requestHandler) claim(by caller, q *request) (relayed, claim, error) {
	if q.Ticket == nil || !hmac.Equal([]byte(q.Ticket.MAC), []byte(q.Ticket.sign(h.key, by.name))) {
		return relayed{}, claim{}, fmt.Errorf("%w: not the ticket of a task that was given to %q", queue.ErrRefused, by.name)
	}
	c, err := fromSubject(q.Ticket.Subject)
	return relayed{h.e.nc, q.Ticket}, c, err
}

// holder returns the attempt that a ticket has begun, and that is at its task now.
func (h *requestHandler) holder(ctx context.Context, by caller, q *request) (*attempt, error) {
	m, c, err := h.claim(by, q)
	if err != nil {
		return nil, err
	}
	t, _, err := h.e.tries(ctx, c)
	if err != nil {
		return nil, err
	}
	if t.Owner == "" || !strings.HasPrefix(t.Worker, presenceKey(by, "")) || t.Ticket != q.Ticket.MAC || q.Attempt != "" && q.Attempt != t.Owner {
		return nil, fmt.Errorf("%w: the task %s of job %s is not, or no longer, in the hands of %q", queue.ErrRefused, c.task, c.job, by.name)
	}
	return &attempt{
		e: h.e, id: t.Owner, worker: t.Worker, m: m, c: c, round: t.Round,
		t: queue.Task{Job: c.job, Name: c.task, Kind: kindOf(c.task), Attempt: t.Attempt},
	}, nil
}

// atWork returns the attempt of a ticket, as long as it has no result.
func (h *requestHandler) atWork(ctx context.Context, by caller, q *request) (*attempt, error) {
	a, err := h.holder(ctx, by, q)
	if err != nil {
		return nil, err
	}
	switch _, err = h.e.kept(ctx, a.c); {
	case errors.Is(err, errNoResult):
		return a, nil
	case err == nil:
		err = fmt.Errorf("%w: the task %s of job %s is done", queue.ErrRefused, a.c.task, a.c.job)
	}
	return nil, err
}

func (h *requestHandler) extend(ctx context.Context, by caller, q *request) (answer, error) {
	a, err := h.holder(ctx, by, q)
	if err == nil {
		err = a.m.InProgress()
	}
	return answer{}, err
}

// returnTask returns a task that was not taken.
func (h *requestHandler) returnTask(_ context.Context, by caller, q *request) (answer, error) {
	m, c, err := h.claim(by, q)
	if err != nil {
		return answer{}, err
	}
	if !h.tickets.end(q.Ticket.MAC) {
		return answer{}, fmt.Errorf("%w: the task %s of job %s was taken, or given back before", queue.ErrRefused, c.task, c.job)
	}
	return answer{}, m.Nak()
}

// kindOf returns the kind of a task, whose name begins with it.
func kindOf(task string) string {
	kind, _, _ := strings.Cut(task, "-")
	return kind
}

func presenceKey(by caller, worker string) string { return by.name + "." + worker }

func (h *requestHandler) take(ctx context.Context, by caller, q *takeRequest) (answer, error) {
	m, c, err := h.claim(by, &q.request)
	if err != nil {
		return answer{}, err
	}
	if !isName(q.Attempt) || !isName(q.Worker) {
		return answer{}, fmt.Errorf("%w: attempt %q of worker %q", errMalformed, q.Attempt, q.Worker)
	}
	a := &attempt{e: h.e, id: q.Attempt, worker: presenceKey(by, q.Worker), holds: q.Holds, m: m, c: c, ticket: q.Ticket.MAC}
	a.t = queue.Task{Job: c.job, Name: c.task, Kind: kindOf(c.task)}
	if !h.tickets.has(q.Ticket.MAC) {
		if _, err := h.holder(ctx, by, &q.request); err != nil { // else the answer was lost
			return answer{}, err
		}
	}
	if err = h.mayTake(ctx, by, a); err == nil {
		err = a.take(ctx)
	}
	if err == nil || final(err) {
		h.tickets.end(q.Ticket.MAC)
	}
	if err != nil {
		return answer{}, err
	}
	h.log.note(by, "took", a.job, Note{Task: c.task})
	if by.is(pki.Worker) && h.o.ForWorkers != nil {
		a.job = h.o.ForWorkers(a.job)
	}
	return answer{Job: &a.job, Round: a.round, Number: a.t.Attempt}, nil
}

// mayTake refuses tasks that touch the files of others' jobs, since such a task decides about the
// result.
func (h *requestHandler) mayTake(ctx context.Context, by caller, a *attempt) error {
	r, _, err := h.e.get(ctx, a.c.job)
	if err != nil || r.malformed() || by.owns(r) || h.mayDo(a.m, r.Job.User) {
		return nil // take reports the error
	}
	_ = a.m.Nak()
	return fmt.Errorf("%w: the job %s is of %q, and %q may not decide about its files: use the same credential", queue.ErrRefused, a.c.job, r.Job.User, by.name)
}

// wanted returns queue.ErrOvertaken for an attempt that has lost its task to another one.
func (h *requestHandler) wanted(ctx context.Context, by caller, q *request) (answer, error) {
	a, err := h.holder(ctx, by, q)
	if errors.Is(err, queue.ErrRefused) {
		if _, _, err := h.claim(by, q); err != nil {
			return answer{}, err
		}
		return answer{}, queue.ErrOvertaken
	}
	if err == nil {
		err = a.wanted(ctx)
	}
	return answer{}, err
}

// Limits of the end of an attempt.
const (
	mostResult = 256 << 10 // of a part, and of a job
	mostText   = 2000
)

// settle takes the end of an attempt. Only an attempt of the job's owner can end the job, or name
// other tasks.
func (h *requestHandler) settle(ctx context.Context, by caller, q *settleRequest) (answer, error) {
	a, err := h.holder(ctx, by, &q.request)
	if err != nil || q.Ending == nil {
		return answer{}, errors.Join(err, notEnded(q))
	}
	end := *q.Ending
	end.Reason, end.Code = brief(end.Reason), cut(end.Code, 64)
	end.Delay = min(max(end.Delay, 0), h.e.o.MaxBackOff)
	r, _, err := h.e.get(ctx, a.c.job)
	switch {
	case errors.Is(err, queue.ErrNoJob):
		r = &record{}
	case err != nil:
		return answer{}, err
	}
	if a.job = r.Job; end.Log != "" && !by.owns(r) {
		end.Log = "by the credential " + by.name + ":\n" + lastOf(end.Log, mostLog)
	}
	about := Note{Task: a.c.task, Why: end.Reason}
	if o := end.Outcome; o != nil {
		if !by.owns(r) && (o.End || len(followers(*o)) > 0) {
			return answer{}, fmt.Errorf("%w: the job %s is of %q, and the result of %q is one part", queue.ErrRefused, a.c.job, r.Job.User, by.name)
		}
		var bad error
		if (o.End || !by.owns(r)) && len(o.Result) > mostResult {
			bad = fmt.Errorf("its result has %d bytes, %d are allowed", len(o.Result), mostResult)
			end = ending{How: endPermanent, Reason: bad.Error()}
		} else if bad = h.checkResult(ctx, a, o); bad != nil {
			end = ending{How: endFailed, Reason: fmt.Sprintf("a bad result by %q: %s", by.name, brief(bad.Error()))}
		}
		if bad != nil {
			about.Why = bad.Error()
			h.log.badResult(by, a.job, about)
		}
	}
	if err := a.settle(ctx, end); err != nil {
		return answer{}, err
	}
	about.Why = end.Reason
	h.log.note(by, "settled: "+end.How, a.job, about)
	return answer{}, nil
}

// checkResult returns an error for a result that the task cannot have.
func (h *requestHandler) checkResult(ctx context.Context, a *attempt, o *queue.Outcome) error {
	if h.o.Check == nil {
		return nil
	}
	name, err := h.o.Check(a.t, o.Result)
	if err == nil && name != "" {
		_, err = h.info(ctx, name)
	}
	return err
}

func brief(s string) string { return cut(oneLine(s), mostText) }

func cut(s string, most int) string {
	if s = strings.ToValidUTF8(s, "?"); len(s) <= most {
		return s
	}
	for s = s[:most]; !utf8.ValidString(s); {
		s = s[:len(s)-1]
	}
	return s + "..."
}

func notEnded(q *settleRequest) error {
	how := []string{endDone, endOvertaken, endCancelled, endBack, endPermanent, endDied, endFailed}
	if q.Ending == nil || (q.Ending.How == endDone) != (q.Ending.Outcome != nil) || !slices.Contains(how, q.Ending.How) {
		return fmt.Errorf("%w: an end without outcome", errMalformed)
	}
	return nil
}

func (h *requestHandler) progress(ctx context.Context, by caller, q *progressRequest) (answer, error) {
	a, err := h.holder(ctx, by, &q.request)
	if err != nil || q.Active == nil {
		return answer{}, err
	}
	now := *q.Active
	now.Task, now.Kind, now.Attempt = a.c.task, a.t.Kind, a.t.Attempt
	now.Worker, now.Progress.Note = cut(oneLine(now.Worker), mostNote), cut(oneLine(now.Progress.Note), mostNote)
	if now.Since.Year() < 2000 || now.Since.After(time.Now().Add(24*time.Hour)) {
		now.Since = time.Now().UTC()
	}
	if !credible(a.c, now) {
		return answer{}, fmt.Errorf("%w: progress %+v", errMalformed, now.Progress)
	}
	b, err := json.Marshal(now)
	if err == nil {
		h.e.publishEvent(eventProgress, a.c, b)
	}
	return answer{}, err
}

// Limits of the progress that a worker reports.
const (
	mostNote   = 200 // bytes of a text
	mostFrames = 1 << 50
	mostFPS    = 1e7
)

// credible checks an event against its subject.
func credible(c claim, a queue.Active) bool {
	p := a.Progress
	for _, n := range []int64{p.Frames, p.Total, p.Bytes} {
		if n < 0 || n > mostFrames {
			return false
		}
	}
	return a.Task == c.task && a.Attempt >= 0 && a.Attempt <= mostCount && p.FPS >= 0 && p.FPS <= mostFPS && !math.IsNaN(p.FPS) &&
		len(p.Note) <= 2*mostNote && len(a.Worker) <= 2*mostNote
}

// tickets holds the tickets of tasks that were fetched and are not taken yet. A restart forgets
// them; the tasks come again.
type tickets struct {
	mu      sync.Mutex
	given   map[string]issuedTicket // by MAC
	present map[string]time.Time    // workers, by presenceKey
}

type issuedTicket struct {
	to string
	at time.Time
}

// mostGiven limits the tasks that a credential has fetched and not taken.
const mostGiven = 256

func (t *tickets) give(mac, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given[mac] = issuedTicket{to, time.Now()}
}

// mayFetch reports whether a credential may fetch another task. After the lease, tasks that it has
// not taken go to others.
func (t *tickets) mayFetch(name string, lease time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for mac, g := range t.given {
		switch {
		case time.Since(g.at) > lease:
			delete(t.given, mac)
		case g.to == name:
			n++
		}
	}
	return n < mostGiven
}

func (t *tickets) has(mac string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.given[mac]
	return ok
}

// end makes a ticket invalid. It returns false if it was invalid before.
func (t *tickets) end(mac string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.given[mac]
	delete(t.given, mac)
	return ok
}

// here notes that a worker is present, or has left. It returns false if its credential has too
// many.
func (t *tickets) here(by caller, worker string, there bool, lease time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := presenceKey(by, worker)
	if _, known := t.present[key]; !there {
		delete(t.present, key)
		return true
	} else if !known {
		n := 0
		for other, at := range t.present {
			if time.Since(at) > lease {
				delete(t.present, other)
			} else if strings.HasPrefix(other, presenceKey(by, "")) {
				n++
			}
		}
		if n >= mostPresent {
			return false
		}
	}
	t.present[key] = time.Now()
	return true
}
