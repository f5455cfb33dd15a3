package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// consumers returns the names of the consumers of tasks.
func (f *fleet) consumers() (names []string) {
	f.t.Helper()
	list := f.e.tasks.ConsumerNames(f.t.Context())
	for n := range list.Name() {
		names = append(names, n)
	}
	e2e.Must(f.t, list.Err())
	return names
}

// A queue survives more folders than a stream may have consumers. A folder's consumer ends with its
// jobs. A credential with too many folders is refused, others are not.
func TestManyFolders(t *testing.T) {
	t.Parallel()
	f := newFleet(t, ServeOptions{})
	owner, evil := f.client("owner", pki.Submitter), f.client("evil", pki.Submitter)
	ctx := t.Context()
	for i := range 1100 {
		_, err := (&clientSource{c: owner}).open(ctx, queue.Worker{Sites: []string{fmt.Sprint("folder-", i), "parts"}})
		e2e.Must(t, err)
	}
	refused := 0
	for i := range mostSites + 3 {
		site := fmt.Sprint("evil-", i)
		err := evil.Submit(ctx, queue.Job{ID: site, Site: site, First: queue.Task{Name: "whole", Site: site}}, false)
		if errors.Is(err, queue.ErrQuota) {
			refused++
			continue
		}
		e2e.Must(t, err)
		if i%16 == 0 {
			_, err := (&clientSource{c: evil, w: queue.Worker{Sites: []string{site, "folder-1"}}}).next(ctx)
			e2e.Must(t, err)
		}
	}
	if refused != 3 {
		t.Errorf("%d folders were refused", refused)
	}
	if limits := f.Limits(); !slices.ContainsFunc(limits, func(l queue.Limit) bool { return l.Of == "evil" && l.What == "folders" && l.Used == mostSites }) {
		t.Errorf("the limits: %+v", limits)
	}
	stop := work(t, owner, queue.Worker{Sites: []string{"folder-1"}}, parts(owner, 2, nothing))
	e2e.Must(t, owner.Submit(ctx, queue.Job{ID: "a", Site: "folder-1", First: queue.Task{Name: "plan", Site: "folder-1"}}, false))
	await(t, owner, "a", "planned", func(s queue.Status) bool { return s.Finished > 0 })
	e2e.Must(t, owner.Cancel(ctx, "a", ""))
	stop()
	for i := range mostSites {
		e2e.Must(t, evil.Cancel(ctx, fmt.Sprint("evil-", i), ""))
	}
	e2e.Until(t, "the consumers of folders end with their jobs", func() bool {
		return !slices.ContainsFunc(f.consumers(), func(n string) bool { return !strings.HasSuffix(n, "-s_parts") })
	})
}

// The consumers of a folder end with the last worker, also without a server.
func TestConsumersEnd(t *testing.T) {
	t.Parallel()
	e := embedded(t, quick)
	work(t, e, queue.Worker{Sites: []string{"folder"}}, parts(e, 1, nothing))()
	if i, err := e.tasks.Info(t.Context()); err != nil || i.State.Consumers != 0 {
		t.Errorf("%d consumers, %v", i.State.Consumers, err)
	}
}

// Every verb asks for the attempt that holds the task.
func TestDeadTickets(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, good, evil := f.client("owner", pki.Submitter), f.client("good", pki.Worker), f.client("evil", pki.Submitter)
	ctx := t.Context()
	f.task(owner, "a")
	e2e.Must(t, owner.Blobs().Put(ctx, "a/in/0001", strings.NewReader("packets")))
	whole := &queue.Outcome{End: true, Result: json.RawMessage(`"false"`)}
	verbs := func(c *client, a *attempt) map[string]error {
		all := map[string]error{}
		out := fileRequest{request{data: []byte("x")}, "a/out/0001.1-x"}
		for verb, q := range map[string]anyRequest{
			"extend": &request{}, "return": &request{}, "settle": &settleRequest{Ending: &ending{How: endFailed, Reason: "x"}},
			"settle ":  &settleRequest{Ending: &ending{How: endDone, Outcome: whole}},
			"progress": &progressRequest{Active: &queue.Active{}}, "file": &fileRequest{Name: "a/in/0001"}, "file-in": &fileInRequest{out, newID(), nil},
			"piece-in": &pieceRequest{out, newID(), 0}, "remove": &fileRequest{Name: "a/out/0001.1-x"},
		} {
			q.shared().Ticket = a.m.(*issuedTask).t
			_, all[verb] = c.ask(ctx, strings.TrimSpace(verb), q)
		}
		return all
	}
	refused := func(when string, errs map[string]error, but ...string) {
		t.Helper()
		for verb, err := range errs {
			if !errors.Is(err, queue.ErrRefused) && !slices.Contains(but, verb) {
				t.Errorf("%s: %s: %v", when, verb, err)
			}
		}
	}
	_, first := f.fetch(evil, "parts")
	refused("not taken", verbs(evil, first), "return") // that gives it back
	wantErr(t, "given back, and taken", (&clientSource{c: evil}).take(ctx, first), queue.ErrRefused)
	refused("given back", verbs(evil, first))
	a := f.give(good)
	refused("another has it", verbs(evil, first))
	if _, err := (&clientSource{c: good}).c.ask(ctx, "extend", &request{Ticket: a.m.(*issuedTask).t}); err != nil {
		t.Errorf("the holder extends it: %v", err)
	}
	e2e.Must(t, (&clientSource{c: good}).settle(ctx, a, ending{How: endBack, Delay: 1000 * time.Hour}))
	refused("put back", verbs(good, a))
	// A submitter may do another's part, but not end the job with it.
	second := f.give(evil)
	end := ending{How: endDone, Outcome: whole}
	wantErr(t, "a part ends the job", (&clientSource{c: evil}).settle(ctx, second, end), queue.ErrRefused)
	more := ending{How: endDone, Outcome: &queue.Outcome{Next: []queue.Task{{Name: "part-0009"}}}}
	wantErr(t, "a part names another", (&clientSource{c: evil}).settle(ctx, second, more), queue.ErrRefused)
	e2e.Must(t, (&clientSource{c: evil}).settle(ctx, second, ending{How: endDone, Outcome: &queue.Outcome{Result: json.RawMessage(`"mine"`)}}))
	refused("done", verbs(evil, second), "settle", "settle ", "extend", "progress")
	if s, err := owner.Get(ctx, "a"); err != nil || s.State == queue.Done {
		t.Errorf("%+v, %v", s, err)
	}
	notes := strings.Join(f.notes.all(), "\n")
	e2e.Contains(t, notes, "good worker took a", "good worker settled: back a", "evil submitter took a", "evil submitter settled: done a", "evil submitter refused: settle a")
	if n := strings.Count(notes, "refused: settle"); n > 2 {
		t.Errorf("refusals fill the audit log:\n%s", notes)
	}
}

// The IDs of a credential's jobs are its own. An operator hands a job over, with its tasks.
func TestOwnIDs(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, heir, boss := f.client("owner", pki.Submitter), f.client("heir", pki.Submitter), f.client("boss", pki.Operator)
	ctx := t.Context()
	id := queue.OwnedID("00000000-000000", "owner")
	job := queue.Job{ID: id, Site: "there", First: queue.Task{Name: "whole", Site: "there"}}
	for _, c := range []*client{heir, boss} {
		if err := c.Submit(ctx, job, false); !errors.Is(err, queue.ErrRefused) {
			t.Errorf("%s takes the ID of another: %v", c.who.name, err)
		}
	}
	e2e.Must(t, owner.Submit(ctx, job, false))
	d := &clientSource{c: heir, w: queue.Worker{Sites: []string{"there"}}}
	if m, err := d.next(ctx); m != nil || err != nil {
		t.Errorf("another's task: %v, %v", m, err)
	}
	wantErr(t, "a submitter takes a job", heir.Give(ctx, id, "heir"), queue.ErrRefused)
	e2e.Must(t, boss.Give(ctx, id, "heir"))
	e2e.Until(t, "the task of a job that was handed over", func() bool {
		m, err := d.next(ctx)
		e2e.Must(t, err)
		return m != nil
	})
	wantErr(t, "the former owner cancels it", owner.Cancel(ctx, id, ""), queue.ErrRefused)
	e2e.Must(t, heir.Cancel(ctx, id, ""))
	e2e.Must(t, heir.Forget(ctx, id))
	wantErr(t, "a removed job", failure(owner.Get(ctx, id)), queue.ErrNoJob)
	if a, err := owner.ask(ctx, "jobs", &jobsRequest{}); err != nil || len(a.Records) != 1 || !a.Records[0].Gone {
		t.Errorf("the jobs after it: %+v, %v", a.Records, err)
	}
}

// Abandoned jobs, and jobs that ended long ago, are removed with their files.
func TestExpiry(t *testing.T) {
	t.Parallel()
	f := newFleet(t, ServeOptions{Keep: 2 * time.Second})
	owner := f.client("owner", pki.Submitter)
	ctx := t.Context()
	for _, id := range []string{"left", "kept"} {
		e2e.Must(t, owner.Submit(ctx, queue.Job{ID: id, Site: id, First: queue.Task{Name: "plan", Site: id}}, false))
		e2e.Must(t, owner.Blobs().Put(ctx, id+"/in/0001", strings.NewReader("packets")))
	}
	hold := make(chan bool)
	work(t, owner, queue.Worker{Sites: []string{"kept"}}, ends(func(ctx context.Context, _ queue.Job) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}))
	e2e.Until(t, "the job is removed", func() bool { _, err := owner.Get(ctx, "left"); return errors.Is(err, queue.ErrNoJob) })
	sizes, err := owner.Blobs().Sizes(ctx)
	if s, err2 := owner.Get(ctx, "kept"); err != nil || err2 != nil || s.State != queue.Running || sizes["kept"] == 0 || sizes["left"] != 0 {
		t.Errorf("%+v, %v, %v; %v", s, err, err2, sizes)
	}
	close(hold)
	e2e.Until(t, "the job that is done is removed", func() bool { _, err := owner.Get(ctx, "kept"); return errors.Is(err, queue.ErrNoJob) })
}

// A flood of requests from one credential delays no others, and loses no record.
func TestFlood(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, eye := f.client("owner", pki.Submitter), f.client("eye", pki.Observer)
	ctx := t.Context()
	for i := range 20 {
		j := queue.Job{ID: fmt.Sprint("job-", i), Title: strings.Repeat("x", 2000), First: queue.Task{Name: "plan"}}
		e2e.Must(t, owner.Submit(ctx, j, false))
	}
	end, stop := context.WithCancel(ctx)
	var flood sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{}
	for range 2 * mostWaiting {
		flood.Go(func() {
			for end.Err() == nil {
				_, err := eye.ask(end, "jobs", &request{})
				mu.Lock()
				answers[fmt.Sprint(err)]++
				mu.Unlock()
			}
		})
	}
	var worst time.Duration
	for range 5 {
		begun := time.Now()
		_, err := owner.Get(ctx, "job-1")
		e2e.Must(t, err)
		worst = max(worst, time.Since(begun))
	}
	stop()
	flood.Wait()
	if worst > 4*time.Second {
		t.Errorf("another waits for %v", worst)
	}
	if answers[fmt.Sprint(errTooMany)] == 0 {
		t.Errorf("the answers: %v", answers)
	}
	seen := 0
	for at, more := uint64(0), true; more; {
		p, err := f.handler.cache.list(t.Context(), listing{after: at, size: 5000, by: caller{role: pki.Observer}})
		e2e.Must(t, err)
		seen += len(p.found)
		more, at = p.more, p.found[len(p.found)-1].At
	}
	if seen != 20 {
		t.Errorf("%d records", seen)
	}
}

// A watch may begin with the latest of the jobs that are done or cancelled, and counts the others.
func TestMost(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner := f.client("owner", pki.Submitter)
	for i := range 12 {
		f.task(owner, fmt.Sprint("job-", i))
	}
	for i := range 8 {
		e2e.Must(t, owner.Cancel(t.Context(), fmt.Sprint("job-", 7-i), "x"))
	}
	owner.most = 3
	all, want := map[string]bool{}, []string{"job-0", "job-1", "job-10", "job-11", "job-2", "job-8", "job-9"}
	ctx, stop := context.WithCancel(t.Context())
	_ = owner.Watch(ctx, func(s queue.Status) { all[s.Job.ID] = true }, stop)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) || owner.Left() != 5 {
		t.Errorf("%q, and %d left out", got, owner.Left())
	}
	seen := map[string]bool{}
	for at, more := uint64(0), true; more; {
		p, err := f.handler.cache.list(t.Context(), listing{after: at, size: 500, most: 3, by: caller{role: pki.Observer}})
		e2e.Must(t, err)
		for _, r := range p.found {
			seen[r.Key], at = true, r.At
		}
		more = p.more
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("in small pieces: %q", got)
	}
}

// A worker reports the progress of its own task only, with bounded numbers and texts.
func TestProgressOfOthers(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, good, evil := f.client("owner", pki.Submitter), f.client("good", pki.Worker), f.client("evil", pki.Worker)
	ctx := t.Context()
	f.task(owner, "a")
	a := f.give(good)
	tell := func(c *client, now queue.Active) error {
		_, err := c.ask(ctx, "progress", &progressRequest{request{Ticket: a.m.(*issuedTask).t}, &now})
		return err
	}
	wantErr(t, "another's progress", tell(evil, queue.Active{}), queue.ErrRefused)
	for _, p := range []queue.Progress{{Frames: -1}, {Frames: math.MaxInt64}, {Total: math.MaxInt64}, {Bytes: math.MaxInt64}, {FPS: 1e300}} {
		if err := tell(good, queue.Active{Progress: p}); !errors.Is(err, errMalformed) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	long := strings.Repeat("é\n", 5000)
	said := make(chan error, 1)
	s := await(t, owner, "a", "told about", func(s queue.Status) bool {
		if len(said) == 0 {
			said <- tell(good, queue.Active{Task: "part-0009", Attempt: 77, Worker: long, Progress: queue.Progress{Frames: 3, Note: long}})
		}
		return len(s.Active) > 0
	})
	e2e.Must(t, <-said)
	if now := s.Active[0]; now.Task != "part-0001" || now.Attempt != 1 || len(now.Worker) > 2*mostNote || len(now.Progress.Note) > 2*mostNote || now.Progress.Frames != 3 {
		t.Errorf("%+v", now)
	}
	nc, allowed := f.raw(f.issue("x", pki.Worker))
	for _, subject := range []string{"vf.event.progress.a.e.part-0001", "vf.event.over.a.e.part-0001"} {
		e2e.Must(t, nc.Publish(subject, nil))
		if left := allowed(subject); len(left) > 0 {
			t.Errorf("a worker may publish %q", left)
		}
	}
	for _, w := range []queue.WorkerStatus{
		{Worker: queue.Worker{Name: long}}, {Worker: queue.Worker{Slots: 1 << 30}}, {Worker: queue.Worker{Sites: make([]string, 100)}},
	} {
		wantErr(t, "a worker", (&clientSource{c: good}).present(ctx, "w", &w), errMalformed)
	}
}

// No credential drives the others' lines out of the audit log.
func TestAuditFlood(t *testing.T) {
	said := map[string]int{}
	l := auditLog{to: func(n Note) { said[n.By]++ }, minute: map[string]*noteCount{}}
	for range mostNotes + 10 {
		l.note(caller{name: "evil"}, "took", queue.Job{}, Note{})
	}
	l.note(caller{name: "owner"}, "took", queue.Job{}, Note{})
	if said["evil"] != mostNotes || said["owner"] != 1 {
		t.Errorf("%v", said)
	}
}

// A result that a part cannot have counts against the credential of its worker, in the audit log
// and in the numbers. Good ones, and those too large for the queue, count as they should.
func TestBadResults(t *testing.T) {
	f := newFleet(t, ServeOptions{Check: func(_ queue.Task, result []byte) (string, error) {
		if string(result) == `"bad"` {
			return "", errors.New("a part of -1 frames")
		}
		return "", nil
	}})
	owner, good, bad := f.client("owner", pki.Submitter), f.client("good", pki.Worker), f.client("bad", pki.Worker)
	returns := func(c *client, id, result string) {
		f.task(owner, id)
		a := f.give(c)
		e2e.Must(t, (&clientSource{c: c}).settle(t.Context(), a, ending{How: endDone, Outcome: &queue.Outcome{Result: []byte(result)}}))
	}
	returns(good, queue.OwnedID("one", "owner"), `"good"`)
	returns(bad, queue.OwnedID("two", "owner"), `"bad"`)
	e2e.Must(t, owner.Cancel(t.Context(), queue.OwnedID("two", "owner"), "x"))
	large := make([]byte, mostResult+2)
	for i := range large {
		large[i] = '1'
	}
	returns(bad, queue.OwnedID("three", "owner"), string(large))
	if got := f.BadResults(); !maps.Equal(got, map[string]int{"bad": 2}) {
		t.Errorf("bad results: %v", got)
	}
	for _, id := range []string{"two", "three"} {
		if note := "bad worker bad result " + queue.OwnedID(id, "owner") + " "; !slices.Contains(f.notes.all(), note) {
			t.Errorf("no %q in %q", note, f.notes.all())
		}
	}
}
