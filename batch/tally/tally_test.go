package tally

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/batch/queue"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func second(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }

// status returns a job after its plan: whole with 2 tasks, in n parts with n+2.
func status(id string, state queue.State, tasks, finished int, active ...queue.Active) queue.Status {
	s := queue.Status{
		Job:   queue.Job{ID: id, Title: id + ".mkv", Digest: "d", Retries: 3, First: queue.Task{Name: "plan"}},
		State: state, Tasks: tasks, Finished: finished, Submitted: start, Active: active,
	}
	if tasks > 2 {
		s.Planned = tasks - 2
	}
	if state != queue.Queued {
		s.Started = start
	}
	if state.Ended() {
		s.Ended = second(100)
	}
	return s
}

func at(task string, frames, total int64, fps float64) queue.Active {
	kind, _, _ := strings.Cut(task, "-")
	return queue.Active{Task: task, Kind: kind, Attempt: 1, Worker: "w", Since: start, Progress: queue.Progress{Frames: frames, Total: total, FPS: fps, Bytes: frames * 10}}
}

func near(got *float64, want, tolerance float64) bool {
	return got != nil && math.Abs(*got-want) <= tolerance
}

func show(x any) string { b, _ := json.Marshal(x); return string(b) }

// One video of 1000 frames at 10 fps: no time left until there is enough to judge by, then the
// true one.
func TestWhole(t *testing.T) {
	a := New(Options{})
	a.Update(second(0), status("a", queue.Queued, 1, 0))
	a.Update(second(0), status("a", queue.Running, 1, 0, at("plan", 0, 0, 0)))
	for s := 0.0; s <= 60; s += 0.5 {
		a.Update(second(s), status("a", queue.Running, 2, 1, at("whole", int64(10*s), 1000, 10)))
		v := a.Totals(second(s), false)
		if s < 10 && v.Left != nil {
			t.Fatalf("after %v s: %v s left", s, *v.Left)
		}
		if s > 11 && !near(v.Left, 100-s, 2) {
			t.Fatalf("after %v s: %s", s, show(v))
		}
		if s > 2 && math.Abs(v.FPS-10) > 0.6 {
			t.Fatalf("after %v s: %v fps", s, v.FPS)
		}
	}
	j, _ := a.Job("a", second(60))
	if j.Frames != 600 || *j.Total != 1000 || *j.Part != 0.6 || !near(j.Left, 40, 0.1) || j.Parts != nil || j.FPS != 10 {
		t.Error(show(j))
	}
	a.Update(second(100), status("a", queue.Done, 2, 2))
	v := a.Totals(second(100), false)
	if v.Frames != 1000 || *v.Part != 1 || v.Left != nil || v.Done != 1 || v.Bytes != 6000 {
		t.Error(show(v))
	}
	if c := a.Counters(); c.Frames != 1000 || c.Bytes != 6000 {
		t.Errorf("%+v", c)
	}
}

// An earlier run did the first half: it counts as done, but not as this run's speed.
func TestResume(t *testing.T) {
	for name, first := range map[string]queue.Status{
		"found at work":    status("a", queue.Running, 2, 1, at("whole", 500, 1000, 10)),
		"begins in middle": status("a", queue.Queued, 2, 1),
	} {
		t.Run(name, func(t *testing.T) {
			a := New(Options{})
			a.Update(second(0), first)
			if first.State == queue.Queued {
				a.Update(second(0), status("a", queue.Running, 2, 1, at("whole", 0, 1000, 0)))
			}
			var v Totals
			for s := 0.5; s <= 20; s += 0.5 {
				a.Update(second(s), status("a", queue.Running, 2, 1, at("whole", 500+int64(10*s), 1000, 10)))
				if v = a.Totals(second(s), false); v.FPS > 35 {
					t.Fatalf("after %v s: %s", s, show(v))
				}
			}
			if !near(v.Part, 0.7, 0.01) || !near(v.Left, 30, 3) {
				t.Error(show(v))
			}
		})
	}
}

// Jobs done before are no speed either, and by bytes a tenth is left.
func TestResumedBatch(t *testing.T) {
	a := New(Options{Weigh: func(queue.Job) int64 { return 1000 }})
	for i := range 8 {
		a.Update(second(0), status(fmt.Sprint("old", i), queue.Done, 2, 2))
	}
	a.Update(second(0), status("x", queue.Queued, 2, 1))
	a.Update(second(0), status("y", queue.Queued, 2, 1))
	var v Totals
	for s := 0.0; s <= 50; s += 0.5 {
		a.Update(second(s), status("x", queue.Running, 2, 1, at("whole", int64(10*s), 1000, 10)))
		v = a.Totals(second(s), false)
	}
	if !near(v.Part, 0.85, 0.001) || !near(v.Left, 150, 5) || v.Total != nil {
		t.Error(show(v))
	}
}

// Options.Frames knows the frames of old jobs, so the whole is measured in frames.
func TestFramesOption(t *testing.T) {
	a := New(Options{Frames: func(s queue.Status) int64 { return map[string]int64{"a": 900, "b": 100}[s.Job.ID] }, Weigh: func(queue.Job) int64 { return 1 }})
	a.Update(start, status("a", queue.Done, 2, 2))
	a.Update(start, status("b", queue.Queued, 1, 0))
	v := a.Totals(start, false)
	if !near(v.Part, 0.9, 0.0001) || v.Frames != 900 || v.Total == nil || *v.Total != 1000 || a.Counters().Frames != 0 {
		t.Error(show(v))
	}
}

func TestParts(t *testing.T) {
	a := New(Options{})
	a.Update(second(0), status("a", queue.Running, 1, 0, at("plan", 0, 0, 0)))
	a.Update(second(1), status("a", queue.Running, 6, 1))
	if j, _ := a.Job("a", second(1)); *j.Parts != (Parts{4, 0, 0}) || *j.Part != 0 {
		t.Error(show(j))
	}
	a.Update(second(2), status("a", queue.Running, 6, 1, at("part-0000", 0, 100, 5), at("part-0001", 0, 100, 5)))
	a.Update(second(12), status("a", queue.Running, 6, 1, at("part-0000", 50, 100, 5), at("part-0001", 50, 100, 5)))
	j, _ := a.Job("a", second(12))
	if *j.Parts != (Parts{4, 0, 2}) || *j.Part != 0.25 || j.Frames != 100 || j.FPS != 10 || j.Total != nil || !near(j.Left, 30, 0.1) {
		t.Error(show(j))
	}
	// One ends after its last report, the other is lost and started again.
	a.Update(second(22), status("a", queue.Running, 6, 2))
	lost := at("part-0001", 0, 100, 0)
	lost.Attempt = 2
	s := status("a", queue.Running, 6, 2, lost)
	s.Retried = 1
	a.Update(second(23), s)
	j, _ = a.Job("a", second(23))
	if *j.Parts != (Parts{4, 1, 1}) || *j.Part != 0.25 || j.Frames != 100 || j.Retried != 1 {
		t.Error(show(j))
	}
	if c := a.Counters(); c.Frames != 150 || c.Retries != 1 {
		t.Errorf("%+v", c)
	}
	a.Update(second(60), status("a", queue.Running, 6, 5, at("join", 400, 400, 1000)))
	if j, _ = a.Job("a", second(60)); *j.Parts != (Parts{4, 4, 0}) || *j.Part != 1 || j.FPS != 0 {
		t.Error(show(j))
	}
}

// A part that is lost, or is taken for finished and comes back, is counted once.
func TestRepeated(t *testing.T) {
	part := func(attempt int, frames int64) queue.Active {
		a := at("part-0000", frames, 50, 6)
		a.Attempt = attempt
		return a
	}
	other := at("part-0001", 100, 100, 10)
	for name, finished := range map[string]int{"lost": 1, "taken for finished": 2} {
		t.Run(name, func(t *testing.T) {
			a := New(Options{})
			a.Update(second(0), status("a", queue.Running, 4, 1, part(1, 0), at("part-0001", 0, 100, 10)))
			a.Update(second(2), status("a", queue.Running, 4, 1, part(1, 12), at("part-0001", 20, 100, 10)))
			a.Update(second(10), status("a", queue.Running, 4, finished, other))
			a.Update(second(11), status("a", queue.Running, 4, finished, part(2, 0), other))
			a.Update(second(14), status("a", queue.Running, 4, finished, part(2, 20), other))
			a.Update(second(20), status("a", queue.Running, 4, 3, part(2, 50)))
			a.Update(second(30), status("a", queue.Done, 4, 4))
			if j, _ := a.Job("a", second(30)); j.Frames != 150 || a.Counters().Frames != 150 {
				t.Errorf("%d frames, %d counted", j.Frames, a.Counters().Frames)
			}
		})
	}
}

// The queue counts a part as finished before or after its worker releases it: frames are neither
// counted twice nor lost.
func TestOrderOfNews(t *testing.T) {
	last := at("part-0000", 100, 100, 10)
	other := at("part-0001", 20, 100, 10)
	again := other
	again.Attempt, again.Progress.Frames = 2, 0
	for name, news := range map[string][]queue.Status{
		"finished first": {status("a", queue.Running, 4, 2, last, other), status("a", queue.Running, 4, 2, other)},
		"let go first":   {status("a", queue.Running, 4, 1, other), status("a", queue.Running, 4, 2, other)},
		"at once":        {status("a", queue.Running, 4, 2, other)},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(Options{})
			a.Update(second(0), status("a", queue.Running, 4, 1, at("part-0000", 0, 0, 0), at("part-0001", 0, 0, 0)))
			a.Update(second(10), status("a", queue.Running, 4, 1, last, other))
			for _, s := range news {
				a.Update(second(11), s)
				if j, _ := a.Job("a", second(11)); *j.Part != 0.6 || j.Frames != 120 {
					t.Error(show(j))
				}
			}
			a.Update(second(12), status("a", queue.Running, 4, 2)) // the other is lost
			if j, _ := a.Job("a", second(12)); *j.Part != 0.5 || j.Frames != 100 {
				t.Error(show(j))
			}
			a.Update(second(13), status("a", queue.Running, 4, 2, again))
			a.Update(second(20), status("a", queue.Running, 4, 3))
			a.Update(second(30), status("a", queue.Done, 4, 4))
			if j, _ := a.Job("a", second(30)); j.Frames != 200 || *j.Total != 200 {
				t.Error(show(j))
			}
		})
	}
}

// A job that failed and is submitted again keeps its finished tasks, and starts like one seen for
// the first time.
func TestAgain(t *testing.T) {
	a := New(Options{})
	a.Update(second(0), status("a", queue.Running, 6, 1, at("part-0000", 0, 100, 0)))
	a.Update(second(10), status("a", queue.Running, 6, 2, at("part-0001", 90, 100, 10)))
	a.Update(second(11), status("a", queue.Failed, 6, 2))
	before, ok := a.Update(second(12), status("a", queue.Queued, 6, 2))
	if j, _ := a.Job("a", second(12)); !ok || before.State != queue.Failed || *j.Part != 0.25 {
		t.Error(show(j))
	}
	twice := at("part-0001", 50, 100, 10)
	twice.Since = second(13)
	a.Update(second(13), status("a", queue.Running, 6, 2, twice))
	if j, _ := a.Job("a", second(13)); *j.Part != 0.375 || j.Parts.Done != 1 {
		t.Error(show(j))
	}
}

// A finished part that was never seen must not make a lost one count as finished for good.
func TestComesBack(t *testing.T) {
	a := New(Options{})
	a.Update(second(0), status("a", queue.Running, 5, 1, at("part-0001", 10, 100, 0)))
	a.Update(second(1), status("a", queue.Running, 5, 2, at("part-0001", 20, 100, 5)))
	a.Update(second(2), status("a", queue.Running, 5, 2))
	back := at("part-0001", 5, 100, 5)
	back.Attempt = 2
	a.Update(second(3), status("a", queue.Running, 5, 2, back))
	if j, _ := a.Job("a", second(3)); j.Frames != 5 || j.Parts.Done != 1 {
		t.Error(show(j))
	}
}

// A note without counts leaves the progress unchanged. A postponed task starts over, though no
// attempt was counted.
func TestNotesAndPostponed(t *testing.T) {
	a := New(Options{})
	a.Update(second(0), status("a", queue.Running, 2, 1, at("whole", 0, 100, 0)))
	a.Update(second(10), status("a", queue.Running, 2, 1, at("whole", 50, 100, 5)))
	a.Update(second(11), status("a", queue.Running, 2, 1, queue.Active{Task: "whole", Kind: "whole", Attempt: 1, Since: start, Progress: queue.Progress{Note: "waits"}}))
	if j, _ := a.Job("a", second(11)); j.Frames != 50 || *j.Part != 0.5 || j.Note() != "waits" || *j.Active[0].Total != 100 {
		t.Error(show(j))
	}
	a.Update(second(20), status("a", queue.Running, 2, 1))
	again := at("whole", 1, 100, 5)
	again.Since = second(21)
	a.Update(second(21), status("a", queue.Running, 2, 1, again))
	if j, _ := a.Job("a", second(21)); j.Frames != 1 || a.Counters().Frames != 50 {
		t.Error(show(j), a.Counters())
	}
}

// While the queue is blocked the time left is unknown; afterwards it is judged anew.
func TestHeld(t *testing.T) {
	a := New(Options{})
	run := func(from, to float64, offset int64, blocked bool) (v Totals) {
		for s := from; s <= to; s++ {
			if !blocked {
				a.Update(second(s), status("a", queue.Running, 2, 1, at("whole", offset+int64(10*(s-from)), 10000, 10)))
			}
			if v = a.Totals(second(s), blocked); blocked && v.Left != nil {
				t.Fatal(show(v))
			}
		}
		return v
	}
	run(0, 30, 0, false)
	run(31, 600, 0, true)
	if v := run(601, 640, 300, false); !near(v.Left, 931, 40) {
		t.Error(show(v))
	}
}

// Videos of different speeds: the time left runs down steadily.
func TestNoJumps(t *testing.T) {
	a := New(Options{Weigh: func(queue.Job) int64 { return 1 << 20 }})
	for i := range 20 {
		a.Update(start, status(fmt.Sprint("j", i), queue.Queued, 1, 0))
	}
	last, at0 := -1.0, 0.0
	now := 0.0
	for i := range 20 {
		id, fps := fmt.Sprint("j", i), 10+float64(i%2)*10
		a.Update(second(now), status(id, queue.Running, 1, 0, at("plan", 0, 0, 0)))
		for f := 0.0; f <= 200; f += fps / 2 {
			now += 0.5
			a.Update(second(now), status(id, queue.Running, 2, 1, at("whole", int64(f), 200, fps)))
			v := a.Totals(second(now), false)
			if v.Left == nil {
				continue
			}
			if d := math.Abs(*v.Left - last); last >= 0 && d > 0.1*last+5 {
				t.Fatalf("after %v s: from %v to %v s", now, last, *v.Left)
			}
			if last < 0 {
				at0 = now
			}
			last = *v.Left
		}
		a.Update(second(now), status(id, queue.Done, 2, 2))
	}
	if at0 == 0 || at0 > 15 || last > 20 {
		t.Errorf("first told after %v s, in the end %v s", at0, last)
	}
}

func TestFailedJobsAreLeftOut(t *testing.T) {
	a := New(Options{})
	a.Update(start, status("a", queue.Running, 2, 1, at("whole", 50, 100, 1)))
	a.Update(start, status("b", queue.Failed, 1, 0))
	a.Update(start, status("c", queue.Cancelled, 1, 0))
	if v := a.Totals(start, false); !near(v.Part, 0.5, 0) || v.Failed != 1 || v.Cancelled != 1 || v.Jobs != 3 {
		t.Error(show(v))
	}
}

func TestOrderAndVersions(t *testing.T) {
	a := New(Options{})
	for i, s := range []queue.State{queue.Done, queue.Queued, queue.Failed, queue.Running, queue.Cancelled} {
		if _, ok := a.Update(second(float64(i)), status(string(s), s, 2, 1)); ok {
			t.Error("was there before")
		}
	}
	names := func(all []Job) (ids []string) {
		for _, j := range all {
			ids = append(ids, j.ID)
		}
		return ids
	}
	if got := names(a.Jobs(start, nil)); !slices.Equal(got, []string{"running", "failed", "queued", "cancelled", "done"}) {
		t.Error(got)
	}
	if got := names(a.Jobs(start, func(s queue.Status) bool { return s.State == queue.Failed })); !slices.Equal(got, []string{"failed"}) {
		t.Error(got)
	}
	_, v := a.Since(0, start)
	before, ok := a.Update(start, status("queued", queue.Running, 2, 1))
	if !ok || before.State != queue.Queued {
		t.Error(before, ok)
	}
	changed, _ := a.Since(v, start)
	if got := names(changed); !slices.Equal(got, []string{"queued"}) {
		t.Error(got)
	}
	anew := status("done", queue.Queued, 1, 0)
	anew.Job.Digest = "other"
	if _, ok := a.Update(start, anew); ok {
		t.Error("a job begun anew is as it was")
	}
}

// Jobs not in the queue yet belong to the whole, weighed by their sources.
func TestAhead(t *testing.T) {
	a := New(Options{Weigh: func(queue.Job) int64 { return 100 }})
	a.Update(start, status("a", queue.Done, 2, 2))
	a.Update(start, status("b", queue.Queued, 1, 0))
	a.Ahead(queue.Backlog{Jobs: 8, Bytes: 1800})
	v := a.Totals(second(1), false)
	if v.Jobs != 10 || v.Queued != 9 || v.Waiting != 8 || !near(v.Part, 0.05, 1e-9) {
		t.Errorf("%s", show(v))
	}
	a.Ahead(queue.Backlog{})
	if v := a.Totals(second(2), false); v.Jobs != 2 || v.Waiting != 0 || !near(v.Part, 0.5, 1e-9) {
		t.Errorf("%s", show(v))
	}
}

// A part that must be cut first is one part.
func TestCutParts(t *testing.T) {
	a := New(Options{})
	for _, c := range []struct{ tasks, finished, done int }{
		{14, 1, 0},   // planned: 12 cuts and the join
		{20, 7, 0},   // half of them cut, which adds a part each
		{20, 10, 3},  // and three filtered
		{26, 25, 12}, // all but the join
	} {
		s := status("a", queue.Running, c.tasks, c.finished)
		s.Planned = 12
		a.Update(start, s)
		j, _ := a.Job("a", start)
		if j.Parts == nil || j.Parts.All != 12 || j.Parts.Done != c.done || !near(j.Part, float64(c.done)/12, 1e-9) {
			t.Errorf("%d of %d tasks: %s", c.finished, c.tasks, show(j))
		}
	}
}

// Tasks that end before they report count all the same.
func TestShortTasks(t *testing.T) {
	a := New(Options{Frames: func(s queue.Status) int64 {
		if s.State != queue.Done {
			return 0
		}
		return 30
	}, Bytes: func(queue.Status) int64 { return 2000 }})
	for i := range 40 {
		id := fmt.Sprint(i)
		a.Update(second(float64(i)), status(id, queue.Queued, 1, 0))
		a.Update(second(float64(i)+0.5), status(id, queue.Done, 1, 1))
	}
	a.Update(second(40), status("last", queue.Running, 1, 0, at("whole", 0, 0, 0)))
	v := a.Totals(second(40), false)
	if c := a.Counters(); v.Frames != 1200 || v.Bytes != 80000 || c.Frames != 1200 || c.Bytes != 80000 || v.FPS < 25 || v.FPS > 35 {
		t.Errorf("%s, %+v", show(v), c)
	}
}

// A batch that watches a folder has ever more jobs that are done.
func TestDoneJobsAreSmall(t *testing.T) {
	const jobs, most = 2000, 2000 // bytes each
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	a, before := New(Options{}), heap()
	for i := range jobs {
		described := func(s queue.Status) queue.Status {
			s.Job.Spec, s.Result = make([]byte, 2000), make([]byte, 1000)
			return s
		}
		id := fmt.Sprint(i)
		a.Update(second(0), described(status(id, queue.Queued, 4, 0)))
		a.Update(second(1), described(status(id, queue.Running, 4, 1, at("part-0000", 10, 100, 5), at("part-0001", 20, 100, 5))))
		a.Update(second(2), described(status(id, queue.Done, 4, 4)))
	}
	if each := (heap() - before) / jobs; each > most {
		t.Errorf("%d bytes each, at most %d are allowed", each, most)
	}
	if j, _ := a.Job("7", second(3)); j.Frames != 200 || *j.Part != 1 {
		t.Error(show(j))
	}
	a.Update(second(4), status("7", queue.Running, 4, 1, at("part-0000", 50, 100, 5)))
	if j, _ := a.Job("7", second(4)); j.Frames != 50 || len(j.Active) != 1 {
		t.Error(show(j))
	}
}

// Jobs that are only counted count like the others, and come back if they are done again.
func TestKeep(t *testing.T) {
	all, some := New(Options{}), New(Options{Keep: 2})
	now := 0.0
	update := func(s queue.Status) {
		t.Helper()
		now++
		all.Update(second(now), s)
		some.Update(second(now), s)
		a, b := all.Totals(second(now), false), some.Totals(second(now), false)
		if show(a) != show(b) || all.Counters() != some.Counters() {
			t.Errorf("after %s, %s:\n%s instead of\n%s", s.Job.ID, s.State, show(b), show(a))
		}
	}
	run := func(id string, frames int64) {
		update(status(id, queue.Queued, 2, 0))
		update(status(id, queue.Running, 2, 1, at("whole", frames/2, frames, 1000)))
		update(status(id, queue.Running, 2, 1, at("whole", frames, frames, 1000)))
		done := status(id, queue.Done, 2, 2)
		done.Retried = 1
		update(done)
		update(done) // as after a lost connection
	}
	update(status("waits", queue.Queued, 1, 0))
	for i := range 20 {
		run(fmt.Sprint(i), int64(100*(i+1)))
	}
	if n := len(some.Jobs(second(now), nil)); n != 3 || !some.Knows("3") || some.Knows("20") {
		t.Errorf("%d jobs are kept", n)
	}
	if _, ok := some.Job("3", second(now)); ok || len(some.order) > 5 {
		t.Errorf("%d jobs are kept", len(some.order))
	}
	run("5", 50)
	run("waits", 10)
	some.Update(second(now), status("3", queue.Failed, 2, 2)) // its output is gone
	if v := some.Totals(second(now), false); v.Jobs != 21 || v.Done != 20 || v.Failed != 1 {
		t.Error(show(v))
	}
}

// Totals still count forgotten jobs, whose other data is gone.
func TestForget(t *testing.T) {
	all, some := New(Options{Keep: 2}), New(Options{Keep: 2})
	now := 0.0
	run := func(id string) {
		for _, s := range []queue.Status{
			status(id, queue.Queued, 1, 0), status(id, queue.Running, 1, 0, at("whole", 50, 100, 1000)), status(id, queue.Done, 1, 1),
		} {
			now++
			all.Update(second(now), s)
			some.Update(second(now), s)
		}
	}
	for i := range 9 {
		run(fmt.Sprint(i))
		if i > 0 {
			some.Forget(fmt.Sprint(i - 1)) // one of the latest
		}
		if i > 3 {
			some.Forget(fmt.Sprint(i - 4)) // once more
		}
	}
	if a, b := all.Totals(second(now), false), some.Totals(second(now), false); show(a) != show(b) || b.Done != 9 {
		t.Errorf("%s instead of\n%s", show(b), show(a))
	}
	if len(some.jobs) != 2 || len(some.past.jobs) != 0 || len(all.past.jobs) != 7 {
		t.Errorf("%d and %d jobs are kept", len(some.jobs), len(some.past.jobs))
	}
	for _, id := range []string{"3", "8"} { // of the past, and one of the latest
		some.Forget(id)
		run(id)
		if !some.Knows(id) {
			t.Errorf("%s came again and is not known", id)
		}
	}
	if v := some.Totals(second(now), false); v.Done != 11 || v.Jobs != 11 || v.Frames != 1100 {
		t.Errorf("two came again: %s", show(v))
	}
}

// The workers' reports explain why a job waits.
func TestWait(t *testing.T) {
	worker := func(site string, busy int, held string) queue.WorkerStatus {
		return queue.WorkerStatus{Worker: queue.Worker{Name: "w", Sites: []string{site}, Slots: 2}, Busy: busy, Held: held}
	}
	leaving := worker("here", 0, "")
	leaving.Draining = true
	for name, c := range map[string]struct {
		job     Job
		workers []queue.WorkerStatus
		waits   string
		alone   bool
	}{
		"no worker":    {Job{}, nil, queue.Unserved, true},
		"elsewhere":    {Job{}, []queue.WorkerStatus{worker("there", 0, ""), leaving}, queue.Unserved, true},
		"ended":        {Job{State: queue.Done}, nil, "", false},
		"free":         {Job{}, []queue.WorkerStatus{worker("here", 2, ""), worker("here", 1, "")}, "", false},
		"busy":         {Job{}, []queue.WorkerStatus{worker("here", 2, "")}, "all workers with its files are at work", false},
		"held":         {Job{}, []queue.WorkerStatus{worker("here", 0, "no disk")}, "the worker w takes no tasks: no disk", false},
		"held and not": {Job{}, []queue.WorkerStatus{worker("here", 0, "no disk"), worker("here", 0, "")}, "", false},
		"at work":      {Job{Active: []Active{{}, {Note: "it rests"}}}, []queue.WorkerStatus{worker("here", 2, "")}, "it rests", false},
	} {
		c.job.Site = "here"
		if c.job.Wait(c.workers); c.job.Waits != c.waits || c.job.Alone != c.alone {
			t.Errorf("%s: %q, %t", name, c.job.Waits, c.job.Alone)
		}
	}
}

func TestWhere(t *testing.T) {
	at := func(workers ...string) (all []Active) {
		for i, w := range workers {
			all = append(all, Active{Task: fmt.Sprint("part-", i), Worker: w})
		}
		return all
	}
	for want, j := range map[string]Job{
		"":                                 {State: queue.Queued},
		"to be joined":                     {State: queue.Running, Parts: &Parts{All: 2, Done: 2}},
		"part-0, part-2 on a; part-1 on b": {State: queue.Running, Active: at("a", "b", "a")},
		"5 tasks on 2 workers":             {Active: at("a", "b", "a", "b", "a")},
	} {
		if got := j.Where(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Batches count their jobs by state through changes, restarts and removals.
func TestBatches(t *testing.T) {
	a := New(Options{Keep: 2})
	set := func(id string, state queue.State, change func(*queue.Status)) {
		s := status(id, state, 2, 0)
		if change != nil {
			change(&s)
		}
		a.Update(second(0), s)
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, b := range a.Batches() {
			got = append(got, b.ID+": "+b.Facts())
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	set("a-b1", queue.Queued, nil)
	set("b-b1", queue.Running, nil)
	set("c-b2--ann", queue.Failed, func(s *queue.Status) { s.Job.User = "ann" })
	check("b1: 2 to do", "b2--ann: 1 failed")
	set("b-b1", queue.Running, func(s *queue.Status) { s.Paused, s.Job.Priority = true, 3 })
	check("b1: 2 to do, 1 paused", "b2--ann: 1 failed")
	if b := a.Batches(); b[0].First+b[1].First != 1 || !strings.Contains(b[0].User+b[1].User, "ann") {
		t.Errorf("%+v", b)
	}
	set("b-b1", queue.Running, func(s *queue.Status) { s.Job.Digest = "another" })
	set("c-b2--ann", queue.Cancelled, nil)
	check("b1: 2 to do", "b2--ann: 1 cancelled")
	for _, id := range []string{"a-b1", "b-b1", "c-b2--ann"} {
		set(id, queue.Done, nil)
	}
	check("b1: 1 done", "b2--ann: 1 done") // two are kept
	set("c-b2--ann", queue.Removed, nil)
	check("b1: 1 done")
	set("a-b1", queue.Removed, nil)
	set("b-b1", queue.Removed, nil)
	if v := a.Totals(second(1), false); len(a.Batches()) != 0 || v.Jobs != 0 {
		t.Errorf("%+v, %s", a.Batches(), show(v))
	}
}
