package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"vidfilter/batch"
	"vidfilter/queue"
)

func TestFirst(t *testing.T) {
	for _, c := range []struct {
		segment float64
		args    []string
		want    string
	}{
		{60, nil, "plan"},
		{60, []string{"--radius=3"}, "plan"},
		{0, nil, "whole"},
		{60, []string{"--duration=10"}, "whole"},
		{60, []string{"--stats=true"}, "whole"},
		{60, []string{"--compare", "side"}, "whole"},
	} {
		s := Spec{Item: batch.Item{Args: c.args}, Segment: c.segment}
		if got := s.First("here"); got.Name != c.want || got.Site != "here" {
			t.Errorf("%v %v: %+v, want %s", c.segment, c.args, got, c.want)
		}
	}
}

func TestChoice(t *testing.T) {
	got := choice([]string{"--radius=3", "--map=0:v:1", "--input-format", "mpegts", "--map", "0:a", "--crf=20", "--max-pixels=9"})
	want := []string{"--map=0:v:1", "--input-format", "mpegts", "--map", "0:a", "--max-pixels=9"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Which errors are tried again, and which are put off.
func TestJudge(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	exit := func(code int) error { return &ExitError{code, "why"} }
	for _, c := range []struct {
		name   string
		err    error
		source string
		task   string
		again  int
		want   string // permanent, later, again
	}{
		{"usage", exit(exitUsage), there, "whole", 1, "permanent"},
		{"corrupt", exit(exitInput), there, "whole", 1, "permanent"},
		{"corrupt, since it is away", exit(exitInput), filepath.Join(dir, "away"), "whole", 1, "again"},
		{"device", exit(5), there, "whole", 1, "again"},
		{"output", exit(exitOutput), there, "whole", 1, "again"},
		{"killed", exit(-1), there, "whole", 1, "again"},
		{"stall", &StallError{}, there, "whole", 1, "again"},
		{"away", fmt.Errorf("open: %w", fs.ErrNotExist), there, "whole", 1, "again"},
		{"changed", batch.ErrSourceChanged, there, "whole", 1, "permanent"},
		{"part", exit(exitFailed), there, "part-0001", 1, "again"},
		{"part, once more", exit(exitFailed), there, "part-0001", 2, "permanent"},
		{"whole, once more", exit(exitFailed), there, "whole", 2, "again"},
		{"postponed", queue.Later(errors.New("x"), 1), there, "cut-0001", 1, "later"},
	} {
		k := &task{
			Runner: &Runner{}, task: queue.Task{Name: c.task, Attempt: c.again},
			spec: Spec{Item: batch.Item{Source: c.source}, Root: dir},
		}
		err := k.judge(c.err)
		got := "again"
		switch {
		case queue.IsPermanent(err):
			got = "permanent"
		case errors.As(err, new(*queue.Postponed)):
			got = "later"
		}
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.want)
		}
	}
}

// A full disk, or one that is nearly full, says nothing against a job.
func TestJudgeFullDisk(t *testing.T) {
	g := new(Gate)
	g.Set(true)
	k := &task{Runner: &Runner{Program: Program{Gate: g}}, spec: Spec{Root: t.TempDir()}}
	if err := k.judge(&ExitError{exitOutput, "no space left on device"}); !errors.As(err, new(*queue.Postponed)) {
		t.Errorf("%v", err)
	}
}

func TestDevices(t *testing.T) {
	r := &Runner{Devices: []string{"cuda:0", "cuda:1"}}
	a, backA := r.device(nil)
	b, backB := r.device(nil)
	if a[1] == b[1] {
		t.Errorf("both on %s", a[1])
	}
	backA()
	if c, _ := r.device(nil); c[1] != a[1] {
		t.Errorf("%s, though %s is free", c[1], a[1])
	}
	backB()
	if d, _ := r.device([]string{"--device=cpu"}); d != nil {
		t.Errorf("a device of our own beside the person's: %v", d)
	}
}

func TestReach(t *testing.T) {
	r := &Runner{Shared: "/mnt/here"}
	s := Spec{Shared: "/srv/there"}
	for path, want := range map[string]string{
		"/srv/there/a/b.mkv": "/mnt/here/a/b.mkv", "/srv/there": "/mnt/here", "/srv/thereby/a": "/srv/thereby/a", "/else": "/else",
	} {
		if got := r.reach(s, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := r.reach(Spec{}, "/srv/there/a"); got != "/srv/there/a" {
		t.Errorf("nothing is shared: %s", got)
	}
}

func TestRedo(t *testing.T) {
	known := func(state queue.State, digest string) queue.Status {
		return queue.Status{State: state, Job: queue.Job{Digest: digest}}
	}
	if d := redo(queue.Status{}, "a"); d != "a" {
		t.Errorf("a new job: %s", d)
	}
	if d := redo(known(queue.Running, "a"), "a"); d != "a" {
		t.Errorf("one that runs is begun anew: %s", d)
	}
	d := redo(known(queue.Done, "a"), "a")
	if d == "a" {
		t.Error("the queue would take it for done")
	}
	if got := redo(known(queue.Running, d), "a"); got != d {
		t.Errorf("what was begun is not gone on with: %s, not %s", got, d)
	}
	if got := redo(known(queue.Done, d), "a"); got == d || got == "a" {
		t.Errorf("done twice, and gone again: %s", got)
	}
	if got := redo(known(queue.Done, d), "b"); got != "b" {
		t.Errorf("other options: %s", got)
	}
}

func TestMayRenew(t *testing.T) {
	for _, err := range []error{batch.ErrSourceChanged, ErrGone, ErrParts} {
		if !mayRenew("task join: " + err.Error() + ": x") {
			t.Errorf("%v", err)
		}
	}
	if mayRenew("task whole: no video") {
		t.Error("any failure is renewed")
	}
}
