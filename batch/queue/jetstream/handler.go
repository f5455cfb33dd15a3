package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
)

// requestHandler answers the clients of a queue: it alone reads and writes the streams. The verbs
// of a client depend on its role, which is a part of the subject that NATS has checked.
type requestHandler struct {
	e         *Engine
	key       []byte // of tickets
	o         ServeOptions
	quota     quota
	cache     *recordCache
	consumers siteConsumers
	turns     turns
	tickets   tickets
	log       auditLog
	paused    paused

	requests requests

	full atomic.Bool // the store has reached its limit

	callers callerQueues
	stop    context.CancelFunc
}

// caller is the client of a request.
type caller struct {
	role pki.Role
	name string
	via  string // credential of the agent that acts for it; "": it asks itself
}

func (c caller) is(roles ...pki.Role) bool { return slices.Contains(roles, c.role) }

const answerWithin = 20 * time.Second // clients ask again

// newRequestHandler makes the handler of a queue; call listen.
func newRequestHandler(e *Engine, key []byte, o ServeOptions) *requestHandler {
	h := &requestHandler{
		e: e, key: key, o: o, cache: newRecordCache(e), log: newAuditLog(o.Audit),
		quota:     quota{Quota: o.Quota, uploads: map[string]*upload{}},
		consumers: siteConsumers{e: e, open: map[string]*siteConsumer{}},
		turns:     turns{share: o.Share, at: map[string]*round{}},
		tickets:   tickets{given: map[string]issuedTicket{}, present: map[string]time.Time{}},
	}
	e.token, e.heldFor, e.parts, e.unsettled = h.token, h.paused.why, o.Sites, h.cache.unsettled
	return h
}

// listen answers until close is called.
func (h *requestHandler) listen() error {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	if err := errors.Join(h.paused.load(h.o.Dir), h.requests.load(h.o.Dir, h.e.o.AckWait)); err != nil {
		return err
	}
	first, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	if err := errors.Join(h.cache.open(first), h.cache.follow(ctx)); err != nil {
		return err
	}
	h.callers = callerQueues{each: map[string]*callerQueue{}, answer: func(m *nats.Msg) { h.answer(ctx, m) }, refuse: func(m *nats.Msg) {
		if by, _, ok := h.asker(m); ok {
			h.log.refusal(by, "ask", claim{}, errTooMany)
			h.send(m, failed(errTooMany))
		}
	}}
	h.callers.done.Go(func() { h.tidy(ctx) })
	_, err := h.e.nc.Subscribe(h.e.names.ask("*", "*", "*"), func(m *nats.Msg) {
		if by, _, ok := h.asker(m); ok {
			h.callers.add(ctx, by.name, m)
		}
	})
	return err
}

func (h *requestHandler) close() error {
	h.callers.end(h.stop)
	return nil
}

// asker returns the caller and the verb of a request. A client may name any subject for the answer,
// but only its own inbox gets one.
func (h *requestHandler) asker(m *nats.Msg) (by caller, verb string, ok bool) {
	t := strings.Split(strings.TrimPrefix(m.Subject, string(h.e.names)+".ask."), ".")
	if len(t) != 3 || !strings.HasPrefix(m.Reply, inbox(t[1])+".") {
		return by, "", false
	}
	return caller{role: pki.Role(t[0]), name: t[1]}, t[2], true
}

func (h *requestHandler) answer(ctx context.Context, m *nats.Msg) {
	by, what, _ := h.asker(m)
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	a, err := h.do(ctx, by, what, m)
	if err != nil {
		a = failed(err)
	}
	h.send(m, a)
}

func (h *requestHandler) send(m *nats.Msg, a answer) {
	back, err := pack(a, a.data)
	if err == nil {
		back.Subject = m.Reply
		err = h.e.nc.PublishMsg(back)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		back, _ := pack(failed(err), nil)
		back.Subject = m.Reply
		_ = h.e.nc.PublishMsg(back)
	}
}

// verb answers one kind of request, for some roles.
type verb struct {
	do    func(h *requestHandler, ctx context.Context, by caller, m *nats.Msg) (answer, error)
	roles []pki.Role
}

// verbOf returns a verb whose requests have the type R.
func verbOf[R any, P interface {
	*R
	anyRequest
}](do func(h *requestHandler, ctx context.Context, by caller, q P) (answer, error), roles []pki.Role) verb {
	return verb{func(h *requestHandler, ctx context.Context, by caller, m *nats.Msg) (answer, error) {
		q := P(new(R))
		data, err := unpack(m, q)
		if err != nil {
			return answer{}, fmt.Errorf("%w: %w", errMalformed, err)
		}
		q.shared().data = data
		return do(h, ctx, by, q)
	}, roles}
}

var (
	working = []pki.Role{pki.Worker, pki.Submitter, pki.Operator}
	making  = []pki.Role{pki.Submitter, pki.Operator}
	running = []pki.Role{pki.Submitter, pki.Operator, pki.Agent}
	reading = []pki.Role{pki.Submitter, pki.Observer, pki.Operator}
)

var verbs = map[string]verb{
	"hello": verbOf((*requestHandler).hello, pki.Roles),

	"fetch":    verbOf((*requestHandler).fetch, working),
	"extend":   verbOf((*requestHandler).extend, working),
	"progress": verbOf((*requestHandler).progress, working),
	"return":   verbOf((*requestHandler).returnTask, working),
	"take":     verbOf((*requestHandler).take, working),
	"wanted":   verbOf((*requestHandler).wanted, working),
	"settle":   verbOf((*requestHandler).settle, working),
	"presence": verbOf((*requestHandler).presence, working),
	"results":  verbOf((*requestHandler).results, working),

	"piece-in":  verbOf((*requestHandler).pieceIn, working),
	"file-in":   verbOf((*requestHandler).fileIn, working),
	"file":      verbOf((*requestHandler).file, working),
	"piece-out": verbOf((*requestHandler).pieceOut, working),
	"remove":    verbOf((*requestHandler).remove, working),
	"files":     verbOf((*requestHandler).files, making),

	"submit": verbOf((*requestHandler).submit, making),
	"cancel": verbOf((*requestHandler).cancel, making),
	"finish": verbOf((*requestHandler).finish, making),
	"forget": verbOf((*requestHandler).forget, making),
	"pause":  verbOf((*requestHandler).pause, making),
	"log":    verbOf((*requestHandler).jobLog, making),
	"give":   verbOf((*requestHandler).handOver, []pki.Role{pki.Operator}),

	"get":     verbOf((*requestHandler).get, reading),
	"jobs":    verbOf((*requestHandler).jobs, reading),
	"workers": verbOf((*requestHandler).workers, reading),
	"sizes":   verbOf((*requestHandler).sizes, reading),

	"batch-add":    verbOf((*requestHandler).addRequest, making),
	"batch-change": verbOf((*requestHandler).changeRequest, making),
	"batches":      verbOf((*requestHandler).listRequests, reading),
	"batch-take":   verbOf((*requestHandler).takeRequest, running),
	"batch-hold":   verbOf((*requestHandler).holdRequest, running),
	"batch-return": verbOf((*requestHandler).returnRequest, running),
	"batch-end":    verbOf((*requestHandler).endRequest, running),
}

// changing are the verbs whose effect the next request must show.
var changing = map[string]bool{"submit": true, "cancel": true, "finish": true, "forget": true, "give": true, "pause": true}

func (h *requestHandler) do(ctx context.Context, by caller, what string, m *nats.Msg) (answer, error) {
	var q request
	if _, err := unpack(m, &q); err != nil {
		return answer{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if q.Protocol < queue.OldestProtocol || q.Protocol > queue.Protocol {
		return answer{}, fmt.Errorf("%w: the queue is of vidfilter %s, protocols %d to %d; this is %s, protocol %d: %s", errProtocol,
			h.o.Version, queue.OldestProtocol, queue.Protocol, cmp.Or(q.Version, "another"), q.Protocol, older(q.Protocol))
	}
	var a answer
	by, err := h.actor(by, &q)
	if err == nil {
		a, err = h.ask(ctx, by, what, m)
	}
	if err == nil && changing[what] {
		err = h.cache.read(ctx)
	}
	if errors.Is(err, queue.ErrRefused) {
		var c claim
		if q.Ticket != nil {
			c, _ = fromSubject(q.Ticket.Subject)
		}
		c.job = cmp.Or(c.job, q.ID)
		h.log.refusal(by, what, c, err)
	}
	return a, err
}

func (h *requestHandler) ask(ctx context.Context, by caller, what string, m *nats.Msg) (answer, error) {
	v, ok := verbs[what]
	if !ok {
		return answer{}, fmt.Errorf("%w: nothing answers to %q", queue.ErrRefused, what)
	}
	if !by.is(v.roles...) {
		return answer{}, fmt.Errorf("%w: a credential of the role %s may not ask for %q", queue.ErrRefused, by.role, what)
	}
	return v.do(h, ctx, by, m)
}

// older returns the side to update.
func older(protocol int) string {
	if protocol < queue.Protocol {
		return "update this one"
	}
	return "update the machine of the queue"
}

func (h *requestHandler) hello(context.Context, caller, *request) (answer, error) {
	return answer{Version: h.o.Version, Lease: h.e.o.AckWait}, nil
}

// mostPresent limits the workers of a credential.
const mostPresent = 1024

func (h *requestHandler) presence(ctx context.Context, by caller, q *presenceRequest) (answer, error) {
	if !isName(q.Worker) || q.Presence != nil && !isPresence(*q.Presence) {
		return answer{}, fmt.Errorf("%w: worker %q", errMalformed, q.Worker)
	}
	if !h.tickets.here(by, q.Worker, q.Presence != nil, h.e.o.AckWait) {
		return answer{}, fmt.Errorf("%w: %q has %d workers, and may have no more", queue.ErrRefused, by.name, mostPresent)
	}
	if q.Presence != nil {
		q.Presence.Credential = by.name
	}
	return answer{}, h.e.present(ctx, presenceKey(by, q.Worker), q.Presence)
}

// results returns the results of a job to its owner. Other callers learn whether their own task has
// a result.
func (h *requestHandler) results(ctx context.Context, by caller, q *request) (answer, error) {
	own := !by.is(pki.Worker)
	if own {
		_, err := h.own(ctx, by, q.ID)
		if own = err == nil; err != nil && q.Ticket == nil {
			return answer{}, err
		}
	}
	if !own {
		a, err := h.holder(ctx, by, q)
		if err == nil {
			_, err = h.e.kept(ctx, a.c)
		}
		switch {
		case errors.Is(err, errNoResult):
			return answer{}, nil
		case err != nil:
			return answer{}, err
		}
		return answer{Results: map[string]json.RawMessage{a.c.task: json.RawMessage("null")}}, nil
	}
	all, err := h.e.Results(ctx, q.ID)
	return answer{Results: all}, err
}

// mostJob limits a job's description.
const mostJob = 64 << 10

func (h *requestHandler) submit(ctx context.Context, by caller, q *submitRequest) (answer, error) {
	if q.Job == nil {
		return answer{}, fmt.Errorf("%w: no job", errMalformed)
	}
	if b, _ := json.Marshal(q.Job); len(b) > mostJob {
		return answer{}, fmt.Errorf("%w: the job's description has %d bytes, %d are allowed", queue.ErrQuota, len(b), mostJob)
	}
	before, err := h.own(ctx, by, q.Job.ID)
	if errors.Is(err, queue.ErrNoJob) {
		err = h.mayAdd(ctx, by, q.Job)
	}
	if err != nil {
		return answer{}, err
	}
	j := *q.Job
	j.User = by.name
	if before != nil && before.Job.User != "" {
		j.User = before.Job.User
	}
	if err := h.e.Submit(ctx, j, q.Again); err != nil {
		return answer{}, err
	}
	after, _, err := h.e.get(ctx, j.ID)
	if err == nil {
		h.log.note(by, submitted(before, after), after.Job, Note{})
	}
	return answer{}, err
}

// submitted describes the effect of a submission; "" for none.
func submitted(before, after *record) string {
	switch {
	case before == nil:
		return "submitted"
	case before.Round != after.Round:
		return "retried"
	case before.Epoch != after.Epoch:
		return "started over"
	}
	return ""
}

// own returns the record of a job that the caller may change.
func (h *requestHandler) own(ctx context.Context, by caller, id string) (*record, error) {
	if !isName(id) {
		return nil, fmt.Errorf("%w: job %q", errMalformed, id)
	}
	r, _, err := h.e.get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !by.owns(r) {
		return nil, fmt.Errorf("%w: the job %s is of %q; an operator may change it", queue.ErrRefused, id, r.Job.User)
	}
	return r, nil
}

func (c caller) owns(r *record) bool { return c.ownsOf(r.Job.User) }

// ownsOf reports whether the caller may change the jobs of a credential. Jobs without a credential
// belong to all submitters.
func (c caller) ownsOf(user string) bool {
	return c.is(pki.Operator) || c.is(pki.Submitter) && (user == c.name || user == "")
}

// Limits of a credential.
const (
	mostSites   = 128      // folders of jobs that have not ended
	mostJobs    = 10_000   // ended ones make room
	mostRecords = 64 << 20 // bytes of their records; the same
	mostFiles   = 1 << 16  // in the store
)

// mayAdd refuses new jobs beyond the limits of a credential, and IDs that end in the name of
// another.
func (h *requestHandler) mayAdd(ctx context.Context, by caller, j *queue.Job) error {
	if name, ok := queue.OwnerOf(j.ID); ok && name != by.name {
		return fmt.Errorf("%w: the ID %s is for jobs of %q", queue.ErrRefused, j.ID, name)
	}
	if err := h.cache.read(ctx); err != nil {
		return err
	}
	u := h.cache.usage(by.name)
	if _, known := u.sites[j.Site]; !known && len(u.sites) >= mostSites {
		return fmt.Errorf("%w: jobs of %q that have not ended are of %d folders, which is the limit (vidfilter jobs --remove)", queue.ErrQuota, by.name, len(u.sites))
	}
	for _, id := range h.cache.surplus(by.name, mostJobs-1, mostRecords-mostJob) {
		if err := h.drop(ctx, id, "made room"); err != nil {
			return err
		}
	}
	if u = h.cache.usage(by.name); u.jobs >= mostJobs || u.records > mostRecords-mostJob {
		return fmt.Errorf("%w: %q has %d jobs that have not ended, which is the limit (vidfilter jobs --remove)", queue.ErrQuota, by.name, u.jobs)
	}
	return nil
}

// drop removes a job that has ended, and its files.
func (h *requestHandler) drop(ctx context.Context, id, why string) error {
	r, _, err := h.e.get(ctx, id)
	if errors.Is(err, queue.ErrNoJob) {
		return nil
	}
	if err == nil {
		err = errors.Join(h.e.Forget(ctx, id), h.removeAll(ctx, id), h.cache.read(ctx))
	}
	if err == nil {
		h.log.note(caller{name: "serve"}, "removed", r.Job, Note{Why: why})
	}
	return err
}

func (h *requestHandler) cancel(ctx context.Context, by caller, q *cancelRequest) (answer, error) {
	return h.endJob(ctx, by, q.ID, "cancelled", func() error { return h.e.Cancel(ctx, q.ID, brief(q.Reason)) })
}

// finish ends a job whose output was found done.
func (h *requestHandler) finish(ctx context.Context, by caller, q *finishRequest) (answer, error) {
	if len(q.Result) > mostResult {
		return answer{}, fmt.Errorf("%w: a result of %d bytes", queue.ErrQuota, len(q.Result))
	}
	return h.endJob(ctx, by, q.ID, "finished", func() error { return h.e.Finish(ctx, q.ID, q.Result) })
}

// endJob ends a job of the caller, unless it has ended, and removes its files.
func (h *requestHandler) endJob(ctx context.Context, by caller, id, how string, end func() error) (answer, error) {
	r, err := h.own(ctx, by, id)
	if err == nil {
		err = end()
	}
	if err != nil || !r.live() {
		return answer{}, err
	}
	h.log.note(by, how, r.Job, Note{})
	return answer{}, h.removeAll(ctx, id)
}

func (h *requestHandler) forget(ctx context.Context, by caller, q *request) (answer, error) {
	r, err := h.own(ctx, by, q.ID)
	if err != nil {
		return answer{}, err
	}
	if err := errors.Join(h.e.Forget(ctx, q.ID), h.removeAll(ctx, q.ID)); err != nil {
		return answer{}, err
	}
	h.log.note(by, "removed", r.Job, Note{})
	return answer{}, nil
}

// handOver makes a job another credential's.
func (h *requestHandler) handOver(ctx context.Context, by caller, q *giveRequest) (answer, error) {
	r, err := h.own(ctx, by, q.ID)
	if err != nil {
		return answer{}, err
	}
	if !isName(q.Name) {
		return answer{}, fmt.Errorf("%w: %q is no name of a credential", errMalformed, q.Name)
	}
	if r.Job.User == q.Name {
		return answer{}, nil
	}
	if r, err = h.e.update(ctx, q.ID, func(r *record) error { r.Job.User = q.Name; return nil }); err != nil {
		return answer{}, err
	}
	h.log.note(by, "handed over", r.Job, Note{About: q.Name})
	// into the hands of the new owner's workers
	return answer{}, errors.Join(h.e.purgeTasks(ctx, q.ID, r.Epoch), h.cache.read(ctx), h.e.putOpen(ctx, r))
}

// removeAll removes the files of a job. fileIn refuses files still in transit.
func (h *requestHandler) removeAll(ctx context.Context, job string) (err error) {
	for _, n := range h.cache.files(job) {
		err = errors.Join(err, blobs{h.e}.Delete(ctx, n))
	}
	return err
}

func (h *requestHandler) get(ctx context.Context, by caller, q *request) (answer, error) {
	s, err := h.e.Get(ctx, q.ID)
	if h.o.Public != nil && !by.ownsOf(s.Job.User) {
		s.Job = h.o.Public(s.Job)
	}
	return answer{Status: &s}, err
}

// answerSize is about how many bytes of records go into an answer.
const answerSize = 256 << 10

// jobs returns the records that changed after a revision, the oldest change first.
func (h *requestHandler) jobs(ctx context.Context, by caller, q *jobsRequest) (answer, error) {
	p, err := h.cache.list(ctx, listing{q.Since, min(answerSize, h.e.maxBytes/2), q.Most, by, h.o.Public})
	return answer{Records: p.found, More: p.more, Left: p.left}, err
}

// sizes returns the bytes that the files of jobs take in the store.
func (h *requestHandler) sizes(context.Context, caller, *request) (answer, error) {
	return answer{Sizes: h.cache.bytes()}, nil
}

func (h *requestHandler) workers(ctx context.Context, _ caller, _ *request) (a answer, err error) {
	all, err := h.e.Workers(ctx)
	for _, w := range all {
		a.Workers = append(a.Workers, seenWorker{w, w.Seen})
	}
	return a, err
}
