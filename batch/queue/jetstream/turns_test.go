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

// given has a worker take n tasks, and returns the first letters of their jobs.
func (f *fleet) given(c *client, n int) string {
	f.t.Helper()
	var order strings.Builder
	for range n {
		order.WriteString(f.give(c).job.ID[:1])
	}
	return order.String()
}

// Workers do parts of each credential in turn, however many jobs one has and since when, and by
// shares if there are some.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		share map[string]int
		want  string
	}{
		{nil, "aaababab" + "aaaa"},
		{map[string]int{"a": 3}, "aaabaaab" + "aaab"},
		{map[string]int{"b": 2}, "aaabbaba" + "aaaa"},
	} {
		f := newFleet(t, ServeOptions{Share: c.share})
		a, b, worker := f.client("a", pki.Submitter), f.client("b", pki.Submitter), f.client("one", pki.Worker)
		for i := range 40 {
			f.task(a, queue.OwnedID(fmt.Sprintf("a%d", i), "a"))
		}
		got := f.given(worker, 3)
		for i := range 3 {
			f.task(b, queue.OwnedID(fmt.Sprintf("b%d", i), "b"))
		}
		if got += f.given(worker, 9); got != c.want {
			t.Errorf("shares %v: tasks of %s, want %s", c.share, got, c.want)
		}
		other := f.client("two", pki.Worker) // takes turns with the first
		f.task(b, queue.OwnedID("b9", "b"))
		e2e.Contains(t, f.given(other, 2)+f.given(worker, 2), "b")
	}
}

// An idle credential saves up no turns, and its state goes with its jobs.
func TestTurnsNotSaved(t *testing.T) {
	r := turns{at: map[string]*round{}}
	take := func(waiting ...string) string {
		r.order("x", waiting)
		r.took("x", waiting[0])
		return waiting[0]
	}
	take("a", "b")
	for range 1000 {
		take("a")
	}
	order := ""
	for range 6 {
		order += take("a", "b")
	}
	if order != "bababa" && order != "ababab" {
		t.Errorf("after 1000 tasks of another: %s", order)
	}
	if n := len(r.at["x"].next); n > 2 {
		t.Errorf("%d credentials are kept", n)
	}
	r.forget(func(string) bool { return false })
	if len(r.at) != 0 {
		t.Errorf("kept: %v", r.at)
	}
}

// A worker that must hold finishes its task at work, begins no other, and shows why.
func TestHoldFinishes(t *testing.T) {
	e := embedded(t, quick)
	var did log
	hold := make(chan string, 1)
	hold <- ""
	now := func() string { why := <-hold; hold <- why; return why }
	set := func(why string) { <-hold; hold <- why }
	begun, end := make(chan bool), make(chan bool)
	work(t, e, queue.Worker{Any: true, Hold: now}, ends(func(ctx context.Context, j queue.Job) {
		if j.ID == "a" {
			begun <- true
			<-end
		}
		did.add(j.ID)
	}))
	submit(t, e, queue.Job{ID: "a"}, false)
	<-begun
	set("it waits until 22:00")
	submit(t, e, queue.Job{ID: "b"}, false)
	end <- true
	awaitDone(t, e, "a")
	e2e.Until(t, "the reason", func() bool {
		all, err := e.Workers(t.Context())
		e2e.Must(t, err)
		return len(all) == 1 && all[0].Held == "it waits until 22:00" && all[0].Busy == 0
	})
	if got := did.all(); len(got) != 1 {
		t.Errorf("while it holds: %q", got)
	}
	set("")
	awaitEnd(t, e, "b")
}

// A job that gets a priority passes those that wait before it, also with tasks that wait already,
// and its task at work is done once.
func TestPrioritize(t *testing.T) {
	e := embedded(t, quick)
	begun, end := make(chan bool), make(chan bool)
	var did log
	for _, id := range []string{"works", "b", "c"} {
		submit(t, e, queue.Job{ID: id}, false)
	}
	work(t, e, queue.Worker{Any: true}, ends(func(_ context.Context, j queue.Job) {
		if did.add(j.ID); j.ID == "works" {
			begun <- true
			<-end
		}
	}))
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
