package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

func TestSteps(t *testing.T) {
	e := embedded(t, quick)
	var did log
	work(t, e, queue.Worker{Slots: 3, Sites: []string{"here"}, Any: true}, parts(e, 5, func(_ context.Context, t queue.Task) error {
		did.add(t.Name)
		return nil
	}))
	submit(t, e, queue.Job{ID: "a", Site: "here", First: queue.Task{Site: "here"}}, false)
	s := awaitEnd(t, e, "a")
	if s.State != queue.Done || string(s.Result) != "6" || s.Tasks != 7 || s.Finished != 7 || s.Retried != 0 {
		t.Errorf("%+v", s)
	}
	if s.Started.Before(s.Submitted) || s.Ended.Before(s.Started) {
		t.Errorf("times: %v, %v, %v", s.Submitted, s.Started, s.Ended)
	}
	lines := did.all()
	if len(lines) != 7 || lines[0] != "plan" || lines[6] != "join" {
		t.Errorf("order: %v", lines)
	}
	slices.Sort(lines)
	if len(slices.Compact(lines)) != 7 {
		t.Errorf("a task was done twice: %v", lines)
	}
}

func TestRetries(t *testing.T) {
	e := embedded(t, quick)
	var mu sync.Mutex
	var at []time.Time
	var attempts []int
	work(t, e, queue.Worker{}, func(_ context.Context, _ queue.Job, t queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		at, attempts = append(at, time.Now()), append(attempts, t.Attempt)
		if len(at) < 4 {
			return queue.Outcome{}, errBusy
		}
		return queue.Outcome{End: true}, nil
	})
	submit(t, e, queue.Job{ID: "a", Retries: 3}, false)
	if s := awaitEnd(t, e, "a"); s.State != queue.Done || s.Retried != 3 || s.Result != nil {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(attempts, []int{1, 2, 3, 4}) {
		t.Errorf("attempts %v", attempts)
	}
	for i, least := range []time.Duration{20, 40, 80} {
		if d := at[i+1].Sub(at[i]); d < least*time.Millisecond {
			t.Errorf("attempt %d came after %v", i+2, d)
		}
	}
}

// Get distinguishes missing jobs.
func TestGet(t *testing.T) {
	e := embedded(t, quick)
	for _, id := range []string{"none", "no.name", ""} {
		if s, err := e.Get(t.Context(), id); !errors.Is(err, queue.ErrNoJob) {
			t.Errorf("%q: %+v, %v", id, s, err)
		}
	}
	submit(t, e, queue.Job{ID: "a", Title: "a.mkv"}, false)
	if s, err := e.Get(t.Context(), "a"); err != nil || s.Job.Title != "a.mkv" || s.State != queue.Queued {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestDelay(t *testing.T) {
	o := Options{}.withDefaults()
	for n, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second, 7: 5 * time.Minute, 1000: 5 * time.Minute} {
		if got := o.delay(n); got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
}

// A failed job stops its other tasks. Submitted again, it keeps its finished tasks.
func TestFail(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
		want   queue.Failure
	}{
		"permanent": {queue.Permanent(errBusy), "task part-2: the device is busy", queue.Failure{Task: "part-2", Kind: "part"}},
		"attempts": {errBusy, "task part-2: the device is busy (2 attempts)",
			queue.Failure{Task: "part-2", Kind: "part", Attempts: 2}},
		"code": {queue.Permanent(fmt.Errorf("x: %w", queue.Coded("busy", errBusy))), "task part-2: x: the device is busy",
			queue.Failure{Task: "part-2", Kind: "part", Code: "busy"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := embedded(t, quick)
			var did log
			var healed atomic.Bool
			stopped := make(chan error, 1)
			work(t, e, queue.Worker{Slots: 2}, parts(e, 5, func(ctx context.Context, t queue.Task) error {
				did.add(t.Name)
				switch {
				case healed.Load():
				case t.Name == "part-1":
					<-ctx.Done()
					stopped <- context.Cause(ctx)
					return ctx.Err()
				case t.Name == "part-2":
					return c.err
				}
				return nil
			}))
			submit(t, e, queue.Job{ID: "a", Digest: "1", Retries: 1}, false)
			if s := awaitEnd(t, e, "a"); s.State != queue.Failed || s.Explain() != c.reason || s.Failure != c.want || s.Ended.IsZero() {
				t.Errorf("%q, %+v", s.Explain(), s)
			}
			if s, err := e.Get(t.Context(), "a"); err != nil || s.State != queue.Failed || s.Failure != c.want {
				t.Errorf("Get: %+v, %v", s, err)
			}
			if err := <-stopped; err != queue.ErrCancelled {
				t.Error("part-1 ended with", err)
			}
			submit(t, e, queue.Job{ID: "a", Digest: "1", Retries: 1}, false)
			if s := awaitEnd(t, e, "a"); s.State != queue.Failed {
				t.Errorf("submitted, but not again: %+v", s)
			}
			before := len(did.all())
			healed.Store(true)
			submit(t, e, queue.Job{ID: "a", Digest: "1", Retries: 1}, true)
			if s := await(t, e, "a", "done", func(s queue.Status) bool { return s.State == queue.Done }); s.Explain() != "" || s.Failure != (queue.Failure{}) || string(s.Result) != "6" {
				t.Errorf("%+v", s)
			}
			if after := did.all()[before:]; slices.Contains(after, "plan") || slices.Contains(after, "part-0") {
				t.Errorf("done again: %v", after)
			}
		})
	}
}

// Putting a task back costs no attempt, however often.
func TestLater(t *testing.T) {
	e := embedded(t, quick)
	n := 0
	work(t, e, queue.Worker{}, func(_ context.Context, _ queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if n++; n < 5 {
			return queue.Outcome{}, queue.Later(errBusy, time.Millisecond)
		}
		if task.Attempt != 1 {
			t.Errorf("attempt %d", task.Attempt)
		}
		return queue.Outcome{End: true}, nil
	})
	submit(t, e, queue.Job{ID: "a"}, false)
	if s := awaitEnd(t, e, "a"); s.State != queue.Done || s.Retried != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCancel(t *testing.T) {
	e := embedded(t, quick)
	began, ended := make(chan bool), make(chan error, 1)
	work(t, e, queue.Worker{}, func(ctx context.Context, job queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if job.ID == "c" {
			return queue.Outcome{End: true}, nil
		}
		began <- true
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return queue.Outcome{}, ctx.Err()
	})
	submit(t, e, queue.Job{ID: "a"}, false)
	<-began
	submit(t, e, queue.Job{ID: "b"}, false)
	for _, id := range []string{"b", "a"} { // b has not begun
		e2e.Must(t, e.Cancel(t.Context(), id, "not\nwanted"))
		if s := awaitEnd(t, e, id); s.State != queue.Cancelled || s.Reason != "not wanted" {
			t.Errorf("%+v", s)
		}
	}
	if err := <-ended; err != queue.ErrCancelled {
		t.Error(err)
	}
	submit(t, e, queue.Job{ID: "c"}, false)
	awaitEnd(t, e, "c")
	e2e.Must(t, e.Cancel(t.Context(), "c", "late"))
	awaitDone(t, e, "c")
	if err := e.Cancel(t.Context(), "nobody", ""); err == nil {
		t.Error("cancelled a job that is not there")
	}
}

// A new digest stops running tasks, forgets finished ones, and refuses late results.
func TestAnew(t *testing.T) {
	e := embedded(t, quick)
	began, release := make(chan bool, 1), make(chan bool)
	stop := work(t, e, queue.Worker{Slots: 2}, func(ctx context.Context, job queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		o := queue.Outcome{Result: json.RawMessage(`"` + job.Digest + `"`)}
		switch {
		case task.Name == "plan":
			o.Next = []queue.Task{{Name: "last"}}
		case job.Digest == "1":
			began <- true
			<-ctx.Done()
			if context.Cause(ctx) != queue.ErrCancelled {
				t.Error(context.Cause(ctx))
			}
			<-release // and returns a result all the same
			o.End = true
		default:
			o.End = true
		}
		return o, nil
	})
	submit(t, e, queue.Job{ID: "a", Digest: "1"}, false)
	<-began
	submit(t, e, queue.Job{ID: "a", Digest: "2"}, false)
	s := awaitEnd(t, e, "a")
	close(release)
	if s.State != queue.Done || string(s.Result) != `"2"` || s.Tasks != 2 || s.Finished != 2 {
		t.Errorf("%+v", s)
	}
	stop() // after the late result was refused
	results, err := e.Results(t.Context(), "a")
	if err != nil || len(results) != 2 || string(results["plan"]) != `"2"` || string(results["last"]) != `"2"` {
		t.Errorf("%s, %v", results, err)
	}
	left, err := e.results.ListKeysFiltered(t.Context(), "r.>")
	e2e.Must(t, err)
	n := 0
	for range left.Keys() {
		n++
	}
	if n != 2 {
		t.Errorf("%d results are kept", n)
	}
}

func TestWatch(t *testing.T) {
	e := embedded(t, quick)
	release := make(chan bool)
	work(t, e, queue.Worker{Name: "me"}, func(_ context.Context, job queue.Job, _ queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
		if job.ID == "c" {
			report(queue.Progress{Frames: 7})
			<-release
		}
		return queue.Outcome{End: true}, nil
	})
	for _, id := range []string{"a", "b"} {
		submit(t, e, queue.Job{ID: id, Title: "Title " + id}, false)
		awaitEnd(t, e, id)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var seen []string
	released := false
	err := e.Watch(ctx, func(s queue.Status) {
		if s.Job.Title != "Title "+s.Job.ID {
			t.Errorf("%+v", s)
		}
		line := s.Job.ID + " " + string(s.State)
		for _, a := range s.Active {
			line += fmt.Sprintf(" %s %d %s %d", a.Task, a.Attempt, a.Worker, a.Progress.Frames)
		}
		if len(seen) == 0 || seen[len(seen)-1] != line {
			seen = append(seen, line)
		}
		if len(s.Active) == 1 && s.Active[0].Progress.Frames == 7 && !released {
			released = true
			close(release)
		}
		if s.Job.ID == "c" && s.State.Ended() {
			cancel()
		}
	}, func() {
		seen = append(seen, "live")
		submit(t, e, queue.Job{ID: "c", Title: "Title c"}, false)
	})
	if err != context.Canceled {
		t.Error(err)
	}
	want := []string{"a done", "b done", "live", "c queued", "c running plan 1 me 7", "c done"}
	// The record and the worker's events come in any order, and the first event may include
	// progress.
	got := slices.Compact(slices.DeleteFunc(slices.Clone(seen), func(s string) bool {
		return s == "c running" || s == "c running plan 1 me 0"
	}))
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// subjectsOf returns the subjects of a job's record, results and attempts, markers of deletion too.
func subjectsOf(t *testing.T, e *Engine, job string) []string {
	t.Helper()
	var of []string
	for _, bucket := range []string{e.names.jobs(), e.names.results()} {
		s, err := e.js.Stream(t.Context(), "KV_"+bucket)
		e2e.Must(t, err)
		info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$KV.>"))
		e2e.Must(t, err)
		for subject := range info.State.Subjects {
			if slices.Contains(strings.Split(subject, "."), job) {
				of = append(of, subject)
			}
		}
	}
	return of
}

// A job is begun anew while a task of its first epoch runs. The result of that task is not kept.
func TestNothingOfAnOldEpochStays(t *testing.T) {
	e := embedded(t, quick)
	began, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	stop := work(t, e, queue.Worker{}, parts(e, 1, func(context.Context, queue.Task) error {
		first.Do(func() { close(began); <-goOn })
		return nil
	}))
	submit(t, e, queue.Job{ID: "a", Digest: "1"}, false)
	<-began
	old, _, err := e.get(t.Context(), "a")
	e2e.Must(t, err)
	submit(t, e, queue.Job{ID: "a", Digest: "2"}, false)
	close(goOn)
	awaitEnd(t, e, "a")
	stop()
	for _, subject := range subjectsOf(t, e, "a") {
		if strings.Contains(subject, old.Epoch) {
			t.Error("left: ", subject)
		}
	}
}

// A forgotten job leaves no data, and can be submitted as a new one.
func TestForget(t *testing.T) {
	e := embedded(t, quick)
	e2e.Must(t, e.Forget(t.Context(), "none"))
	submit(t, e, queue.Job{ID: "a", Digest: "1"}, false)
	if err := e.Forget(t.Context(), "a"); err == nil {
		t.Error("a job that waits was forgotten")
	}
	stop := work(t, e, queue.Worker{}, parts(e, 3, nothing))
	awaitEnd(t, e, "a")
	submit(t, e, queue.Job{ID: "a", Digest: "2"}, false)
	submit(t, e, queue.Job{ID: "b"}, false)
	awaitEnd(t, e, "a")
	awaitEnd(t, e, "b")
	stop()
	if len(subjectsOf(t, e, "a")) == 0 {
		t.Fatal("nothing to forget")
	}
	e2e.Must(t, e.Forget(t.Context(), "a"))
	wantErr(t, "a forgotten job", failure(e.Get(t.Context(), "a")), queue.ErrNoJob)
	e2e.Until(t, "the subjects of the job are gone", func() bool {
		e2e.Must(t, e.Sweep(t.Context()))
		return len(subjectsOf(t, e, "a")) == 0
	})
	if s, err := e.Get(t.Context(), "b"); err != nil || s.State != queue.Done {
		t.Errorf("the other job: %+v, %v", s, err)
	}
	work(t, e, queue.Worker{}, parts(e, 3, nothing))
	submit(t, e, queue.Job{ID: "a", Digest: "2"}, false)
	if s := awaitEnd(t, e, "a"); s.State != queue.Done || s.Finished != 5 {
		t.Errorf("%+v", s)
	}
}

// Tasks go to workers of their sites only, and started jobs go first.
func TestSites(t *testing.T) {
	e := embedded(t, quick)
	var did log
	worker := func(name string, sites ...string) queue.Handler {
		return func(ctx context.Context, job queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
			if task.Site != "" && !slices.Contains(sites, task.Site) {
				t.Errorf("%s got %+v", name, task)
			}
			did.add(job.ID + " " + task.Name)
			return parts(e, 2, nothing)(ctx, job, task, nil)
		}
	}
	for _, id := range []string{"a", "b"} {
		submit(t, e, queue.Job{ID: id, Site: "site " + id, First: queue.Task{Site: "both"}}, false)
	}
	workers := []queue.Worker{{Name: "1", Sites: []string{"site a", "both"}, Any: true}, {Name: "2", Sites: []string{"site b"}}}
	for _, w := range workers {
		work(t, e, w, worker(w.Name, w.Sites...))
	}
	for _, id := range []string{"a", "b"} {
		awaitDone(t, e, id)
	}
	if lines := did.all(); len(lines) != 8 || slices.Index(lines, "b plan") < slices.Index(lines, "a join") {
		t.Errorf("%q", lines)
	}
	e2e.Until(t, "both workers are there", func() bool { // one that is late with its sign of life is back soon
		ws, err := e.Workers(t.Context())
		return err == nil && len(ws) == 2 && ws[0].Name == "1" && ws[1].Name == "2" && slices.Equal(ws[0].Sites, workers[0].Sites) && !ws[0].Seen.IsZero()
	})
}

// Jobs with a priority come before others that wait for longer, which get every fourth turn.
func TestPriority(t *testing.T) {
	e := embedded(t, quick)
	for i := range 12 {
		submit(t, e, queue.Job{ID: fmt.Sprint("low-", i)}, false)
	}
	for i := range 6 {
		submit(t, e, queue.Job{ID: fmt.Sprint("high-", i), Priority: 10}, false)
	}
	var did log
	work(t, e, queue.Worker{Any: true}, ends(func(_ context.Context, j queue.Job) { did.add(strings.TrimRight(j.ID, "-0123456789")) }))
	awaitEnd(t, e, "low-11")
	order := strings.Join(did.all(), " ")
	if n := strings.Count(order[:strings.LastIndex(order, "high")], "low"); n < 1 || n > 3 {
		t.Errorf("%d others came before the last with a priority: %s", n, order)
	}
}

// The tasks of a stopping worker go to the next one, and cost no attempt.
func TestStop(t *testing.T) {
	e := embedded(t, quick)
	began := make(chan bool, 1)
	stop := work(t, e, queue.Worker{}, func(ctx context.Context, _ queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		began <- true
		<-ctx.Done()
		return queue.Outcome{}, ctx.Err()
	})
	submit(t, e, queue.Job{ID: "a"}, false)
	<-began
	stop()
	if ws, err := e.Workers(t.Context()); err != nil || len(ws) != 0 {
		t.Errorf("%+v, %v", ws, err)
	}
	work(t, e, queue.Worker{}, func(_ context.Context, _ queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if task.Attempt != 1 {
			t.Errorf("attempt %d", task.Attempt)
		}
		return queue.Outcome{End: true}, nil
	})
	if s := awaitEnd(t, e, "a"); s.State != queue.Done || s.Retried != 0 {
		t.Errorf("%+v", s)
	}
}

// Handlers that break the rules fail their job, and no job hangs.
func TestBadOutcomes(t *testing.T) {
	e := embedded(t, quick)
	outcomes := map[string]queue.Outcome{
		"nothing": {},
		"same":    {Next: []queue.Task{{Name: "plan"}}},
		"twice":   {Next: []queue.Task{{Name: "x"}, {Name: "x"}}},
		"dots":    {Next: []queue.Task{{Name: "x.y"}}},
		"large":   {End: true, Result: json.RawMessage(`"` + strings.Repeat("x", 9<<20) + `"`)},
	}
	work(t, e, queue.Worker{}, func(_ context.Context, job queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		return outcomes[job.ID], nil
	})
	for id, want := range map[string]string{
		"nothing": "did not end the job", "same": "already in use", "twice": "already in use", "dots": "only letters", "large": "too large",
	} {
		submit(t, e, queue.Job{ID: id}, false)
		if s := awaitEnd(t, e, id); s.State != queue.Failed || !strings.Contains(s.Reason, want) {
			t.Errorf("%s: %v: %s", id, s.State, s.Reason)
		}
	}
	for _, j := range []queue.Job{{ID: "a.b", First: queue.Task{Name: "x"}}, {ID: "", First: queue.Task{Name: "x"}}, {ID: "a"}} {
		if err := e.Submit(t.Context(), j, false); err == nil {
			t.Errorf("%+v was taken", j)
		}
	}
	if err := e.Work(t.Context(), queue.Worker{Name: "idle"}, nil); err == nil {
		t.Error("a worker with nothing to do")
	}
}

// All clients see a worker's backlog soon after it changes.
func TestBacklog(t *testing.T) {
	e := embedded(t, Options{})
	var jobs atomic.Int64
	jobs.Store(7)
	work(t, e, queue.Worker{Ahead: func() queue.Backlog { return queue.Backlog{Jobs: int(jobs.Load()), Bytes: 10} }}, parts(e, 1, nothing))
	for _, want := range []int{7, 3} {
		jobs.Store(int64(want))
		e2e.Until(t, fmt.Sprintf("a backlog of %d jobs", want), func() bool {
			all, err := e.Workers(t.Context())
			return err == nil && len(all) == 1 && all[0].Backlog == (queue.Backlog{Jobs: want, Bytes: 10})
		})
	}
}

// TestEventsBeforeRecord has a task begin and end before the job's record is Running: the job runs
// from then on, and is queued again only if it is started over.
func TestEventsBeforeRecord(t *testing.T) {
	var states []queue.State
	w := newWatcher(&link{names: "vf"}, func(s queue.Status) { states = append(states, s.State) }, nil)
	r := newRecord(queue.Job{ID: "a", First: queue.Task{Name: "plan"}})
	revision := uint64(0)
	write := func() {
		b, err := json.Marshal(r)
		e2e.Must(t, err)
		revision++
		w.changed("a", b, revision, false)
	}
	event := func(kind string) {
		b, err := json.Marshal(queue.Active{Task: "plan", Attempt: 1})
		e2e.Must(t, err)
		w.event(&nats.Msg{Subject: w.names.event(kind, r.claim("plan")), Data: b})
	}
	want := func(all ...queue.State) {
		t.Helper()
		if !slices.Equal(states, all) {
			t.Errorf("%q, want %q", states, all)
		}
		states = nil
	}
	write()
	event(eventProgress)
	event(eventOver)
	write() // a change before the state is Running
	r.State = queue.Running
	write()
	want(queue.Queued, queue.Running, queue.Running, queue.Running, queue.Running)
	// The record of the failure was not seen.
	r.again(r.Job)
	write()
	event(eventProgress)
	want(queue.Queued, queue.Running)
	r.Epoch = newID()
	write()
	want(queue.Queued)
}
