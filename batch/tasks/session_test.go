package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// fakeQueue answers each submission with the statuses from reply. Methods that a session does not
// use panic.
type fakeQueue struct {
	queue.Engine
	reply func(n int, j queue.Job) []queue.Status
	tell  chan queue.Status

	mu        sync.Mutex
	submitted []queue.Job
}

func newFakeQueue(reply func(n int, j queue.Job) []queue.Status) *fakeQueue {
	return &fakeQueue{reply: reply, tell: make(chan queue.Status, 100)}
}

func (f *fakeQueue) Submit(_ context.Context, j queue.Job, _ bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitted = append(f.submitted, j)
	for _, s := range f.reply(len(f.submitted), j) {
		s.Job = j
		f.tell <- s
	}
	return nil
}

func (f *fakeQueue) Get(context.Context, string) (queue.Status, error) {
	return queue.Status{}, queue.ErrNoJob
}

func (f *fakeQueue) Watch(ctx context.Context, tell func(queue.Status), live func()) error {
	live()
	for {
		select {
		case s := <-f.tell:
			tell(s)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fakeQueue) Cancel(_ context.Context, id, reason string) error {
	f.tell <- queue.Status{Job: queue.Job{ID: id}, State: queue.Cancelled, Reason: reason}
	return nil
}

func failed(f queue.Failure) queue.Status {
	return queue.Status{State: queue.Failed, Reason: "why", Failure: f}
}

// session returns a session with one item in a new folder. Its source may be missing.
func session(t *testing.T, e queue.Engine, there bool) (*Session, func(context.Context) (batch.Item, bool), string) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.mkv")
	if there {
		e2e.Must(t, os.WriteFile(source, []byte("source"), 0o666))
	}
	next := each([]batch.Item{{Source: source, Output: "a.mp4"}})
	whole := func(string, []string) bool { return false }
	return &Session{Settings: Settings{Root: dir}, Whole: whole, Engine: e, Site: "here", Version: "one", Window: 1, Retries: 3, Pause: time.Second}, next, source
}

func each(items []batch.Item) func(context.Context) (batch.Item, bool) {
	return func(context.Context) (item batch.Item, ok bool) {
		if len(items) > 0 {
			item, items, ok = items[0], items[1:], true
		}
		return item, ok
	}
}

// Only a failure with one of our codes starts a job over, regardless of its reason.
func TestSessionRenews(t *testing.T) {
	for name, c := range map[string]struct {
		failure queue.Failure
		jobs    int
		plan    string
	}{
		"source changed": {queue.Failure{Task: "join", Code: "source_changed"}, 2, "plan"},
		"not in parts":   {queue.Failure{Task: "part-0001", Code: codeNotInParts}, 2, "whole"},
		"no code":        {queue.Failure{Task: "whole"}, 1, "plan"},
		"other code":     {queue.Failure{Task: "whole", Code: "other"}, 1, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(func(n int, _ queue.Job) []queue.Status {
					if n == 1 {
						s := failed(c.failure)
						s.Reason = batch.ErrSourceChanged.Error() // text has no effect
						return []queue.Status{s}
					}
					return []queue.Status{failed(queue.Failure{})}
				})
				s, next, _ := session(t, q, true)
				s.Segment = 60
				told := 0 // failures
				s.Changed = func(st queue.Status) {
					if st.State.HasFailed() {
						told++
					}
				}
				rows, err := s.Run(t.Context(), next)
				if told != 1 {
					t.Errorf("%d failures were told", told)
				}
				if err != nil || len(rows) != 1 || rows[0].State != RowFailed || len(q.submitted) != c.jobs {
					t.Fatalf("%+v, %v; submitted %d times", rows, err, len(q.submitted))
				}
				last := q.submitted[len(q.submitted)-1]
				if c.jobs > 1 && (last.Digest == q.submitted[0].Digest || last.First.Kind != c.plan) {
					t.Errorf("begun anew as %+v after %+v", last, q.submitted[0])
				}
			})
		})
	}
}

// When Run returns, all its goroutines have ended: synctest finds leftovers, and the race
// detector any that touch the rows.
func TestSessionJoins(t *testing.T) {
	stop := errors.New("stop")
	cancelled := func(t *testing.T, s *Session, next func(context.Context) (batch.Item, bool)) []batch.Row {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(stop) })
		rows, err := s.Run(ctx, next)
		if !errors.Is(err, stop) {
			t.Errorf("%v", err)
		}
		return append(rows, batch.Row{}) // the caller may change them
	}
	t.Run("while a file is looked for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, next, _ := session(t, newFakeQueue(nil), false)
			cancelled(t, s, next)
		})
	})
	t.Run("while a source settles", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(func(int, queue.Job) []queue.Status {
				return []queue.Status{failed(queue.Failure{Code: "source_changed"})}
			})
			s, next, _ := session(t, q, true)
			cancelled(t, s, next)
		})
	})
	t.Run("while the next item is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _, _ := session(t, newFakeQueue(nil), true)
			cancelled(t, s, func(ctx context.Context) (batch.Item, bool) {
				<-ctx.Done()
				return batch.Item{}, false
			})
		})
	})
	t.Run("when a job is retried at the very end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(func(int, queue.Job) []queue.Status {
				return []queue.Status{failed(queue.Failure{}), {State: queue.Running}, {State: queue.Running}}
			})
			s, next, _ := session(t, q, true)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(stop) })
			rows, _ := s.Run(ctx, next)
			for i := range rows {
				rows[i].State = "ours"
			}
		})
	})
}

// A file that appears late is filtered; one that stays away fails with the reason.
func TestSessionChecksAgain(t *testing.T) {
	for _, appears := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(func(int, queue.Job) []queue.Status { return []queue.Status{failed(queue.Failure{})} })
			s, next, source := session(t, q, false)
			if appears {
				time.AfterFunc(1500*time.Millisecond, func() { e2e.Must(t, os.WriteFile(source, []byte("late"), 0o666)) })
			}
			began := time.Now()
			rows, err := s.Run(t.Context(), next)
			if err != nil || len(rows) != 1 || (len(q.submitted) == 1) != appears {
				t.Errorf("%+v, %v, %d jobs", rows, err, len(q.submitted))
			}
			if took := time.Since(began); appears && took != 3*time.Second || !appears && took != 7*time.Second {
				t.Errorf("after %v", took)
			}
			if !appears && !strings.Contains(rows[0].Reason, "no such file") {
				t.Errorf("%q", rows[0].Reason)
			}
		})
	}
}

// A job that the queue refuses fails alone, and the job of an output that is done is ended.
func TestSessionRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &strict{fakeQueue: newFakeQueue(func(int, queue.Job) []queue.Status { return []queue.Status{{State: queue.Done, Result: []byte("{}")}} })}
		s, _, source := session(t, q, true)
		s.ID = func(i batch.Item) string { return "id-" + i.Output }
		items := []batch.Item{{Source: source, Output: "theirs.mp4"}, {Source: source, Output: "large.mp4"}, {Source: source, Output: "done.mp4"}, {Source: source, Output: "ours.mp4"}}
		print, err := batch.FingerprintOf(source)
		e2e.Must(t, err)
		done := items[2]
		e2e.Must(t, os.WriteFile(done.OutputPath(s.Root), []byte("output"), 0o666))
		out, err := batch.FingerprintOf(done.OutputPath(s.Root))
		e2e.Must(t, err)
		found, err := batch.Check(s.Root, done, batch.Program{Version: "one"})
		e2e.Must(t, err)
		e2e.Must(t, batch.WriteRecord(s.Root, batch.Record{
			Output: done.Output, State: batch.RecordDone, Source: source, SourceFile: print, OutputFile: &out, Digest: found.Digest, Version: "one", Outcome: contract.Outcome{Frames: 7},
		}))
		q.tell <- queue.Status{Job: queue.Job{ID: "id-done.mp4"}, State: queue.Running}
		var states []string
		s.Ended = func(r batch.Row) { states = append(states, r.Output+" "+r.State) }
		next := each(items)
		_, err = s.Run(t.Context(), func(ctx context.Context) (batch.Item, bool) {
			synctest.Wait() // the session has heard of the job
			return next(ctx)
		})
		if got, want := strings.Join(states, ", "), "theirs.mp4 failed, large.mp4 failed, done.mp4 skipped, ours.mp4 failed"; err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
		if len(q.submitted) != 1 || q.finished != `id-done.mp4 7` {
			t.Errorf("%d jobs; %q", len(q.submitted), q.finished)
		}
	})
}

// strict refuses some jobs.
type strict struct {
	*fakeQueue
	finished string
}

func (q *strict) Submit(ctx context.Context, j queue.Job, again bool) error {
	switch j.ID {
	case "id-theirs.mp4":
		return queue.ErrRefused
	case "id-large.mp4":
		return queue.ErrQuota
	}
	return q.fakeQueue.Submit(ctx, j, again)
}

func (q *strict) Finish(_ context.Context, id string, result json.RawMessage) error {
	var r Result
	err := json.Unmarshal(result, &r)
	q.finished = fmt.Sprint(id, " ", r.Frames)
	return err
}

// The latest job of an output is continued if it is the credential's, regardless of its ID.
func TestOwnJobs(t *testing.T) {
	at := time.Now()
	got, err := OwnJobs(t.Context(), listed{all: []queue.Status{
		{Job: queue.Job{ID: "a", User: "me"}, State: queue.Running, Submitted: at},
		{Job: queue.Job{ID: "a--me", User: "me"}, State: queue.Done, Submitted: at.Add(time.Hour)},
		{Job: queue.Job{ID: "b--other", User: "me"}, State: queue.Failed, Submitted: at}, // handed over
		{Job: queue.Job{ID: "c--other", User: "other"}, State: queue.Running, Submitted: at},
	}}, "me")
	if err != nil || len(got) != 2 || got["a"] != "a" || got["b"] != "b--other" {
		t.Errorf("%v, %v", got, err)
	}
}

// listed is a queue that never changes.
type listed struct {
	queue.Engine
	all []queue.Status
}

func (q listed) Watch(ctx context.Context, tell func(queue.Status), live func()) error {
	for _, s := range q.all {
		tell(s)
	}
	live()
	<-ctx.Done()
	return ctx.Err()
}

// Others see no names, hashes and options of files, and a bad result is found when it comes.
func TestPublic(t *testing.T) {
	spec := Spec{Settings: Settings{Root: "/secret", Shared: "/secret"}, Item: batch.Item{Source: "/secret/a.mkv", Output: "a.mp4", Args: []string{"--radius=3"}, Deciding: []string{"--radius=3"}},
		Record: batch.Record{Output: "a.mp4", Source: "/secret/a.mkv", State: batch.RecordRunning, Digest: "secret", Options: []string{"--radius=3"}, SourceFile: batch.Fingerprint{Size: 7, Hash: "secret"}}}
	b, err := json.Marshal(spec)
	e2e.Must(t, err)
	j := queue.Job{ID: "a", Title: "a.mp4", Digest: "secret", Spec: b}
	for name, c := range map[string]struct {
		of   func(queue.Job) queue.Job
		args int
	}{"workers": {ForWorkers, 1}, "all": {Public, 0}} {
		got := c.of(j)
		if s := SpecOf(got); strings.Contains(string(got.Spec)+got.Digest, "secret") || len(s.Item.Args) != c.args || s.Record.SourceFile.Size != 7 || s.Item.Output != "a.mp4" {
			t.Errorf("%s: %s", name, got.Spec)
		}
	}
	part := queue.Task{Job: "a", Name: "part-0003", Kind: "part"}
	for result, want := range map[string]string{
		`{"blob":"a/out/0003.1-x","frames":3}`: "a/out/0003.1-x", `{"file":"part-0003.1-x.mp4"}`: "", `{"blob":"a/out/0004.1-x"}`: "bad", `{"blob":"b/out/0003.1-x"}`: "bad",
		`{"blob":"a/out/0003.1-x","frames":-3}`: "bad", `7`: "bad", ``: "bad",
	} {
		file, err := CheckResult(part, []byte(result))
		if (err != nil) != (want == "bad") || err == nil && file != want {
			t.Errorf("%s: %q, %v", result, file, err)
		}
	}
}

// A job that is cancelled with its batch ends the others in the queue, and no more are submitted. A
// job cancelled by hand ends alone.
func TestSessionCancelled(t *testing.T) {
	for reason, want := range map[string]struct {
		rows int
		err  error
	}{queue.ByHand: {3, nil}, queue.WithBatch: {2, ErrCancelled}} {
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(nil)
			s, _, source := session(t, q, true)
			s.Window = 2
			q.reply = func(n int, j queue.Job) []queue.Status {
				if n == 2 {
					go func() { _ = q.Cancel(t.Context(), s.id(batch.Item{Output: "0.mp4"}), reason) }()
				} else if n == 3 {
					go func() { q.tell <- queue.Status{Job: q.submitted[1], State: queue.Failed} }()
					return []queue.Status{failed(queue.Failure{})}
				}
				return []queue.Status{{State: queue.Queued}}
			}
			n := 0
			rows, err := s.Run(t.Context(), func(context.Context) (batch.Item, bool) {
				n++
				return batch.Item{Source: source, Output: fmt.Sprint(n-1, ".mp4")}, n <= 3
			})
			if err != want.err || len(rows) != want.rows || len(q.submitted) != want.rows || rows[0].State != RowCancelled {
				t.Errorf("%s: %v, %+v", reason, err, rows)
			}
		})
	}
}

func TestBatchOf(t *testing.T) {
	item := batch.Item{Output: "a-b/c.mkv"}
	own := JobID("here", "/out", item)
	for id, want := range map[string]string{
		own: BatchID("here", "/out"), queue.OwnedID(own, "ann-2"): queue.OwnedID(BatchID("here", "/out"), "ann-2"), "a": "a", "": "",
	} {
		if got := queue.BatchOf(id); got != want {
			t.Errorf("%s is of %q, want %q", id, got, want)
		}
	}
}

// While all of its jobs are paused, a batch submits no other.
func TestSessionPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(nil)
		s, _, source := session(t, q, true)
		s.Window = 2
		var first, began time.Time
		q.reply = func(n int, j queue.Job) []queue.Status {
			began = time.Now()
			if n == 1 {
				first = began
				time.AfterFunc(time.Hour, func() { q.tell <- queue.Status{Job: j, State: queue.Running} })
				time.AfterFunc(2*time.Hour, func() { q.tell <- queue.Status{Job: j, State: queue.Failed} })
				return []queue.Status{{State: queue.Running, Paused: true}}
			}
			return []queue.Status{failed(queue.Failure{})}
		}
		n := 0
		rows, err := s.Run(t.Context(), func(context.Context) (batch.Item, bool) {
			time.Sleep(time.Minute)
			n++
			return batch.Item{Source: source, Output: fmt.Sprint(n, ".mp4")}, n <= 2
		})
		if err != nil || len(rows) != 2 || began.Sub(first) != time.Hour {
			t.Errorf("%v, %d rows, the next one began after %v", err, len(rows), began.Sub(first))
		}
	})
}
