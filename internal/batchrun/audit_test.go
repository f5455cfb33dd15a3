package batchrun

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// oneJob is a queue with a job, which can be cancelled.
type oneJob struct {
	queue.Engine
	job   queue.Job
	fails error // of Get
}

func (e oneJob) Submit(context.Context, queue.Job, bool) error { return nil }

func (e oneJob) Cancel(_ context.Context, id, _ string) error {
	if id != e.job.ID {
		return queue.ErrNoJob
	}
	return nil
}

func (e oneJob) Get(context.Context, string) (queue.Status, error) {
	return queue.Status{Job: e.job}, e.fails
}

// TestAuditOfPage: the audit log has the actions of the status page with the job's title, and none
// that failed.
func TestAuditOfPage(t *testing.T) {
	a := newAudit(t.TempDir(), slog.New(slog.DiscardHandler))
	q := oneJob{job: queue.Job{ID: "a-1", Title: "a.mp4"}}
	page := audited{q, a}
	e2e.Must(t, page.Submit(t.Context(), q.job, true))
	e2e.Must(t, page.Cancel(t.Context(), "a-1", "by hand"))
	if err := page.Cancel(t.Context(), "other", "by hand"); !errors.Is(err, queue.ErrNoJob) {
		t.Error(err)
	}
	e2e.Must(t, audited{oneJob{job: queue.Job{ID: "a-1"}, fails: errors.New("away")}, a}.Cancel(t.Context(), "a-1", "by hand"))
	b := e2e.Read(t, a.file)
	var got []string
	for line := range strings.Lines(string(b)) {
		var e auditEntry
		e2e.Must(t, json.Unmarshal([]byte(line), &e))
		got = append(got, strings.Join([]string{e.By, e.Role, e.Action, e.Job, e.Title}, ","))
	}
	if want := "status page,token,retried,a-1,a.mp4 status page,token,cancelled,a-1,a.mp4 status page,token,cancelled,a-1,"; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}
