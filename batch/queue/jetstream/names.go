package jetstream

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
)

// names makes all names on the server, which begin with the prefix.
type names string

func (n names) tasks() string   { return string(n) + "-tasks" }
func (n names) jobs() string    { return string(n) + "-jobs" }
func (n names) results() string { return string(n) + "-results" }
func (n names) workers() string { return string(n) + "-workers" }
func (n names) logs() string    { return string(n) + "-logs" }
func (n names) blobs() string   { return string(n) + "-blobs" }

// Classes of tasks. Those of jobs with a priority come first, then those of started jobs, so that
// jobs get finished.
const (
	classFirst = "first"
	classOn    = "on"
	classNew   = "new"
)

var classes = []string{classFirst, classOn, classNew}

const all = "*"

func (n names) allTasks() string { return string(n) + ".task.>" }

func (n names) task(class, site, job, epoch, name string) string {
	return strings.Join([]string{string(n), "task", class, site, job, epoch, name}, ".")
}

// claim identifies the task of a message.
type claim struct{ job, epoch, task string }

func (c claim) String() string { return c.job + "." + c.epoch + "." + c.task }

// fromSubject parses the end of a task's or an event's subject.
func fromSubject(subject string) (claim, error) {
	t := strings.Split(subject, ".")
	if n := len(t) - 3; n > 0 && isName(t[n]) && isName(t[n+1]) && isName(t[n+2]) {
		return claim{t[n], t[n+1], t[n+2]}, nil
	}
	return claim{}, fmt.Errorf("queue: unexpected message %q in the stream", subject)
}

// Keys in the bucket of results.
func resultKey(c claim) string { return "r." + c.String() }
func triesKey(c claim) string  { return "t." + c.String() }

// event returns the subject of an event. Events only speed things up; they may be lost.
func (n names) event(kind string, c claim) string {
	return strings.Join([]string{string(n), "event", kind, c.String()}, ".")
}

func (n names) events(kind string) string { return string(n) + ".event." + kind + ".>" }

// Kinds of events.
const (
	eventPut      = "put"      // a task is in the stream
	eventProgress = "progress" // with a queue.Active
	eventAsk      = "ask"      // a watcher has started: publish progress
	eventStop     = "stop"     // a job ended or was started over
	eventDone     = "done"     // a task has a result
	eventOver     = "over"     // a worker released a task
	eventChange   = "change"   // a record was written
)

const anySite = "any"

// siteToken encodes a site in a subject. Names with other characters are hashed.
func siteToken(site string) string {
	switch {
	case site == "":
		return anySite
	case isName(site) && len(site) <= 64:
		return "s_" + site
	}
	h := sha256.Sum256([]byte(site))
	return "h_" + hex.EncodeToString(h[:12])
}

const maxName = 128

func isName(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func checkTask(t queue.Task) error {
	if !isName(t.Name) {
		return fmt.Errorf("queue: task name %q: only letters, digits and dashes", t.Name)
	}
	return nil
}

func newID() string { return strings.ToLower(rand.Text()[:16]) }

// Only the process of Serve reaches the streams of its queue. A client publishes only
// requests to it, under its role and name: NATS refuses the rest. Even one request to a
// stream would be too much, since its answer goes to any subject that the client names, such as
// another's record.

const anyName = "{{name()}}"

func (n names) ask(role pki.Role, name, verb string) string {
	return string(n) + ".ask." + string(role) + "." + name + "." + verb
}

// inbox begins the subjects of answers to a client. The server answers nowhere else.
func inbox(name string) string { return "_INBOX." + name }

// drain is the subject on which the workers of a credential are told to drain.
func (n names) drain(name string) string { return string(n) + ".drain." + name }

// everyone is the name for all workers.
const everyone = pki.All

// drainWithin is how long a server may take to say that nobody listens.
const drainWithin = time.Second

// sendDrain tells the workers of a credential to drain. They do not answer, but the server does if
// there are none.
func (n names) sendDrain(nc *nats.Conn, name string) error {
	_, err := nc.Request(n.drain(name), nil, drainWithin)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		who := "with the credentials of " + strconv.Quote(name)
		if name == everyone {
			who = "at all"
		}
		return errorf("vidfilter serve credentials list, on the machine of the queue, shows who is connected", err, "queue: no worker %s is connected: there is nobody to drain", who)
	case errors.Is(err, nats.ErrTimeout):
		return nil
	}
	return err
}

// grants returns what the roles may do.
func (n names) grants() pki.Grants {
	base := func(role pki.Role, publish ...string) pki.Grant {
		return pki.Grant{
			Publish:   append([]string{n.ask(role, anyName, all)}, publish...),
			Subscribe: []string{inbox(anyName) + ".>", string(n) + ".event.>", n.drain(anyName), n.drain(everyone)},
		}
	}
	ask := n.events(eventAsk)
	return pki.Grants{
		pki.Worker:    base(pki.Worker, n.drain(anyName)),
		pki.Submitter: base(pki.Submitter, ask, n.drain(anyName)),
		pki.Observer:  base(pki.Observer, ask),
		pki.Operator:  base(pki.Operator, ask, n.drain(all)),
		pki.Agent:     base(pki.Agent, ask, n.drain(anyName)),
	}
}
