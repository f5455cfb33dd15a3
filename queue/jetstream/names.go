package jetstream

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"vidfilter/queue"
)

// names of everything on the server begin with the prefix.
type names string

func (n names) tasks() string   { return string(n) + "-tasks" }
func (n names) jobs() string    { return string(n) + "-jobs" }
func (n names) results() string { return string(n) + "-results" }
func (n names) workers() string { return string(n) + "-workers" }
func (n names) blobs() string   { return string(n) + "-blobs" }

// The two classes of tasks: those of jobs that are begun go first, so that jobs are finished, not only begun.
const (
	classNew = "new"
	classOn  = "on"
)

const all = "*"

func (n names) allTasks() string { return string(n) + ".task.>" }

func (n names) task(class, site, job, epoch, name string) string {
	return strings.Join([]string{string(n), "task", class, site, job, epoch, name}, ".")
}

// claim is what a message in the stream stands for.
type claim struct{ job, epoch, task string }

func (c claim) String() string { return c.job + "." + c.epoch + "." + c.task }

// fromSubject reads the end of a task's subject, or of an event's.
func fromSubject(subject string) (claim, error) {
	t := strings.Split(subject, ".")
	if len(t) < 4 {
		return claim{}, fmt.Errorf("queue: message with the subject %q in the stream", subject)
	}
	t = t[len(t)-3:]
	return claim{t[0], t[1], t[2]}, nil
}

// resultKey and triesKey are in the bucket of results.
func resultKey(c claim) string { return "r." + c.String() }
func triesKey(c claim) string  { return "t." + c.String() }

// event is the subject of a message that nothing is lost without: it makes others look at once.
func (n names) event(kind string, c claim) string {
	return strings.Join([]string{string(n), "event", kind, c.String()}, ".")
}

func (n names) events(kind string) string { return string(n) + ".event." + kind + ".>" }

// The kinds of events.
const (
	eventPut      = "put"      // a task is in the stream
	eventProgress = "progress" // with an Active
	eventAsk      = "ask"      // somebody began to watch: say what is at work
	eventStop     = "stop"     // a job ended, or was begun anew
	eventDone     = "done"     // a task has a result
	eventRetry    = "retry"    // a task is tried again
	eventLater    = "later"    // a task is put back
	eventTwin     = "twin"     // a result was refused, since there was one
	eventDeath    = "death"    // a task came back from a worker that died
	eventFail     = "fail"     // a job failed
	eventOver     = "over"     // a worker let a task go, whatever the reason
)

const anySite = "any"

// siteToken makes a part of a subject of a site. Names that would not do are replaced by their hash.
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

func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func checkTask(t queue.Task) error {
	if !isName(t.Name) {
		return fmt.Errorf("queue: task name %q: only letters, digits and dashes", t.Name)
	}
	return nil
}

// newID is a name that nothing else has.
func newID() string { return strings.ToLower(rand.Text()[:16]) }
