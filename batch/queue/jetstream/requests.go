package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/durable"
)

// requests are the batches of a queue, each in a file beside it.
type requests struct {
	dir   string // "" for tests: no files
	lease time.Duration

	mu     sync.Mutex
	all    map[string]*batchEntry
	agents map[string]agentSeen // by credential and worker
}

type batchEntry struct {
	queue.RequestStatus
	Holder string // credential of the process that runs it
	Token  string // its hold
	Lost   int    // how many such processes fell silent

	seen    time.Time // for the last time
	refused map[string]refused
}

// refused is why an agent cannot run a request.
type refused struct {
	why   string
	until time.Time
}

type agentSeen struct {
	credential, worker, folder string
	all                        bool // it runs the batches of all credentials
	at                         time.Time
}

// Limits of a credential's requests.
const (
	mostRequests = 100 // that have not ended, and that have
	mostLost     = 10  // processes that fall silent at one
	mostTable    = 32 << 10
	mostAgents   = 1000 // of all credentials

	refusalEnds = 30 * time.Second
)

func (r *requests) load(dir string, lease time.Duration) error {
	r.all, r.agents, r.lease = map[string]*batchEntry{}, map[string]agentSeen{}, lease
	if dir == "" {
		return nil
	}
	r.dir = filepath.Join(dir, "batches")
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
	for _, name := range files {
		p := &batchEntry{seen: time.Now()}
		b, e := os.ReadFile(name)
		if e == nil {
			e = json.Unmarshal(b, p)
		}
		if e == nil && r.file(p.ID) != name {
			e = fmt.Errorf("it is of the batch %q", p.ID)
		}
		if e != nil {
			return errorf("remove it, and submit that batch again", e, "queue: %s: %v", name, e)
		}
		r.all[p.ID] = p
	}
	return err
}

func (r *requests) file(id string) string { return filepath.Join(r.dir, id+".json") }

func (r *requests) put(p batchEntry) error {
	b, err := json.Marshal(p)
	if err == nil && r.dir != "" {
		err = durable.WriteSecret(r.file(p.ID), b)
	}
	if err != nil {
		return fmt.Errorf("queue: batch %s: %w", p.ID, err)
	}
	r.all[p.ID] = &p
	return nil
}

func (r *requests) drop(id string) error {
	delete(r.all, id)
	if r.dir == "" {
		return nil
	}
	if err := os.Remove(r.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// isOpen reports whether an agent may take a request.
func (r *requests) isOpen(p *batchEntry) bool {
	return p.State == queue.Queued || p.State == queue.Running && time.Since(p.seen) > r.lease
}

// sorted returns the requests in the order of their submission.
func (r *requests) sorted() (all []*batchEntry) {
	for _, p := range r.all {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *batchEntry) int {
		if c := a.Submitted.Compare(b.Submitted); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// add stores a new request, or returns the same one that is there.
func (r *requests) add(by caller, q queue.Request, worker, hold string) (*batchEntry, error) {
	q.User = by.name
	if err := checkRequest(q); err != nil {
		return nil, err
	}
	live := 0
	for _, p := range r.sorted() {
		if p.User != q.User || p.State.Ended() {
			continue
		}
		live++
		switch same := p.ID == q.ID; {
		case same && hold == "" && equal(p.Request, q):
			return p, nil // the answer was lost
		case same && (r.isOpen(p) || hold != "" && p.Token == hold):
			live--
		case same || p.Root == q.Root:
			return nil, fmt.Errorf("%w: %s, by %s", queue.ErrHeld, p.ID, p.By)
		}
	}
	if live >= mostRequests {
		return nil, fmt.Errorf("%w: %q has %d batches that have not ended", queue.ErrQuota, q.User, live)
	}
	p := batchEntry{RequestStatus: queue.RequestStatus{Request: q, State: queue.Queued, Detached: hold == "", Submitted: time.Now().UTC()}}
	if hold != "" {
		p.give(by.name, worker, hold)
	}
	if err := errors.Join(r.makeRoom(q.User), r.put(p)); err != nil {
		return nil, err
	}
	return r.all[p.ID], nil
}

func equal(a, b queue.Request) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// checkRequest refuses requests that no batch makes.
func checkRequest(q queue.Request) error {
	if owner, ok := queue.OwnerOf(q.ID); !isName(q.ID) || !ok || owner != q.User || queue.BatchOf(q.ID) != q.ID {
		return fmt.Errorf("%w: the ID %q of a batch of %q", errMalformed, q.ID, q.User)
	}
	if !filepath.IsAbs(q.Root) || filepath.Clean(q.Root) != q.Root || len(q.Document) == 0 {
		return fmt.Errorf("%w: a batch without absolute folder or without jobs", errMalformed)
	}
	if b, err := json.Marshal(q); err != nil || len(b) > queue.MostRequest {
		return fmt.Errorf("%w: the batch's description has %d bytes, %d are allowed", queue.ErrQuota, len(b), queue.MostRequest)
	}
	return nil
}

// makeRoom removes the oldest requests of a credential that have ended, beyond the limit.
func (r *requests) makeRoom(user string) (err error) {
	ended := slices.DeleteFunc(r.sorted(), func(p *batchEntry) bool { return p.User != user || !p.State.Ended() })
	for _, p := range ended[:max(0, len(ended)-mostRequests+1)] {
		err = errors.Join(err, r.drop(p.ID))
	}
	return err
}

// give lets a process run the request.
func (p *batchEntry) give(credential, worker, hold string) {
	p.State, p.Holder, p.Token, p.seen = queue.Running, credential, hold, time.Now()
	p.By, p.Worker = fmt.Sprintf("%s (%s)", worker, credential), worker
}

// take gives an agent the oldest request that it can run.
func (r *requests) take(by caller, worker, folder, hold string) (*batchEntry, error) {
	key := by.name + " " + worker
	for other, a := range r.agents {
		if time.Since(a.at) > r.lease {
			delete(r.agents, other)
		}
	}
	if len(r.agents) >= mostAgents {
		return nil, fmt.Errorf("%w: %d agents are connected", queue.ErrQuota, len(r.agents))
	}
	r.agents[key] = agentSeen{by.name, worker, folder, !by.is(pki.Submitter), time.Now()}
	if hold == "" {
		return nil, queue.ErrNoRequest
	}
	for _, p := range r.sorted() {
		if p.State == queue.Running && p.Holder == by.name && p.Token == hold {
			return p, nil // the answer was lost
		}
	}
	for _, p := range r.sorted() {
		if !r.isOpen(p) || p.Paused || !r.agents[key].reaches(p) || time.Now().Before(p.refused[key].until) {
			continue
		}
		now := *p
		if now.State == queue.Running {
			now.Lost++
		}
		if now.Lost > mostLost {
			now.end(queue.Ending{State: queue.Failed, Exit: 1, Reason: fmt.Sprintf("%d processes that ran it died", now.Lost)})
		} else {
			now.give(by.name, worker, hold)
		}
		if err := r.put(now); err != nil {
			return nil, err
		}
		if !now.State.Ended() {
			return r.all[now.ID], nil
		}
	}
	return nil, queue.ErrNoRequest
}

// reaches reports whether an agent may run a request, by its folder and credential.
func (a agentSeen) reaches(p *batchEntry) bool {
	rel, err := filepath.Rel(a.folder, p.Root)
	return err == nil && filepath.IsLocal(rel) && (a.all || a.credential == p.User)
}

// end ends a request, unless it was cancelled before.
func (p *batchEntry) end(e queue.Ending) {
	if len(e.Table) > mostTable {
		e.Table = strings.ToValidUTF8(e.Table[:mostTable], "") + "\n...\n"
	}
	e.Reason, e.Hint = clip(e.Reason), clip(e.Hint)
	if !p.State.Ended() {
		p.State, p.Ended = e.State, time.Now().UTC()
	}
	p.Ending, p.Paused = e, false
}

// held returns the request that a process runs.
func (r *requests) held(by caller, id, hold string) (*batchEntry, error) {
	p := r.all[id]
	switch {
	case p == nil:
		return nil, queue.ErrNoRequest
	case hold == "" || p.Holder != by.name || p.Token != hold:
		return nil, fmt.Errorf("%w: %s, by %s", queue.ErrHeld, id, p.By)
	}
	return p, nil
}

func (r *requests) hold(by caller, id, hold string) error {
	p, err := r.held(by, id, hold)
	if err != nil {
		return err
	}
	if p.State.Ended() {
		return queue.ErrCancelled
	}
	p.seen = time.Now()
	return nil
}

func (r *requests) release(by caller, id, hold, why string) error {
	p, err := r.held(by, id, hold)
	if err != nil || p.State.Ended() {
		return err
	}
	now := *p
	now.refused = maps.Clone(p.refused)
	if now.refused == nil {
		now.refused = map[string]refused{}
	}
	if why != "" {
		now.refused[by.name+" "+p.Worker] = refused{clip(why), time.Now().Add(refusalEnds)}
	}
	now.State, now.Holder, now.Token, now.By, now.Worker = queue.Queued, "", "", "", ""
	return r.put(now)
}

// status returns a request as of now.
func (r *requests) status(p *batchEntry) queue.RequestStatus {
	s := p.RequestStatus
	if r.isOpen(p) {
		s.State, s.By, s.Waits = queue.Queued, "", r.waits(p)
	}
	return s
}

// waits returns why no process runs a request.
func (r *requests) waits(p *batchEntry) string {
	if p.Paused {
		return "it is paused"
	}
	var why []string
	reached := false
	for _, a := range r.agents {
		if time.Since(a.at) > r.lease || !a.reaches(p) {
			continue
		}
		reached = true
		if no := p.refused[a.credential+" "+a.worker]; no.why != "" {
			why = append(why, fmt.Sprintf("the agent %s cannot run it: %s", a.worker, no.why))
		}
	}
	slices.Sort(why)
	switch {
	case len(why) > 0:
		return strings.Join(why, "; ")
	case reached:
		return "it is the turn of other batches"
	}
	return fmt.Sprintf("no agent for %s is connected: run vidfilter agent DIR there, with a folder DIR above it", p.Root)
}

func (r *requests) change(by caller, id, what string) (*batchEntry, error) {
	p := r.all[id]
	if p == nil {
		return nil, queue.ErrNoRequest
	}
	if !by.ownsOf(p.User) {
		return nil, fmt.Errorf("%w: the batch %s is of %q; an operator may change it", queue.ErrRefused, id, p.User)
	}
	if what == queue.RemoveRequest {
		return p, r.drop(id)
	}
	now := *p
	if ended := p.State.Ended(); ended != (what == queue.RetryRequest) {
		return nil, fmt.Errorf("the batch %s is %s", id, p.State)
	}
	switch what {
	case queue.CancelRequest:
		now.end(queue.Ending{State: queue.Cancelled, Exit: 1, Reason: "the batch was cancelled"})
	case queue.PauseRequest:
		now.Paused = true
	case queue.ResumeRequest:
		now.Paused = false
	case queue.RetryRequest:
		now.State, now.Ended, now.Ending, now.Lost = queue.Queued, time.Time{}, queue.Ending{}, 0
		now.RetryFailed, now.Detached, now.Token, now.By = true, true, "", ""
	default:
		return nil, fmt.Errorf("%w: %q is no change of a batch", errMalformed, what)
	}
	return p, r.put(now)
}

// live counts the requests of each credential that have not ended.
func (r *requests) live() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := map[string]int{}
	for _, p := range r.all {
		if !p.State.Ended() {
			n[p.User]++
		}
	}
	return n
}

// expire removes requests that ended before a time, and cancels requests that have not run since.
func (r *requests) expire(before time.Time, why string) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.sorted() {
		switch {
		case p.State.Ended() && p.Ended.Before(before):
			err = errors.Join(err, r.drop(p.ID))
		case r.isOpen(p) && p.Submitted.Before(before) && p.seen.Before(before):
			now := *p
			now.end(queue.Ending{State: queue.Cancelled, Exit: 1, Reason: why})
			err = errors.Join(err, r.put(now))
		}
	}
	return err
}
