package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// The log has the output of the processes, attempt by attempt, and ends with its job.
func TestLog(t *testing.T) {
	e := embedded(t, quick)
	said := func(id string) string {
		s, err := e.Log(t.Context(), id)
		e2e.Must(t, err)
		return s
	}
	work(t, e, queue.Worker{Name: "mars", Any: true}, func(ctx context.Context, j queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		switch {
		case j.ID == "silent":
		case j.ID == "long":
			for i := range 3 * mostLog / 10 {
				queue.Log(ctx, fmt.Sprintf("%09d", i))
			}
		case task.Attempt == 1:
			queue.Log(ctx, "a warning")
			return queue.Outcome{}, errors.New("it broke")
		default:
			queue.Log(ctx, "better")
		}
		return queue.Outcome{End: true}, nil
	})
	for _, id := range []string{"a", "silent", "long"} {
		submit(t, e, queue.Job{ID: id, Retries: 1}, false)
		awaitEnd(t, e, id)
	}
	lines := strings.Split(said("a"), "\n")
	if len(lines) != 5 || lines[0] != "a warning" || !strings.HasSuffix(lines[1], " plan, attempt 1, on mars: failed: it broke") ||
		lines[2] != "better" || !strings.HasSuffix(lines[3], " plan, attempt 2, on mars: done") {
		t.Errorf("%q", lines)
	}
	if s := said("silent"); s != "" {
		t.Errorf("%q", s)
	}
	if s := said("long"); len(s) > mostLog || len(s) < mostLog-200 || len(s[:strings.IndexByte(s, '\n')]) != 9 || !strings.HasSuffix(s, ": done\n") {
		t.Errorf("%d bytes, which begin with %.20q", len(s), s)
	}
	e2e.Must(t, e.Forget(t.Context(), "a"))
	if s, err := e.Log(t.Context(), "a"); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("%q, %v", s, err)
	}
	if s, _, err := e.readLog(t.Context(), "a"); s != "" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	e.addLog(t.Context(), "a", "late")
	e.tight.Store(true)
	e.addLog(t.Context(), "silent", "no room")
	if s, _, err := e.readLog(t.Context(), "a"); s+said("silent") != "" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
}

// A worker adds at most 64 kB to the log of a job whose task it has, under its name.
func TestLogOfWorker(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, worker := f.client("owner", pki.Submitter), f.client("mars", pki.Worker)
	f.task(owner, "a")
	a := f.give(worker)
	end := ending{How: endBack, Log: strings.Repeat("many words\n", mostLog)}
	e2e.Must(t, (&clientSource{c: worker}).settle(t.Context(), a, end))
	if s, err := owner.Log(t.Context(), "a"); err != nil || len(s) > mostLog || len(s) < mostLog-20 {
		t.Errorf("%d bytes, %v", len(s), err)
	}
	a = f.give(worker)
	e2e.Must(t, (&clientSource{c: worker}).settle(t.Context(), a, ending{How: endBack, Log: "few words\n"}))
	if s, err := owner.Log(t.Context(), "a"); err != nil || !strings.HasSuffix(s, "\nby the credential mars:\nfew words\n") {
		t.Errorf("%q, %v", s[max(0, len(s)-100):], err)
	}
}
