package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// Limits of the logs of jobs.
const (
	mostLog  = 64 << 10 // bytes of a job, the last ones
	mostLogs = 1000     // jobs, the latest
)

// tail is the end of the output of an attempt's processes.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(append(t.b, line...), '\n')
	if len(t.b) > 2*mostLog {
		t.b = append(t.b[:0], t.b[len(t.b)-mostLog:]...)
	}
}

// of returns the text for the job's log: the end of an attempt, and what was said before. It is ""
// if all is well and there were no words.
func (t *tail) of(a *attempt, worker string, end ending) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	failed := end.How == endFailed || end.How == endDied || end.How == endPermanent
	if len(t.b) == 0 && !failed {
		return ""
	}
	how := end.How
	if how == endPermanent {
		how = "failed for good"
	}
	head := fmt.Sprintf("%s %s, attempt %d, on %s: %s", time.Now().UTC().Format(time.RFC3339), a.c.task, a.t.Attempt, worker, how)
	if end.Reason != "" {
		head += ": " + brief(end.Reason)
	}
	return lastOf(string(t.b)+head+"\n", mostLog)
}

// lastOf returns the last lines of a text that have at most some bytes.
func lastOf(s string, most int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	return s[strings.IndexByte(s, '\n')+1:]
}

// addLog adds to the log of a job. It gives up soon, since the end of the
// attempt waits for it, and a failure is logged only.
func (e *Engine) addLog(ctx context.Context, job, text string) {
	if text == "" || e.tight.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, _, err := e.get(ctx, job) // of a job that was removed it would stay
	for again := err == nil; again; again = conflict(err) {
		var old string
		var revision uint64
		old, revision, err = e.readLog(ctx, job)
		if err == nil && !strings.HasSuffix(old, text) { // else the attempt's end was reported twice
			err = e.store(ctx, e.logs, job, lastOf(old+text, mostLog), revision)
		}
	}
	if err != nil && !errors.Is(err, queue.ErrNoJob) {
		e.o.Log.Warn(fmt.Sprintf("the log of job %s: %v", job, err))
	}
}

func (e *Engine) readLog(ctx context.Context, job string) (text string, revision uint64, err error) {
	entry, err := e.logs.Get(ctx, job)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	if decode(entry, &text) != nil {
		text = ""
	}
	return text, entry.Revision(), nil
}

// Log implements queue.Engine.
func (e *Engine) Log(ctx context.Context, id string) (string, error) {
	if _, err := e.Get(ctx, id); err != nil {
		return "", err
	}
	text, _, err := e.readLog(ctx, id)
	return text, err
}

// jobLog answers a job's owner with its log.
func (h *requestHandler) jobLog(ctx context.Context, by caller, q *request) (answer, error) {
	if _, err := h.own(ctx, by, q.ID); err != nil {
		return answer{}, err
	}
	text, err := h.e.Log(ctx, q.ID)
	return answer{Log: text}, err
}

func (c *client) Log(ctx context.Context, id string) (string, error) {
	a, err := c.insist(ctx, "the log of "+id, "log", &request{ID: id})
	return a.Log, err
}
