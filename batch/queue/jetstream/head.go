package jetstream

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
)

// head answers the clients of a queue: it alone reads and writes the streams. What a client may
// ask depends on its role, which NATS has checked: it is a part of the subject.
type head struct {
	e       *Engine
	key     []byte   // of tickets
	version string   // of the program
	sites   []string // whose tasks workers may have
	audit   func(by, role, what, job, title string)
	quota   quota
	pieces  jetstream.Stream // of files

	mu    sync.Mutex
	desks map[string]*streams // by sites

	busy chan struct{} // a place for each question at work
	done sync.WaitGroup
	stop context.CancelFunc
}

// caller is the client that asks.
type caller struct {
	role pki.Role
	name string
}

func (c caller) is(roles ...pki.Role) bool { return slices.Contains(roles, c.role) }

const (
	mostQuestions = 256              // at work at the same time
	answerWithin  = 20 * time.Second // clients ask again
)

// listen answers until close is called.
func (h *head) listen() error {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop, h.busy, h.desks = cancel, make(chan struct{}, mostQuestions), map[string]*streams{}
	var err error
	if h.pieces, err = h.e.js.Stream(ctx, "OBJ_"+h.e.names.blobs()); err != nil {
		return err
	}
	_, err = h.e.nc.Subscribe(h.e.names.ask("*", "*", "*"), func(m *nats.Msg) {
		select {
		case h.busy <- struct{}{}:
		case <-ctx.Done():
			return
		}
		h.done.Go(func() {
			defer func() { <-h.busy }()
			h.answer(ctx, m)
		})
	})
	return err
}

func (h *head) close() error {
	h.stop()
	h.done.Wait()
	return nil
}

// answer answers a message. A client may name any subject for the answer, but only its own inbox
// gets one.
func (h *head) answer(ctx context.Context, m *nats.Msg) {
	t := strings.Split(strings.TrimPrefix(m.Subject, string(h.e.names)+".ask."), ".")
	if len(t) != 3 || !strings.HasPrefix(m.Reply, inbox(t[1])+".") {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	a, err := h.do(ctx, caller{pki.Role(t[0]), t[1]}, t[2], m)
	if err != nil {
		a = failed(err)
	}
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

// verb is something to ask for, and the roles that may.
type verb struct {
	do    func(h *head, ctx context.Context, by caller, q *question) (answer, error)
	roles []pki.Role
}

var (
	working = []pki.Role{pki.Worker, pki.Submitter, pki.Operator}
	making  = []pki.Role{pki.Submitter, pki.Operator}
	reading = []pki.Role{pki.Submitter, pki.Observer, pki.Operator}
)

var verbs = map[string]verb{
	"hello": {(*head).hello, pki.Roles},

	"fetch":    {(*head).fetch, working},
	"extend":   {(*head).extend, working},
	"return":   {(*head).giveBack, working},
	"take":     {(*head).take, working},
	"wanted":   {(*head).wanted, working},
	"settle":   {(*head).settle, working},
	"presence": {(*head).presence, working},
	"results":  {(*head).results, working},

	"piece-in":  {(*head).pieceIn, working},
	"file-in":   {(*head).fileIn, working},
	"file":      {(*head).file, working},
	"piece-out": {(*head).pieceOut, working},
	"remove":    {(*head).remove, working},
	"files":     {(*head).files, making},

	"submit": {(*head).submit, making},
	"cancel": {(*head).cancel, making},

	"get":     {(*head).get, reading},
	"jobs":    {(*head).jobs, reading},
	"workers": {(*head).workers, reading},
}

func (h *head) do(ctx context.Context, by caller, what string, m *nats.Msg) (answer, error) {
	q := new(question)
	data, err := unpack(m, q)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	q.data = data
	if q.Protocol < queue.OldestProtocol || q.Protocol > queue.Protocol {
		return answer{}, fmt.Errorf("%w: the queue is of vidfilter %s, protocols %d to %d; this is %s, protocol %d: %s", errProtocol,
			h.version, queue.OldestProtocol, queue.Protocol, cmp.Or(q.Version, "another"), q.Protocol, older(q.Protocol))
	}
	v, ok := verbs[what]
	if !ok {
		return answer{}, fmt.Errorf("%w: nothing answers to %q", ErrRefused, what)
	}
	if !by.is(v.roles...) {
		return answer{}, fmt.Errorf("%w: a credential of the role %s may not ask for %q", ErrRefused, by.role, what)
	}
	return v.do(h, ctx, by, q)
}

// older says which side is to be updated.
func older(protocol int) string {
	if protocol < queue.Protocol {
		return "update this one"
	}
	return "update the machine of the queue"
}

func (h *head) hello(context.Context, caller, *question) (answer, error) {
	return answer{Version: h.version, Lease: h.e.o.AckWait}, nil
}

// mostSites limits the sites that a client asks for at a time, and mostDesks the sets of sites that
// are remembered, since each has consumers.
const (
	mostSites = 16
	mostDesks = 1024
)

// fetch gives out the message of a task. Workers get those of some sites only.
func (h *head) fetch(ctx context.Context, by caller, q *question) (answer, error) {
	if n := len(q.Sites); n > mostSites || n == 0 && !q.Any {
		return answer{}, fmt.Errorf("%w: tasks of %d sites", errMalformed, n)
	}
	for _, s := range q.Sites {
		if by.is(pki.Worker) && !slices.Contains(h.sites, s) {
			return answer{}, fmt.Errorf("%w: a worker's credential is for parts that come through the queue; a worker with --shared needs a submitter's", ErrRefused)
		}
	}
	if q.Any && by.is(pki.Worker) {
		return answer{}, fmt.Errorf("%w: a worker's credential is not for tasks of any site", ErrRefused)
	}
	d, err := h.desk(ctx, q)
	if err != nil {
		return answer{}, err
	}
	m, err := d.next(ctx)
	if m == nil || err != nil {
		return answer{}, err
	}
	t := &ticket{Subject: m.Subject(), Reply: m.(jetstream.Msg).Reply()}
	t.MAC = t.sign(h.key, by.name)
	return answer{Ticket: t, Body: m.Data()}, nil
}

// desk returns the consumers of some sites.
func (h *head) desk(ctx context.Context, q *question) (*streams, error) {
	key := fmt.Sprintf("%q %t", q.Sites, q.Any)
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.desks[key]; d != nil {
		return d, nil
	}
	if len(h.desks) >= mostDesks {
		clear(h.desks)
	}
	d := &streams{e: h.e}
	if _, err := d.open(ctx, queue.Worker{Sites: q.Sites, Any: q.Any}); err != nil {
		return nil, err
	}
	h.desks[key] = d
	return d, nil
}

// claim checks a ticket.
func (h *head) claim(by caller, q *question) (relayed, claim, error) {
	if q.Ticket == nil || !hmac.Equal([]byte(q.Ticket.MAC), []byte(q.Ticket.sign(h.key, by.name))) {
		return relayed{}, claim{}, fmt.Errorf("%w: not the ticket of a task that was given to %q", ErrRefused, by.name)
	}
	c, err := fromSubject(q.Ticket.Subject)
	return relayed{h.e.nc, q.Ticket}, c, err
}

func (h *head) extend(_ context.Context, by caller, q *question) (answer, error) {
	m, _, err := h.claim(by, q)
	if err == nil {
		err = m.InProgress()
	}
	return answer{}, err
}

func (h *head) giveBack(_ context.Context, by caller, q *question) (answer, error) {
	m, _, err := h.claim(by, q)
	if err == nil {
		err = m.Nak()
	}
	return answer{}, err
}

// attempt returns the attempt that a question is about.
func (h *head) attempt(by caller, q *question) (*attempt, error) {
	m, c, err := h.claim(by, q)
	if err != nil {
		return nil, err
	}
	a := &attempt{e: h.e, id: q.Attempt, worker: presenceKey(by, q.Worker), holds: q.Holds, m: m, c: c, round: q.Round}
	a.t = queue.Task{Job: c.job, Name: c.task, Kind: kindOf(c.task), Attempt: q.Number}
	if !isName(q.Attempt) || !isName(q.Worker) {
		return nil, fmt.Errorf("%w: attempt %q of worker %q", errMalformed, q.Attempt, q.Worker)
	}
	return a, nil
}

// kindOf returns the kind of a task, whose name begins with it.
func kindOf(task string) string {
	kind, _, _ := strings.Cut(task, "-")
	return kind
}

func presenceKey(by caller, worker string) string { return by.name + "." + worker }

func (h *head) take(ctx context.Context, by caller, q *question) (answer, error) {
	a, err := h.attempt(by, q)
	if err == nil {
		err = h.mayTake(ctx, by, a)
	}
	if err == nil {
		err = a.take(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{Job: &a.job, Round: a.round, Number: a.t.Attempt}, nil
}

// mayTake refuses tasks that touch the files of others' jobs: who does such a task says what the
// job's result is. Anybody may do parts that come through the store.
func (h *head) mayTake(ctx context.Context, by caller, a *attempt) error {
	for _, site := range h.sites {
		if strings.Contains(a.m.Subject(), "."+siteToken(site)+".") {
			return nil
		}
	}
	r, _, err := h.e.get(ctx, a.c.job)
	if err != nil || r.malformed() || by.owns(r) {
		return nil // take says what is wrong with it
	}
	_ = a.m.NakWithDelay(h.e.o.AckWait)
	return fmt.Errorf("%w: the job %s is of %q, and %q may not decide about its files: use the same credential", ErrRefused, a.c.job, r.Job.User, by.name)
}

func (h *head) wanted(ctx context.Context, by caller, q *question) (answer, error) {
	a, err := h.attempt(by, q)
	if err == nil {
		err = a.wanted(ctx)
	}
	return answer{}, err
}

// mostResult limits the result of a worker's task.
const mostResult = 256 << 10

// settle takes the end of an attempt. A worker's task cannot end the job, nor name others.
func (h *head) settle(ctx context.Context, by caller, q *question) (answer, error) {
	a, err := h.attempt(by, q)
	if err != nil || q.Ending == nil {
		return answer{}, errors.Join(err, notEnded(q))
	}
	if o := q.Ending.Outcome; o != nil && by.is(pki.Worker) && (o.End || len(followers(*o)) > 0 || len(o.Result) > mostResult) {
		return answer{}, fmt.Errorf("%w: a worker's result is one part of %d bytes at most", ErrRefused, mostResult)
	}
	r, _, err := h.e.get(ctx, a.c.job)
	switch {
	case errors.Is(err, queue.ErrNoJob):
		r = &record{}
	case err != nil:
		return answer{}, err
	}
	a.job = r.Job
	return answer{}, a.settle(ctx, *q.Ending)
}

func notEnded(q *question) error {
	if q.Ending == nil || (q.Ending.How == endDone) != (q.Ending.Outcome != nil) {
		return fmt.Errorf("%w: an end without outcome", errMalformed)
	}
	return nil
}

func (h *head) presence(ctx context.Context, by caller, q *question) (answer, error) {
	if !isName(q.Worker) {
		return answer{}, fmt.Errorf("%w: worker %q", errMalformed, q.Worker)
	}
	if q.Presence != nil {
		q.Presence.Credential = by.name
	}
	return answer{}, h.e.present(ctx, presenceKey(by, q.Worker), q.Presence)
}

// results returns those of a job; to a worker, whether its own task has one.
func (h *head) results(ctx context.Context, by caller, q *question) (answer, error) {
	if by.is(pki.Worker) {
		_, c, err := h.claim(by, q)
		if err == nil {
			_, err = h.e.kept(ctx, c)
		}
		switch {
		case errors.Is(err, errNoResult):
			return answer{}, nil
		case err != nil:
			return answer{}, err
		}
		return answer{Results: map[string]json.RawMessage{c.task: json.RawMessage("null")}}, nil
	}
	all, err := h.e.Results(ctx, q.ID)
	return answer{Results: all}, err
}

// mostJob limits a job's description.
const mostJob = 1 << 20

func (h *head) submit(ctx context.Context, by caller, q *question) (answer, error) {
	if q.Job == nil {
		return answer{}, fmt.Errorf("%w: no job", errMalformed)
	}
	if b, _ := json.Marshal(q.Job); len(b) > mostJob {
		return answer{}, fmt.Errorf("%w: the job's description has %d bytes, %d are allowed", queue.ErrQuota, len(b), mostJob)
	}
	before, err := h.own(ctx, by, q.Job.ID)
	if err != nil && !errors.Is(err, queue.ErrNoJob) {
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
		h.note(by, submitted(before, after), after.Job)
	}
	return answer{}, err
}

// submitted says what a submission has done, or "" if nothing.
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
func (h *head) own(ctx context.Context, by caller, id string) (*record, error) {
	if !isName(id) {
		return nil, fmt.Errorf("%w: job %q", errMalformed, id)
	}
	r, _, err := h.e.get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !by.owns(r) {
		return nil, fmt.Errorf("%w: the job %s is of %q; an operator may change it", ErrRefused, id, r.Job.User)
	}
	return r, nil
}

func (c caller) owns(r *record) bool {
	return c.is(pki.Operator) || c.is(pki.Submitter) && (r.Job.User == c.name || r.Job.User == "")
}

func (h *head) cancel(ctx context.Context, by caller, q *question) (answer, error) {
	r, err := h.own(ctx, by, q.ID)
	if err != nil {
		return answer{}, err
	}
	if err := h.e.Cancel(ctx, q.ID, q.Reason); err != nil || !r.live() {
		return answer{}, err
	}
	h.note(by, "cancelled", r.Job)
	return answer{}, h.removeAll(ctx, q.ID)
}

// removeAll removes the files of a job. Those that are on their way are refused: see fileIn.
func (h *head) removeAll(ctx context.Context, job string) error {
	names, err := blobs{h.e}.List(ctx, job+"/")
	for _, n := range names {
		err = errors.Join(err, blobs{h.e}.Delete(ctx, n))
	}
	return err
}

func (h *head) note(by caller, what string, j queue.Job) {
	if h.audit != nil && what != "" {
		h.audit(by.name, string(by.role), what, j.ID, j.Title)
	}
}

func (h *head) get(ctx context.Context, _ caller, q *question) (answer, error) {
	s, err := h.e.Get(ctx, q.ID)
	return answer{Status: &s}, err
}

// answerSize is about how many bytes of records go into an answer.
const answerSize = 1 << 20

// jobs returns the records that changed after a revision, the oldest change first.
func (h *head) jobs(ctx context.Context, _ caller, q *question) (a answer, err error) {
	w, err := h.e.jobs.WatchAll(ctx, jetstream.ResumeFromRevision(q.Since+1))
	if err != nil {
		return a, fmt.Errorf("queue: reading jobs: %w", err)
	}
	defer w.Stop()
	for size := 0; ; {
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case entry := <-w.Updates():
			if entry == nil {
				return a, ctx.Err()
			}
			a.Records = append(a.Records, storedRecord{
				Key: entry.Key(), Value: entry.Value(), At: entry.Revision(), Gone: entry.Operation() != jetstream.KeyValuePut,
			})
			if size += len(entry.Value()) + len(entry.Key()); size > min(answerSize, h.e.maxBytes/2) {
				a.More = true
				return a, nil
			}
		}
	}
}

func (h *head) workers(ctx context.Context, _ caller, _ *question) (a answer, err error) {
	all, err := h.e.Workers(ctx)
	for _, w := range all {
		a.Workers = append(a.Workers, seenWorker{w, w.Seen})
	}
	return a, err
}
