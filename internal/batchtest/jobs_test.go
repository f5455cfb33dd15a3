package batchtest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// listing is what vidfilter jobs --json prints.
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
	b := begin(t, append([]string{"jobs", out, "--json"}, more...)...)
	b.end(0)
	must(t, json.Unmarshal([]byte(b.out.String()), &l))
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

// A job that is cancelled while it runs ends as that, and the others go on. Another run does it, from where it was.
func TestCancel(t *testing.T) {
	start(t, true)
	in, out, told := folder(t, "long.mp4", "short.mp4"), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "r.json")
	b := begin(t, job(in, "-o", out, "--report", told)...)
	b.until("a finished part", func() bool { return finishedParts(out) > 0 })
	l := jobs(t, out)
	if !l.Running || l.state("long.mp4") != "running" || l.state("short.mp4") != "queued" {
		t.Errorf("while it runs: %+v", l)
	}
	plain := begin(t, "jobs", out)
	plain.end(0)
	contains(t, plain.out.String(), "running   long.mp4", "short.mp4", "2 jobs")
	if n := len(jobs(t, out, "--state", "queued").Jobs); n != 1 {
		t.Errorf("%d jobs are queued", n)
	}
	begin(t, "jobs", out, "--cancel", l.id(t, "long.mp4")).end(0)
	contains(t, b.end(1), "cancelled: long.mp4", "1 done", "1 cancelled")
	_, rows := readReport(t, told)
	if rows["long.mp4"].State != "cancelled" || rows["short.mp4"].State != "done" {
		t.Errorf("%+v", rows)
	}
	l = jobs(t, out)
	if l.Running || l.state("long.mp4") != "cancelled" || l.state("short.mp4") != "done" || exists(filepath.Join(out, "long.mp4")) {
		t.Errorf("after it: %+v", l)
	}
	run(t, 0, in, "-o", out)
	playable(t, filepath.Join(out, "long.mp4"))
	tidy(t, out)
}

// What failed or was cancelled is put in the queue again while the batch still runs, which waits for it.
func TestRetry(t *testing.T) {
	start(t, false)
	in, out, told := folder(t, "a.mp4", "bad.mp4=short.mp4", "long.mp4"), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "r.json")
	bad := filepath.Join(in, "bad.mp4")
	good := read(t, bad)
	put(t, bad, []byte("no video"))
	b := begin(t, job(in, "-o", out, "--report", told)...)
	b.child("--part=")
	begin(t, "jobs", out, "--cancel", jobs(t, out).id(t, "a.mp4")).end(0)
	b.says("cancelled: a.mp4")
	b.says("failed: bad.mp4")
	put(t, bad, good)
	l := jobs(t, out)
	begin(t, "jobs", out, "--retry", l.id(t, "bad.mp4"), "--retry", l.id(t, "a.mp4")).end(0)
	b.end(0)
	r, rows := readReport(t, told)
	if r.Totals.States["done"] != 3 {
		t.Errorf("%+v", rows)
	}
	tidy(t, out)
	contains(t, begin(t, "jobs", out, "--retry", l.id(t, "a.mp4")).end(2), "no batch runs", "--retry-failed")
}

// An ID that is not there is said so.
func TestNoSuchJob(t *testing.T) {
	start(t, false)
	in, out := folder(t, "long.mp4"), filepath.Join(t.TempDir(), "out")
	b := begin(t, job(in, "-o", out)...)
	b.child("--part=")
	for _, option := range []string{"--cancel", "--retry"} {
		contains(t, begin(t, "jobs", out, option, "none").end(1), "none", "no")
	}
	b.kill()
}

func TestJobsOfNobody(t *testing.T) {
	start(t, true)
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

// After a kill the records tell what there is, and nobody is said to be at work.
func TestJobsAfterKill(t *testing.T) {
	start(t, true)
	out := cutShort(t, folder(t, "a.mp4", "short.mp4"))
	if l := jobs(t, out); l.Running || l.state("a.mp4") != "running" {
		t.Errorf("%+v", l)
	}
	b := begin(t, "jobs", out)
	b.end(0)
	contains(t, b.out.String(), "no batch is running here")
}
