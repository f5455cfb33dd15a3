package jetstream

import (
	"context"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// A job that gets a priority passes those that wait before it, also with tasks that wait already,
// and its task at work is done once.
func TestPrioritize(t *testing.T) {
	e := embedded(t, quick)
	begun, end := make(chan bool), make(chan bool)
	var did log
	for _, id := range []string{"works", "b", "c"} {
		submit(t, e, queue.Job{ID: id}, false)
	}
	work(t, e, queue.Worker{Any: true}, func(_ context.Context, j queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if did.add(j.ID); j.ID == "works" {
			begun <- true
			<-end
		}
		return queue.Outcome{End: true}, nil
	})
	<-begun
	for _, id := range []string{"works", "c"} {
		e2e.Must(t, e.Prioritize(t.Context(), id, 1))
	}
	end <- true
	for _, id := range []string{"works", "b", "c"} {
		if s := awaitEnd(t, e, id); s.State != queue.Done || s.Retried != 0 || (s.Job.Priority == 1) != (id != "b") {
			t.Errorf("%+v", s)
		}
	}
	if got := did.all(); len(got) != 3 || got[0] != "works" || got[1] != "c" {
		t.Errorf("order: %q", got)
	}
	if err := e.Prioritize(t.Context(), "b", 1); err == nil {
		t.Error("a job that has ended gets a priority")
	}
}

// A watch reports that a job was removed.
func TestWatchRemoved(t *testing.T) {
	e := embedded(t, quick)
	submit(t, e, queue.Job{ID: "a"}, false)
	e2e.Must(t, e.Cancel(t.Context(), "a", "x"))
	ctx, cancel := context.WithCancel(t.Context())
	var states []queue.State
	_ = e.Watch(ctx, func(s queue.Status) {
		if states = append(states, s.State); s.State == queue.Removed {
			cancel()
		}
	}, func() { e2e.Must(t, e.Forget(ctx, "a")) })
	if len(states) != 2 || states[0] != queue.Cancelled {
		t.Errorf("%q", states)
	}
}
