package jetstream

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/queue"
)

// Note is what somebody did, for the audit log of a queue.
type Note struct {
	By     string // credential
	Role   string // of it; "" for the queue itself
	Action string
	Job    string
	Title  string // of the job
	Task   string
	About  string // another credential
	Why    string
}

// auditLog tells who did what.
type auditLog struct {
	to func(Note) // may be nil

	mu      sync.Mutex
	refused map[string]*refusals
	minute  map[string]*noted // by credential
}

// noted are the notes of a credential in a minute. Too many would drive others' out of the log.
type noted struct {
	begun   time.Time
	n, left int // written, and left out
}

// mostNotes limits the notes of a credential in a minute.
const mostNotes = 2000

// refusals are those of a credential, which must not fill the log.
type refusals struct {
	told  time.Time
	since int
}

// tellRefusals is how often the log says that something was refused to a credential.
const tellRefusals = 10 * time.Second

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
		m = &noted{begun: time.Now()}
		l.minute[by.name] = m
	}
	if m.n >= mostNotes {
		m.left++
		l.mu.Unlock()
		return
	}
	m.n++
	l.mu.Unlock()
	more.By, more.Role, more.Action, more.Job, more.Title = by.name, string(by.role), what, j.ID, j.Title
	l.to(more)
}

// refusal notes that something was refused.
func (l *auditLog) refusal(by caller, verb string, c claim, err error) {
	l.mu.Lock()
	r := l.refused[by.name+" "+verb]
	if r == nil {
		r = &refusals{}
		l.refused[by.name+" "+verb] = r
	}
	more := r.since
	if r.since++; time.Since(r.told) < tellRefusals {
		l.mu.Unlock()
		return
	}
	r.told, r.since = time.Now(), 0
	l.mu.Unlock()
	why := brief(err.Error())
	if more > 0 {
		why += fmt.Sprintf(" (and %d times before)", more)
	}
	l.note(by, "refused: "+verb, queue.Job{ID: c.job}, Note{Task: c.task, Why: why})
}
