package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

func TestFirst(t *testing.T) {
	for segment, want := range map[float64]string{60: "plan", 0: "whole"} {
		s := Spec{Settings: Settings{Segment: segment}}
		if got := s.First("here"); got.Name != want || got.Kind != want || got.Site != "here" {
			t.Errorf("%v: %+v, want %s", segment, got, want)
		}
	}
}

// The program's part of a video becomes a task's, and an option.
func TestPartOption(t *testing.T) {
	for in, want := range map[string]string{
		`{"start":-5,"end":9,"frames":7}`: "--part=-5:9:7",
		`{"start":-5,"end":9,"frames":7,"around":{"start":-8,"end":12,"frames":13},"blob":"a"}`: "--part=-5:9:7:-8:12:13",
	} {
		var p Part
		e2e.Must(t, json.Unmarshal([]byte(in), &p))
		if got := p.option(); got != want {
			t.Errorf("%s is %s", in, got)
		}
		if b, err := json.Marshal(p); err != nil || string(b) != in {
			t.Errorf("%s becomes %s, %v", in, b, err)
		}
	}
}

// Which errors are retried, and which postponed.
func TestJudge(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	e2e.Must(t, os.WriteFile(there, nil, 0o666))
	exit := func(code int) error { return &ExitError{Code: code, Reason: "why"} }
	for _, c := range []struct {
		name   string
		err    error
		source string
		task   string
		again  int
		want   string // permanent, later, died, again
	}{
		{"usage", exit(contract.ExitUsage), there, "whole", 1, "permanent"},
		{"corrupt", exit(contract.ExitInput), there, "whole", 1, "permanent"},
		{"too large", &ExitError{Code: contract.ExitInput, Cause: contract.CauseTooLarge}, there, "whole", 1, "permanent"},
		{"too large here", &ExitError{Code: contract.ExitInput, Cause: contract.CauseTooLarge}, there, "whole", 1, "again"},
		{"corrupt, since it is away", exit(contract.ExitInput), filepath.Join(dir, "away"), "whole", 1, "again"},
		{"device", exit(5), there, "whole", 1, "again"},
		{"session", &ExitError{Code: 5, Cause: contract.CauseSession}, there, "whole", 1, "later"},
		{"no NVENC", &ExitError{Code: 5, Cause: contract.CauseNVENC}, there, "whole", 1, "permanent"},
		{"output", exit(contract.ExitOutput), there, "whole", 1, "again"},
		{"killed", &ExitError{Code: -1, Signaled: true}, there, "whole", 1, "died"},
		{"starved", &ExitError{Code: -1, Signaled: true, Starved: true}, there, "whole", 1, "starved"},
		{"no room for packets", &fs.PathError{Op: "write", Path: "in.mov", Err: syscall.ENOSPC}, there, "part-0001", 1, "later"},
		{"over a quota", &fs.PathError{Op: "write", Path: "in.mov", Err: syscall.EDQUOT}, there, "part-0001", 1, "later"},
		{"stall", &StallError{}, there, "whole", 1, "died"},
		{"away", fmt.Errorf("open: %w", fs.ErrNotExist), there, "whole", 1, "again"},
		{"changed", batch.ErrSourceChanged, there, "whole", 1, "permanent"},
		{"part", exit(contract.ExitFailed), there, "part-0001", 1, "again"},
		{"part, once more", exit(contract.ExitFailed), there, "part-0001", 2, "permanent"},
		{"whole, once more", exit(contract.ExitFailed), there, "whole", 2, "again"},
		{"postponed", queue.Later(errors.New("x"), 1), there, "cut-0001", 1, "later"},
	} {
		k := &task{
			Runner: &Runner{}, task: queue.Task{Name: c.task, Kind: named(c.task).Kind, Attempt: c.again},
			spec: Spec{Item: batch.Item{Source: c.source}, Settings: Settings{Root: dir}}, yields: c.name == "too large here",
		}
		err := k.judge(c.err)
		got := "again"
		switch {
		case queue.IsPermanent(err):
			got = "permanent"
		case queue.HasStarved(err):
			got = "starved"
		case queue.HasDied(err):
			got = "died"
		case errors.As(err, new(*queue.Postponed)):
			got = "later"
		}
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.want)
		}
		if full := errors.Is(err, ErrFull); full != (k.Hold() != "") {
			t.Errorf("%s: full %t, held %q", c.name, full, k.Hold())
		}
	}
}

// A full or nearly full disk does not count against a job.
func TestJudgeFullDisk(t *testing.T) {
	g := new(Gate)
	g.Set(true)
	k := &task{Runner: &Runner{Program: Program{Gate: g}}, spec: Spec{Settings: Settings{Root: t.TempDir()}}}
	if err := k.judge(&ExitError{Code: contract.ExitOutput, Reason: "why"}); !errors.As(err, new(*queue.Postponed)) {
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
	s := Spec{Settings: Settings{Shared: "/srv/there"}}
	for path, want := range map[string]string{
		"/srv/there/a/b.mkv": "/mnt/here/a/b.mkv", "/srv/there": "/mnt/here", "/srv/thereby/a": "/srv/thereby/a", "/else": "/else",
	} {
		if got := r.localPath(s, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := r.localPath(Spec{}, "/srv/there/a"); got != "/srv/there/a" {
		t.Errorf("nothing is shared: %s", got)
	}
}

// runnerFor returns a runner whose program is a play, and a job of it: out.mp4 in dir.
func runnerFor(t *testing.T, dir, source, play string) (*Runner, queue.Job) {
	t.Helper()
	print, err := batch.FingerprintOf(source)
	e2e.Must(t, err)
	item := batch.Item{Source: source, Output: "out.mp4"}
	spec, err := json.Marshal(Spec{
		Item: item, Settings: Settings{Root: dir, Overwrite: true}, Record: batch.Record{Output: item.Output, SourceFile: print},
	})
	e2e.Must(t, err)
	job := queue.Job{ID: "x", Site: "here", Spec: spec}
	return &Runner{Program: player(play), Sites: []string{"here"}, Own: func(string) (queue.Job, bool) { return job, true }}, job
}

// An unverified output is kept only if it replaces no file.
func TestUnverifiedReplacesNothing(t *testing.T) {
	for _, there := range []bool{false, true} {
		dir := t.TempDir()
		source, out := filepath.Join(dir, "in.mp4"), filepath.Join(dir, "out.mp4")
		e2e.Must(t, os.WriteFile(source, []byte("source"), 0o666))
		if there {
			e2e.Must(t, os.WriteFile(out, []byte("old"), 0o666))
		}
		r, job := runnerFor(t, dir, source, "unverified")
		outcome, err := r.Handle(t.Context(), job, queue.Task{Name: "whole", Kind: contract.TaskWhole, Site: "here", Attempt: 1}, func(queue.Progress) {})
		now, _ := os.ReadFile(out)
		switch {
		case there && (!errors.Is(err, errUnverified) || string(now) != "old"):
			t.Errorf("%v, and the output is %q", err, now)
		case !there && (err != nil || !outcome.End || string(now) != "new"):
			t.Errorf("%+v, %v, and the output is %q", outcome, err, now)
		}
	}
}

// A slot without a free NVENC session reports it, rests and postpones its task: it does not go
// through the list.
func TestRestsWithoutSession(t *testing.T) {
	dir := t.TempDir()
	restTime = 50 * time.Millisecond
	t.Cleanup(func() { restTime = 10 * time.Second })
	source := filepath.Join(dir, "in.mp4")
	e2e.Must(t, os.WriteFile(source, []byte("source"), 0o666))
	r, job := runnerFor(t, dir, source, "session")
	whole := queue.Task{Name: "whole", Kind: contract.TaskWhole, Site: "here", Attempt: 1}
	var notes []string
	begun := time.Now()
	_, err := r.Handle(t.Context(), job, whole, func(p queue.Progress) { notes = append(notes, p.Note) })
	if !errors.As(err, new(*queue.Postponed)) || !errors.Is(err, ErrSession) || time.Since(begun) < restTime || !slices.Equal(notes, []string{noteSession.Note}) {
		t.Errorf("%v after %v, notes %q", err, time.Since(begun), notes)
	}
	restTime = time.Minute
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("why")
	if _, err := r.Handle(ctx, job, whole, func(queue.Progress) { stop(why) }); !errors.Is(err, why) {
		t.Errorf("stopped, and %v", err)
	}
}

func TestRedo(t *testing.T) {
	known := func(state queue.State, digest string) knownJob {
		return knownOf(queue.Status{State: state, Job: queue.Job{Digest: digest}})
	}
	if d := redo(knownOf(queue.Status{}), "a"); d != "a" {
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

// Which failures start a job over.
func TestMayRenew(t *testing.T) {
	for _, err := range []error{batch.ErrSourceChanged, ErrGone, ErrParts, ErrUnknownTask} {
		err = withCode(queue.Permanent(fmt.Errorf("%w: x", err)))
		if !mayRenew(queue.Failure{Code: queue.CodeOf(err)}) || !queue.IsPermanent(err) {
			t.Errorf("%v, code %q", err, queue.CodeOf(err))
		}
	}
	if err := withCode(errors.New("no video")); mayRenew(queue.Failure{Code: queue.CodeOf(err)}) {
		t.Error("any failure is renewed")
	}
}

func TestOwnReason(t *testing.T) {
	failed := func(kind, reason string, attempts int) queue.Status {
		return queue.Status{Reason: reason, Failure: queue.Failure{Task: kind, Kind: kind, Attempts: attempts}}
	}
	for _, c := range []struct {
		s           queue.Status
		whole, want string
	}{
		{failed("whole", "killed", 3), "task whole: killed (3 attempts)", "killed"},
		{failed("plan", "x", 1), "task plan: x (1 attempt)", "x"},
		{failed("join", "x", 3), "task join: x (3 attempts)", "task join: x"},
		{queue.Status{Reason: "not wanted"}, "not wanted", "not wanted"},
	} {
		if got := ownReason(c.s); got != c.want || c.s.Explain() != c.whole {
			t.Errorf("%q of %q, want %q of %q", got, c.s.Explain(), c.want, c.whole)
		}
	}
}

// A task that found the disk full waits, even if its own leftovers are gone by the time we look.
func TestJudgeNoSpace(t *testing.T) {
	k := &task{Runner: &Runner{}, base: t.TempDir()}
	err := k.judge(&ExitError{Code: contract.ExitOutput, Reason: "out.mkv: disk full", Cause: contract.CauseNoSpace})
	if !errors.As(err, new(*queue.Postponed)) || !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if err := k.judge(&ExitError{Code: contract.ExitOutput, Reason: "out.mkv: no permission"}); errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
}

// A row names the faults of an output, in this run and in later ones.
func TestFaults(t *testing.T) {
	lost := []contract.Difference{{Item: "video", Property: "rotation", From: "90 degrees clockwise", Lost: true}}
	told := []contract.Difference{{Item: "video", Property: "rotation", From: "90 degrees clockwise", Lost: true, Told: true}}
	const damagedReason = "the source is damaged; the output holds its readable part"
	const missing = "the output lost rotation of video: 90 degrees clockwise is missing"
	for _, c := range []struct {
		done    contract.Done
		damaged bool
		want    string
	}{
		{contract.Done{}, false, ""},
		{contract.Done{Differences: told}, false, ""},
		{contract.Done{ExitCode: contract.ExitDamaged, Differences: lost}, false, missing},
		{contract.Done{ExitCode: contract.ExitDamaged, Damage: map[string]int64{"x": 1}, Differences: told}, true, damagedReason},
		{contract.Done{ExitCode: contract.ExitDamaged, Damage: map[string]int64{"x": 1}, Differences: lost}, true, damagedReason + "; " + missing},
		{contract.Done{ExitCode: contract.ExitDamaged, Unverified: true}, true, damagedReason},
	} {
		res := resultOf(c.done)
		if res.Damaged != c.damaged || res.Faults() != c.want {
			t.Errorf("%+v: damaged %v, %q", c.done, res.Damaged, res.Faults())
		}
		row := rowOf(batch.Item{}, batch.Record{Outcome: res.Outcome}, RowSkipped, "")
		if row.Damaged != c.damaged || row.Reason != c.want || len(row.Differences) != len(c.done.Differences) {
			t.Errorf("%+v: later the row is %+v", c.done, row)
		}
	}
}
