package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// quick has short times for tests.
var quick = Options{AckWait: 600 * time.Millisecond, BackOff: 20 * time.Millisecond, MaxBackOff: 80 * time.Millisecond}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func embedded(t testing.TB, o Options) *Engine {
	t.Helper()
	o.Log = logTo(t.Output())
	e, err := Embedded(t.TempDir(), o)
	e2e.Must(t, err)
	t.Cleanup(func() { e2e.Must(t, e.Close()) })
	return e
}

// work runs a worker until the test ends or the returned function is called.
func work(t *testing.T, e queue.Engine, w queue.Worker, h queue.Handler) (stop func()) {
	t.Helper()
	w.Name, w.Slots = cmp.Or(w.Name, t.Name()), max(w.Slots, 1)
	w.Any = w.Any || len(w.Sites) == 0
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := e.Work(ctx, w, h); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(stop)
	return stop
}

func submit(t *testing.T, e queue.Engine, j queue.Job, again bool) {
	t.Helper()
	j.First.Name = cmp.Or(j.First.Name, "plan")
	e2e.Must(t, e.Submit(t.Context(), j, again))
}

// await returns the first status of a job for which as returns true.
func await(t *testing.T, e queue.Engine, id, what string, as func(s queue.Status) bool) queue.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var found, last queue.Status
	got := false
	err := e.Watch(ctx, func(s queue.Status) {
		if s.Job.ID != id || got {
			return
		}
		last = s
		if as(s) {
			found, got = s, true
			cancel()
		}
	}, func() {})
	if !got {
		t.Fatalf("job %s never was %s: %v; last: %+v", id, what, err, last)
	}
	return found
}

func awaitEnd(t *testing.T, e queue.Engine, id string) queue.Status {
	t.Helper()
	return await(t, e, id, "at its end", func(s queue.Status) bool { return s.State.Ended() })
}

func awaitDone(t *testing.T, e queue.Engine, id string) queue.Status {
	t.Helper()
	s := awaitEnd(t, e, id)
	if s.State != queue.Done {
		t.Errorf("%+v", s)
	}
	return s
}

// parts is a handler for jobs of a plan, n parts and a join. The result is the number of results.
func parts(e queue.Engine, n int, do func(ctx context.Context, t queue.Task) error) queue.Handler {
	return func(ctx context.Context, job queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
		if err := do(ctx, t); err != nil {
			return queue.Outcome{}, err
		}
		o := queue.Outcome{Result: json.RawMessage(fmt.Sprintf("%q", t.Name))}
		switch t.Name {
		case "plan":
			for i := range n {
				o.Next = append(o.Next, queue.Task{Name: fmt.Sprintf("part-%d", i), Kind: "part"})
			}
			o.Then = &queue.Task{Name: "join", Site: job.Site}
		case "join":
			results, err := e.Results(ctx, job.ID)
			if err != nil {
				return o, err
			}
			o.Result, err = json.Marshal(len(results))
			o.End = true
			return o, err
		}
		return o, nil
	}
}

func nothing(context.Context, queue.Task) error { return nil }

// ends is a handler of jobs that end with their first task.
func ends(do func(ctx context.Context, j queue.Job)) queue.Handler {
	return func(ctx context.Context, j queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		do(ctx, j)
		return queue.Outcome{End: true}, nil
	}
}

type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, s)
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

var errBusy = errors.New("the device\nis busy")

// stored returns the bytes of all files in the store.
func stored(t *testing.T, e *Engine) uint64 {
	t.Helper()
	s, err := e.js.Stream(t.Context(), "OBJ_"+e.names.blobs())
	e2e.Must(t, err)
	return s.CachedInfo().State.Bytes
}

// wantErr fails the test unless an error is another one.
func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want: %v", what, err, want)
	}
}

func failure[T any](_ T, err error) error { return err }
