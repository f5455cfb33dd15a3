package tasks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
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

func failed(f queue.Failure) queue.Status {
	return queue.Status{State: queue.Failed, Reason: "why", Failure: f}
}

// session returns a session with one item in a new folder; its source may be missing.
func session(t *testing.T, e queue.Engine, there bool) (*Session, func(context.Context) (batch.Item, bool), string) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.mkv")
	if there {
		must(t, os.WriteFile(source, []byte("source"), 0o666))
	}
	items := []batch.Item{{Source: source, Output: "a.mp4"}}
	next := func(ctx context.Context) (batch.Item, bool) {
		if len(items) == 0 {
			return batch.Item{}, false
		}
		item := items[0]
		items = items[1:]
		return item, true
	}
	whole := func(string, []string) bool { return false }
	return &Session{Settings: Settings{Root: dir}, Whole: whole, Engine: e, Site: "here", Version: "one", Window: 1, Retries: 3, Pause: time.Second}, next, source
}

// Only a failure with one of our codes starts a job over, whatever its reason says.
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
						s.Reason = batch.ErrSourceChanged.Error() // text decides nothing
						return []queue.Status{s}
					}
					return []queue.Status{failed(queue.Failure{})}
				})
				s, next, _ := session(t, q, true)
				s.Segment = 60
				rows, err := s.Run(t.Context(), next)
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
				time.AfterFunc(1500*time.Millisecond, func() { must(t, os.WriteFile(source, []byte("late"), 0o666)) })
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
