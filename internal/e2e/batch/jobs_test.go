package batch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"vidfilter/internal/e2e"
)

type listing struct {
	Running bool `json:"running"`
	Jobs    []struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"jobs"`
}

func jobs(t *testing.T, out string, more ...string) (l listing) {
	t.Helper()
	said := printed(t, append([]string{"jobs", out, "--json"}, more...)...)
	e2e.Must(t, json.Unmarshal([]byte(said), &l))
	return l
}

func (l listing) state(title string) string {
	for _, j := range l.Jobs {
		if j.Title == title {
			return j.State
		}
	}
	return ""
}

func (l listing) id(t *testing.T, title string) string {
	t.Helper()
	for _, j := range l.Jobs {
		if j.Title == title {
			return j.ID
		}
	}
	t.Fatalf("no job %q in %+v", title, l)
	return ""
}

// A job cancelled while it runs ends as cancelled, and the others continue. Another run resumes
// it.
func TestCancel(t *testing.T) {
	e2e.Start(t, true)
	in, out, told := folder(t, "long.mp4", "short.mp4"), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "r.json")
	ends := filepath.Join(t.TempDir(), "ends")
	b := begin(t, job(in, "-o", out, "--report", told, "--on-done", `echo "$VF_EVENT $VF_STATE" >> `+ends)...)
	b.Until("a finished part", func() bool { return finishedParts(out) > 0 })
	l := jobs(t, out)
	if !l.Running || l.state("long.mp4") != "running" || l.state("short.mp4") != "queued" {
		t.Errorf("while it runs: %+v", l)
	}
	e2e.Contains(t, printed(t, "jobs", out), "running   long.mp4", "short.mp4", "2 jobs")
	if n := len(jobs(t, out, "--state", "queued").Jobs); n != 1 {
		t.Errorf("%d jobs are queued", n)
	}
	for _, option := range []string{"--cancel", "--retry"} { // an unknown ID is an error that names it
		e2e.Contains(t, begin(t, "jobs", out, option, "none").end(1), "none: there is no job")
	}
	begin(t, "jobs", out, "--cancel", l.id(t, "long.mp4")).end(0)
	e2e.Contains(t, b.end(1), "cancelled: long.mp4", "1 done", "1 cancelled")
	_, rows := readReport(t, told)
	if rows["long.mp4"].State != "cancelled" || rows["short.mp4"].State != "done" {
		t.Errorf("%+v", rows)
	}
	if got := string(e2e.Read(t, ends)); got != "job cancelled\njob done\nbatch failed\n" {
		t.Errorf("told of %q", got)
	}
	l = jobs(t, out)
	if l.Running || l.state("long.mp4") != "cancelled" || l.state("short.mp4") != "done" || e2e.Exists(filepath.Join(out, "long.mp4")) {
		t.Errorf("after it: %+v", l)
	}
	run(t, 0, in, "-o", out)
	playable(t, filepath.Join(out, "long.mp4"))
	tidy(t, out)
}

// Failed and cancelled jobs can be queued again during the batch, which then waits for them.
func TestRetry(t *testing.T) {
	e2e.Start(t, false)
	in, out, told := folder(t, "a.mp4", "bad.mp4=short.mp4", "long.mp4"), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "r.json")
	bad := filepath.Join(in, "bad.mp4")
	good := e2e.Read(t, bad)
	e2e.Put(t, bad, []byte("no video"))
	b := begin(t, job(in, "-o", out, "--report", told)...)
	b.child("--part=")
	begin(t, "jobs", out, "--cancel", jobs(t, out).id(t, "a.mp4")).end(0)
	b.Says("cancelled: a.mp4")
	b.Says("failed: bad.mp4")
	hasLog := func() {
		e2e.Contains(t, printed(t, "jobs", out, "--log", jobs(t, out).id(t, "bad.mp4")), "damaged or incomplete", "plan, attempt 1, on ")
	}
	hasLog()
	e2e.Put(t, bad, good)
	l := jobs(t, out)
	begin(t, "jobs", out, "--retry", l.id(t, "bad.mp4"), "--retry", l.id(t, "a.mp4")).end(0)
	b.end(0)
	r, rows := readReport(t, told)
	if r.Totals.States["done"] != 3 {
		t.Errorf("%+v", rows)
	}
	tidy(t, out)
	hasLog() // from the queue in the folder
	tidy(t, out)
	e2e.Contains(t, begin(t, "jobs", out, "--retry", l.id(t, "a.mp4")).end(2), "no batch runs", "--retry-failed")
}

func TestJobsOfNobody(t *testing.T) {
	e2e.Start(t, true)
	dir := t.TempDir()
	if l := jobs(t, dir); l.Running || len(l.Jobs) > 0 {
		t.Errorf("%+v", l)
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("it leaves %v", all)
	}
	begin(t, "jobs", filepath.Join(dir, "none")).end(2)
	begin(t, "jobs").end(2)
}

// After a kill the records list the jobs and show no job as running.
func TestJobsAfterKill(t *testing.T) {
	e2e.Start(t, true)
	out := cutShort(t, folder(t, "a.mp4", "short.mp4"))
	if l := jobs(t, out); l.Running || l.state("a.mp4") != "stopped" {
		t.Errorf("%+v", l)
	}
	e2e.Contains(t, printed(t, "jobs", out), "no batch is running here")
}

// The page and vidfilter jobs cover the whole batch, not only the jobs already queued.
func TestWholeBatch(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "a.mp4"), filepath.Join(t.TempDir(), "out")
	for i := range 11 {
		e2e.Put(t, filepath.Join(in, fmt.Sprintf("b%d.mp4", i)), e2e.Read(t, clip(t, "short.mp4")))
	}
	b := begin(t, slow(in, "-o", out, "--jobs", "1", "--status", "127.0.0.1:0")...)
	b.Says("started: a.mp4")
	page := regexp.MustCompile(`http://[^/]+/`).FindString(b.Err.String())
	var all struct {
		Totals struct {
			Jobs, Done int
			Part       *float64
		}
	}
	b.Until("all of it on the page", func() bool {
		r, err := http.Get(page + "api/jobs")
		e2e.Must(t, err)
		defer r.Body.Close()
		e2e.Must(t, json.NewDecoder(r.Body).Decode(&all))
		if done := float64(all.Totals.Done); all.Totals.Part != nil && *all.Totals.Part > (done+1)/12+0.7 {
			t.Fatalf("%.0f of 12 are done, and the page says %.2f", done, *all.Totals.Part)
		}
		return all.Totals.Jobs == 12
	})
	e2e.Contains(t, printed(t, "jobs", out), "jobs more to come")
	b.end(0)
}
