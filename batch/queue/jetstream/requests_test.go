package jetstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

func batchOf(id, owner, root string) queue.Request {
	return queue.Request{ID: queue.OwnedID(id, owner), User: owner, Root: root, Document: []byte(`{"jobs": ["/films/a.mkv"]}`)}
}

// A request is run by one process at a time, and goes to another one if that falls silent. An agent
// acts for its owner meanwhile, and no longer.
func TestRequest(t *testing.T) {
	f := newFleet(t, ServeOptions{Options: quick})
	ctx := t.Context()
	ann := f.client("ann", pki.Submitter)
	one, two := f.client("one", pki.Agent), f.client("two", pki.Agent)
	s, err := ann.Requests().AddRequest(ctx, batchOf("b1", "ann", "/films/out"), "laptop", "")
	if err != nil || s.State != queue.Queued || s.User != "ann" || !strings.Contains(s.Waits, "no agent for /films/out") {
		t.Fatalf("%+v, %v", s, err)
	}
	wantErr(t, "an agent of another folder takes it", failure(one.Requests().TakeRequest(ctx, "w", "/other", "h0")), queue.ErrNoRequest)
	s, err = one.Requests().TakeRequest(ctx, "w", "/films", "h1")
	if err != nil || s.State != queue.Running || len(s.Document) == 0 || s.By != "w (one)" {
		t.Fatalf("%+v, %v", s, err)
	}
	wantErr(t, "two agents have it", failure(two.Requests().TakeRequest(ctx, "w", "/films", "h2")), queue.ErrNoRequest)
	acting := ConnectOptions{Options: quick, Acting: &Acting{s.ID, "h1", "ann"}}
	acting.AckWait = 0
	wantErr(t, "an agent acts by another's hold", failure(Connect(f.url(), f.issueAgain("two"), acting)), queue.ErrRefused)
	e, err := Connect(f.url(), f.issueAgain("one"), acting)
	e2e.Must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	as := e.(*client)
	f.task(as, "a--ann")
	if st, err := ann.Get(ctx, "a--ann"); err != nil || st.Job.User != "ann" {
		t.Errorf("%+v, %v", st.Job, err)
	}
	wantErr(t, "an agent submits a job of its own", one.Submit(ctx, queue.Job{ID: "b--ann", First: queue.Task{Name: "plan"}}, false), queue.ErrRefused)
	for range 6 { // twice the lease
		time.Sleep(quick.AckWait / 3)
		e2e.Must(t, one.Requests().Hold(ctx, s.ID, "h1"))
	}
	wantErr(t, "a request that is held is taken", failure(two.Requests().TakeRequest(ctx, "w", "/films", "h2")), queue.ErrNoRequest)
	e2e.Until(t, "the other agent to take it", func() bool {
		_, err := two.Requests().TakeRequest(ctx, "w", "/films", "h2")
		return err == nil
	})
	wantErr(t, "the first agent has it, too", one.Requests().Hold(ctx, s.ID, "h1"), queue.ErrHeld)
	wantErr(t, "it still acts for the owner", as.Cancel(ctx, "a--ann", "x"), queue.ErrRefused)
	e2e.Must(t, two.Requests().EndRequest(ctx, s.ID, "h2", queue.Ending{State: queue.Failed, Exit: 6, Reason: "r", Table: "t"}))
	var again requests
	e2e.Must(t, again.load(f.dir, time.Minute))
	for _, s := range []queue.RequestStatus{again.all[s.ID].RequestStatus, mustRequest(t, ann, s.ID)} {
		if s.State != queue.Failed || s.Ending.Exit != 6 || s.Ending.Table != "t" {
			t.Errorf("%+v", s)
		}
	}
}

func mustRequest(t *testing.T, c *client, id string) queue.RequestStatus {
	t.Helper()
	s, err := c.Requests().Request(t.Context(), id)
	e2e.Must(t, err)
	return s
}

// A submitter holds its own batch. Without it, its agents go on. The same command takes it back
// from the queue, but not from an agent.
func TestRequestOfSubmitter(t *testing.T) {
	f := newFleet(t, ServeOptions{Options: quick})
	ctx := t.Context()
	ann := f.client("ann", pki.Submitter)
	add := func(hold string) error {
		_, err := ann.Requests().AddRequest(ctx, batchOf("b1", "ann", "/films/out"), "laptop", hold)
		return err
	}
	e2e.Must(t, errors.Join(add("h1"), add("h1")))
	wantErr(t, "two processes have one batch", add("h2"), queue.ErrHeld)
	e2e.Until(t, "the hold to end", func() bool { return add("h2") == nil })
	e2e.Must(t, ann.Requests().ReturnRequest(ctx, "b1--ann", "h2", "the disk is away"))
	s, err := ann.Requests().TakeRequest(ctx, "w", "/films", "h3") // an agent with the submitter's credential
	if err != nil {
		t.Fatal(err)
	}
	e2e.Must(t, ann.Requests().ReturnRequest(ctx, s.ID, "h3", "the disk is away"))
	wantErr(t, "an agent that cannot run it gets it again", failure(ann.Requests().TakeRequest(ctx, "w", "/films", "h4")), queue.ErrNoRequest)
	if s := mustRequest(t, ann, s.ID); !strings.Contains(s.Waits, "the agent w cannot run it: the disk is away") {
		t.Errorf("%+v", s)
	}
	if _, err := ann.Requests().TakeRequest(ctx, "v", "/films", "h4"); err != nil {
		t.Errorf("another agent does not get it: %v", err)
	}
	e2e.Must(t, ann.Requests().ReturnRequest(ctx, s.ID, "h4", "the disk is away, too"))
	wantErr(t, "an agent gets it again when another one cannot run it", failure(ann.Requests().TakeRequest(ctx, "w", "/films", "h4")), queue.ErrNoRequest)
	wantErr(t, "another submitter's agent gets it", failure(f.client("bob", pki.Submitter).Requests().TakeRequest(ctx, "w", "/films", "h5")), queue.ErrNoRequest)
	e2e.Must(t, add("h6"))
	e2e.Must(t, ann.Requests().ChangeRequest(ctx, s.ID, queue.CancelRequest))
	wantErr(t, "the submitter does not hear of the end", ann.Requests().Hold(ctx, s.ID, "h6"), queue.ErrCancelled)
	e2e.Must(t, ann.Requests().ChangeRequest(ctx, s.ID, queue.RetryRequest))
	e2e.Must(t, ann.Requests().ChangeRequest(ctx, s.ID, queue.PauseRequest))
	wantErr(t, "an agent takes a paused batch", failure(ann.Requests().TakeRequest(ctx, "w2", "/films", "h7")), queue.ErrNoRequest)
	e2e.Must(t, ann.Requests().ChangeRequest(ctx, s.ID, queue.ResumeRequest))
	if s, err = ann.Requests().TakeRequest(ctx, "w2", "/films", "h7"); err != nil || !s.RetryFailed {
		t.Errorf("%+v, %v", s, err)
	}
	e2e.Must(t, ann.Requests().ChangeRequest(ctx, s.ID, queue.RemoveRequest))
	wantErr(t, "a removed batch", failure(ann.Requests().Request(ctx, s.ID)), queue.ErrNoRequest)
}

// Requests have limits and owners. Other users see no names of files in them.
func TestRequestRights(t *testing.T) {
	f := newFleet(t, ServeOptions{Options: quick})
	ctx := t.Context()
	ann, eye := f.client("ann", pki.Submitter), f.client("eye", pki.Observer)
	add := func(q queue.Request) error { _, err := ann.Requests().AddRequest(ctx, q, "laptop", ""); return err }
	large := batchOf("b1", "ann", "/films/out")
	large.Document = []byte(strings.Repeat("x", queue.MostRequest))
	wantErr(t, "a large request", add(large), queue.ErrQuota)
	for _, q := range []queue.Request{batchOf("b1", "bob", "/out"), batchOf("b1", "ann", "out"), batchOf("b1", "ann", "/x/../out"), batchOf("x-b1", "ann", "/out"), {ID: "b1--ann", Root: "/out"}} {
		if add(q) == nil {
			t.Errorf("taken: %+v", q)
		}
	}
	for i := range mostRequests {
		e2e.Must(t, add(batchOf(fmt.Sprint("b", i), "ann", fmt.Sprint("/films/", i))))
	}
	wantErr(t, "one more", add(batchOf("more", "ann", "/films/more")), queue.ErrQuota)
	wantErr(t, "another batch for a folder", add(batchOf("other", "ann", "/films/7")), queue.ErrHeld)
	all, err := eye.Requests().Requests(ctx)
	if err != nil || len(all) != mostRequests || strings.Contains(fmt.Sprintf("%+v", all), "films") || all[0].User != "ann" {
		t.Errorf("%d, %v: %.200v", len(all), err, all)
	}
	if s, err := f.Requests("page").Request(ctx, "b3--ann"); err != nil || s.Root != "/films/3" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []*client{eye, f.client("bob", pki.Submitter)} {
		if err := c.Requests().ChangeRequest(ctx, "b3--ann", queue.CancelRequest); !errors.Is(err, queue.ErrRefused) {
			t.Errorf("%s cancels it: %v", c.who.name, err)
		}
	}
	wantErr(t, "an observer runs it", failure(eye.Requests().TakeRequest(ctx, "w", "/films", "h")), queue.ErrRefused)
}
