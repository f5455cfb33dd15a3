package tally

import (
	"slices"
	"strings"
	"testing"

	"vidfilter/batch/queue"
)

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
