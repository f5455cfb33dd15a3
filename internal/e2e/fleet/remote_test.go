package fleet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// Parts go through the store to workers and back. The result equals the local batch's byte for
// byte.
func TestRemote(t *testing.T) {
	e2e.Start(t, true)
	begun := time.Now()
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	t.Logf("serve: ready after %v, %d kB resident", time.Since(begun).Round(time.Millisecond), resident(t, s.PID))
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	one, two := s.worker(dir), s.worker(dir)
	begun = time.Now()
	s.batch(in, out).exit(0)
	t.Logf("batch: %v; serve then: %d kB resident", time.Since(begun).Round(time.Millisecond), resident(t, s.PID))
	s.delivered(out)
	if !strings.Contains(one.Said()+two.Said(), "part-0001: done") {
		t.Error("no worker has done anything")
	}
	e2e.Contains(t, s.batch(in, out).exit(0), "2 skipped")
	t.Run("jobs", func(t *testing.T) { lists(t, s) })
	t.Run("page", func(t *testing.T) { answers(t, s) })
	for _, w := range []*process{one, two} {
		w.Signal(syscall.SIGINT)
		w.exit(130)
	}
	noFolders(t, dir)
	s.Signal(syscall.SIGTERM)
	s.exit(0)
	if _, err := os.Stat(filepath.Join(s.State, "serve.json")); err == nil {
		t.Error("serve.json says that the server runs")
	}
}

func resident(t *testing.T, pid int) (kB int) {
	t.Helper()
	b := e2e.Read(t, fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		t.Fatal(err)
	}
	return kB
}

type jobList struct {
	Jobs []struct {
		ID, Title, State, Reason string
		Active                   []struct{ Worker string }
	}
}

func jobs(t *testing.T, s *server, more ...string) (l jobList) {
	t.Helper()
	said := run(t, slices.Concat([]string{"jobs", "--json"}, s.link(), more)...).exit(0)
	if err := json.Unmarshal([]byte(said), &l); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return l
}

// named checks the state of a job and returns its ID.
func (l jobList) named(t *testing.T, title, state string) (id string) {
	t.Helper()
	for _, j := range l.Jobs {
		if j.Title == title {
			id = j.ID
			if j.State != state {
				t.Errorf("%s is %s (%s), not %s", title, j.State, j.Reason, state)
			}
		}
	}
	if id == "" {
		t.Fatalf("%s is not in %v", title, l)
	}
	return id
}

func lists(t *testing.T, s *server) {
	l := jobs(t, s)
	l.named(t, "long.mp4", "done")
	l.named(t, "other.mov", "done")
	if l := jobs(t, s, "--state", "failed"); len(l.Jobs) != 0 {
		t.Errorf("failed: %v", l)
	}
	watch := run(t, append([]string{"jobs", "--watch"}, s.link()...)...)
	e2e.Until(t, "a second list", func() bool { return strings.Count(watch.Said(), "2 jobs: 2 done") > 1 })
	watch.Signal(syscall.SIGINT)
	watch.exit(130)
	e2e.Contains(t, run(t, append([]string{"jobs", "--cancel", "nobody"}, s.link()...)...).exit(1), "there is no job")
}

func answers(t *testing.T, s *server) {
	for path, want := range map[string]string{
		"": "<html", "healthz": "ok", "api/jobs": `"long.mp4"`, "api/workers": `"parts-p1"`, "metrics": `vidfilter_jobs{state="done"} 2`,
	} {
		code, said := s.fetch(path)
		if code != http.StatusOK {
			t.Errorf("/%s: %d", path, code)
		}
		e2e.Contains(t, said, want)
	}
}

// A cancelled job ends the batch with an error, leaves the store empty, and can be retried.
func TestCancelAndRetry(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	b := s.batch(in, out)
	child := w.caught("--part=")
	id := jobs(t, s).named(t, "long.mp4", "running")
	run(t, slices.Concat([]string{"jobs", "--cancel", id}, s.link())...).exit(0)
	e2e.Until(t, "the part is ended", func() bool { return !alive(child) })
	e2e.Contains(t, b.exit(1), "cancelled")
	jobs(t, s).named(t, "long.mp4", "cancelled")
	storeIsEmpty(t, s.engine())
	e2e.Contains(t, run(t, slices.Concat([]string{"jobs", "--retry", id}, s.link())...).exit(0), "no connected worker has its files")
	jobs(t, s, "--state", "queued").named(t, "long.mp4", "queued")
	b = s.batch(in, out)
	w.caught("--part=")
	run(t, slices.Concat([]string{"jobs", "--cancel", queue.BatchOf(id)}, s.link())...).exit(0)
	e2e.Contains(t, b.exit(1), "the batch was cancelled")
	s.batch(in, out).exit(0)
	s.delivered(out)
}
