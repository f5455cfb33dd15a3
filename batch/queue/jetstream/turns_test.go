package jetstream

import (
	"context"
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
		if got := f.given(other, 2) + f.given(worker, 2); !strings.Contains(got, "b") {
			t.Errorf("shares %v: two workers get tasks of %s", c.share, got)
		}
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

// A job with a priority gets the next free worker, and stops no task at work.
func TestPriorityWaits(t *testing.T) {
	e := embedded(t, quick)
	var did log
	begun, end := make(chan bool), make(chan bool)
	work(t, e, queue.Worker{Any: true}, func(ctx context.Context, j queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if j.ID == "long" {
			begun <- true
			<-end
		}
		did.add(fmt.Sprint(j.ID, " ", ctx.Err() == nil))
		return queue.Outcome{End: true}, nil
	})
	submit(t, e, queue.Job{ID: "long"}, false)
	<-begun
	submit(t, e, queue.Job{ID: "waiting"}, false)
	submit(t, e, queue.Job{ID: "urgent", Priority: 10}, false)
	end <- true
	awaitEnd(t, e, "waiting")
	if got := strings.Join(did.all(), ", "); got != "long true, urgent true, waiting true" {
		t.Error(got)
	}
	if s, err := e.Get(t.Context(), "long"); err != nil || s.State != queue.Done || s.Retried != 0 {
		t.Errorf("%+v, %v", s, err)
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
	work(t, e, queue.Worker{Any: true, Hold: now}, func(ctx context.Context, j queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if j.ID == "a" {
			begun <- true
			<-end
		}
		did.add(j.ID)
		return queue.Outcome{End: true}, ctx.Err()
	})
	submit(t, e, queue.Job{ID: "a"}, false)
	<-begun
	set("it waits until 22:00")
	submit(t, e, queue.Job{ID: "b"}, false)
	end <- true
	if s := awaitEnd(t, e, "a"); s.State != queue.Done {
		t.Errorf("%+v", s)
	}
	waitFor(t, "the reason", func() bool {
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
