package jetstream

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/queue"
)

// Note is an action for the audit log of a queue.
type Note struct {
	By     string `json:"by"`            // credential
	Role   string `json:"role"`          // of the credential; "" for the queue itself
	Via    string `json:"via,omitempty"` // credential of the agent that acts for By
	Action string `json:"action"`
	Job    string `json:"job,omitempty"`
	Title  string `json:"title,omitempty"` // of the job
	Task   string `json:"task,omitempty"`
	About  string `json:"about,omitempty"` // another credential
	Why    string `json:"why,omitempty"`
}

// auditLog bounds the notes of each credential.
type auditLog struct {
	to func(Note) // may be nil

	mu      sync.Mutex
	refused map[string]*refusals
	minute  map[string]*noteCount // by credential
	bad     map[string]int        // refused results of its workers
}

func newAuditLog(to func(Note)) auditLog {
	return auditLog{to: to, refused: map[string]*refusals{}, minute: map[string]*noteCount{}, bad: map[string]int{}}
}

// noteCount counts a credential's notes in a minute: too many would push others out of the log.
type noteCount struct {
	begun   time.Time
	n, left int // written, and left out
}

// mostNotes limits the notes of a credential in a minute.
const mostNotes = 2000

// refusals counts refused requests of a credential, which must not fill the log.
type refusals struct {
	noted time.Time
	since int
}

// refusalEvery is the least time between two notes of a refused verb of a credential.
const refusalEvery = 10 * time.Second

func (l *auditLog) note(by caller, what string, j queue.Job, more Note) {
	if l.to == nil || what == "" {
		return
	}
	l.mu.Lock()
	m := l.minute[by.name]
	if m == nil || time.Since(m.begun) > time.Minute {
		if m != nil && m.left > 0 {
			more.Why = strings.TrimSpace(fmt.Sprintf("%s (%d lines were left out before)", more.Why, m.left))
		}
		m = &noteCount{begun: time.Now()}
		l.minute[by.name] = m
	}
	if m.n >= mostNotes {
		m.left++
		l.mu.Unlock()
		return
	}
	m.n++
	l.mu.Unlock()
	more.Via = by.via
	more.By, more.Role, more.Action, more.Job, more.Title = by.name, string(by.role), what, j.ID, j.Title
	l.to(more)
}

func (l *auditLog) refusal(by caller, verb string, c claim, err error) {
	l.mu.Lock()
	r := l.refused[by.name+" "+verb]
	if r == nil {
		r = &refusals{}
		l.refused[by.name+" "+verb] = r
	}
	more := r.since
	if r.since++; time.Since(r.noted) < refusalEvery {
		l.mu.Unlock()
		return
	}
	r.noted, r.since = time.Now(), 0
	l.mu.Unlock()
	why := brief(err.Error())
	if more > 0 {
		why += fmt.Sprintf(" (and %d times before)", more)
	}
	l.note(by, "refused: "+verb, queue.Job{ID: c.job}, Note{Task: c.task, Why: why})
}

// badResult counts and notes a result that no task can have.
func (l *auditLog) badResult(by caller, j queue.Job, about Note) {
	l.mu.Lock()
	l.bad[by.name]++
	l.mu.Unlock()
	l.note(by, "bad result", j, about)
}

// BadResults returns how many results that no task can have came from the workers of each
// credential since the server began. Credentials without any are left out.
func (s *Server) BadResults() map[string]int {
	s.handler.log.mu.Lock()
	defer s.handler.log.mu.Unlock()
	return maps.Clone(s.handler.log.bad)
}

// Limits returns what is nearest to its limit: of each kind, the credential that has most of what
// it may have.
func (s *Server) Limits() (all []queue.Limit) {
	h := s.handler
	nearest := map[string]int{} // by What
	add := func(l queue.Limit) {
		i, there := nearest[l.What]
		if !there {
			nearest[l.What] = len(all)
			all = append(all, l)
		} else if l.Part() > all[i].Part() {
			all[i] = l
		}
	}
	for name, u := range h.cache.all() {
		add(queue.Limit{What: "folders", Of: name, Used: int64(len(u.sites)), Most: mostSites})
		add(queue.Limit{What: "jobs", Of: name, Used: int64(u.live), Most: mostJobs})
		add(queue.Limit{What: "files", Of: name, Used: int64(u.files), Most: mostFiles})
		add(queue.Limit{What: "records", Of: name, Used: u.lively, Most: mostRecords})
	}
	for name, n := range h.requests.live() {
		add(queue.Limit{What: "batches", Of: name, Used: int64(n), Most: mostRequests})
	}
	for name, n := range h.callers.waits() {
		add(queue.Limit{What: "requests", Of: name, Used: int64(n), Most: mostWaiting})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if i, err := h.e.tasks.Info(ctx); err == nil {
		add(queue.Limit{What: "consumers", Used: int64(i.State.Consumers), Most: mostConsumers})
	}
	if i, err := h.e.js.AccountInfo(ctx); err == nil && i.Limits.MaxStore > 0 {
		add(queue.Limit{What: "bytes of store", Used: int64(i.Store), Most: i.Limits.MaxStore})
	}
	return all
}
