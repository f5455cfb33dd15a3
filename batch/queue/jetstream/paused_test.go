package jetstream

import (
	"context"
	"errors"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// A paused job finishes its tasks at work and begins no other, until it goes on.
func TestPause(t *testing.T) {
	e := embedded(t, quick)
	var did log
	begun, end := make(chan bool), make(chan bool)
	work(t, e, queue.Worker{Slots: 2, Any: true}, parts(e, 3, func(_ context.Context, t queue.Task) error {
		did.add(t.Name)
		if t.Name == "plan" {
			begun <- true
			<-end
		}
		return nil
	}))
	submit(t, e, queue.Job{ID: "a"}, false)
	<-begun
	e2e.Must(t, e.Pause(t.Context(), "a", true))
	end <- true
	await(t, e, "a", "planned", func(s queue.Status) bool { return s.Finished == 1 && s.Paused })
	submit(t, e, queue.Job{ID: "b", First: queue.Task{Name: "join"}}, false) // of a worker that has looked for tasks
	awaitEnd(t, e, "b")
	e2e.Must(t, e.Sweep(t.Context()))
	e2e.Must(t, e.Cancel(t.Context(), "b", "x"))
	submit(t, e, queue.Job{ID: "c", First: queue.Task{Name: "join"}}, false)
	awaitEnd(t, e, "c")
	if got := did.all(); len(got) != 3 {
		t.Errorf("while paused: %q", got)
	}
	e2e.Must(t, e.Pause(t.Context(), "a", false))
	if s := awaitEnd(t, e, "a"); s.State != queue.Done || s.Paused || len(did.all()) != 7 {
		t.Errorf("%+v, %q", s, did.all())
	}
	if err := e.Pause(t.Context(), "a", true); err == nil {
		t.Error("a job that has ended is paused")
	}
}

// Tasks that were in the queue already do not begin either. A cancelled job is no longer paused.
func TestPauseQueued(t *testing.T) {
	e := embedded(t, quick)
	submit(t, e, queue.Job{ID: "a"}, false)
	submit(t, e, queue.Job{ID: "b"}, false)
	e2e.Must(t, e.Pause(t.Context(), "a", true))
	e2e.Must(t, e.Pause(t.Context(), "b", true))
	var did log
	work(t, e, queue.Worker{Any: true}, ends(func(_ context.Context, j queue.Job) { did.add(j.ID) }))
	submit(t, e, queue.Job{ID: "c"}, false)
	awaitEnd(t, e, "c")
	e2e.Must(t, e.Pause(t.Context(), "b", false))
	awaitEnd(t, e, "b")
	e2e.Must(t, e.Cancel(t.Context(), "a", "x"))
	if s, err := e.Get(t.Context(), "a"); err != nil || s.Paused || len(did.all()) != 2 {
		t.Errorf("%+v, %v, %q", s, err, did.all())
	}
}

// Paused workers get no tasks, also after a restart, and all can see it.
func TestPauseWorkers(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, one, boss := f.client("owner", pki.Submitter), f.client("one", pki.Worker), f.client("boss", pki.Operator)
	f.task(owner, "a")
	gets := func(c *client) bool {
		m, err := (&clientSource{c: c, w: queue.Worker{Sites: []string{"parts"}}}).next(t.Context())
		e2e.Must(t, err)
		if m != nil {
			e2e.Must(t, m.Nak())
		}
		return m != nil
	}
	two := f.client("two", pki.Worker)
	e2e.Must(t, boss.PauseWorkers(t.Context(), "one", true))
	e2e.Until(t, "a task", func() bool { return gets(two) })
	if gets(one) {
		t.Error("a paused worker gets a task")
	}
	e2e.Must(t, (&clientSource{c: one}).present(t.Context(), "w", &queue.WorkerStatus{Worker: queue.Worker{Name: "w", Slots: 1}}))
	if all, err := owner.Workers(t.Context()); err != nil || len(all) != 1 || all[0].Held != "paused by an operator" {
		t.Errorf("%+v, %v", all, err)
	}
	e2e.Must(t, boss.PauseWorkers(t.Context(), pki.All, true))
	var again paused
	e2e.Must(t, again.load(f.dir))
	if again.why("one") != "the queue is paused" || again.why("two") != "the queue is paused" || gets(two) {
		t.Errorf("%+v", again.names)
	}
	e2e.Must(t, boss.PauseWorkers(t.Context(), pki.All, false))
	e2e.Must(t, boss.PauseWorkers(t.Context(), "one", false))
	e2e.Until(t, "a task", func() bool { return gets(one) })
	var err error
	for i := 0; i <= mostPaused && err == nil; i++ {
		err = again.set(newID(), true)
	}
	if !errors.Is(err, queue.ErrQuota) {
		t.Error(err)
	}
}
