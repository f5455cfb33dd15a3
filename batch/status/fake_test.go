package status

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/e2e"
)

// fake is a queue controlled by the test. Methods that the page does not use panic.
type fake struct {
	queue.Engine
	say     chan queue.Status
	watched sync.WaitGroup

	mu        sync.Mutex
	known     map[string]queue.Status
	cancelled []string
	asked     int
	held      string // why the worker takes no tasks
	broken    error
}

func (f *fake) Watch(ctx context.Context, tell func(queue.Status), live func()) error {
	f.watched.Add(1)
	defer f.watched.Done()
	if err := f.error(); err != nil {
		return err
	}
	f.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(f.known)) {
		tell(f.known[id])
	}
	f.mu.Unlock()
	live()
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case s := <-f.say:
			f.mu.Lock()
			if f.known == nil {
				f.known = map[string]queue.Status{}
			}
			if f.known[s.Job.ID] = s; s.State == queue.Removed {
				delete(f.known, s.Job.ID)
			}
			f.mu.Unlock()
			tell(s)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) error() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

func (f *fake) Cancel(_ context.Context, id, reason string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == "stubborn" {
		return errors.New("the queue has gone")
	}
	f.cancelled = append(f.cancelled, id+": "+reason)
	return nil
}

func (f *fake) Pause(ctx context.Context, id string, on bool) error {
	return f.Cancel(ctx, id, fmt.Sprint("paused: ", on))
}

func (f *fake) Log(_ context.Context, id string) (string, error) {
	if id != "runs" {
		return "", queue.ErrNoJob
	}
	return "a warning\n" + evil, nil
}

func (f *fake) Workers(context.Context) ([]queue.WorkerStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return []queue.WorkerStatus{{Worker: queue.Worker{Name: "host<1>", Slots: 4, GPUs: []string{"H200", "H200"}, Any: true, Sites: []string{"here"}}, Busy: 3, Held: f.held}}, f.broken
}

const evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e{{.}}\x1b[2J\n.mkv"

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func job(id string, state queue.State, active ...queue.Active) queue.Status {
	s := queue.Status{Job: queue.Job{ID: id, Title: id + ".mkv", Retries: 2, First: queue.Task{Name: "plan"}}, State: state,
		Tasks: 2, Finished: 1, Submitted: began, Active: active}
	if state.Ended() {
		s.Started, s.Ended = began, began.Add(time.Minute)
	}
	return s
}

func whole50() queue.Active {
	return queue.Active{Task: "whole", Kind: "whole", Attempt: 1, Worker: "host<1>", Since: began, Progress: queue.Progress{Frames: 50, Total: 100, FPS: 5, Bytes: 1000}}
}

// host is a page over a fake queue, on its own server.
type host struct {
	url string
	f   *fake
	t   *testing.T
}

// client keeps no connections.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func newSite(t *testing.T, o Options) *host {
	t.Helper()
	f := &fake{say: make(chan queue.Status)}
	q := Follow(f, tally.Options{})
	server := httptest.NewUnstartedServer(q.Handler(o))
	server.Config.ReadTimeout = 400 * time.Millisecond // streams live longer
	server.Start()
	s := &host{server.URL, f, t}
	t.Cleanup(func() {
		q.Close()
		server.Close() // waits for requests: a stream that does not end would hang here
		f.watched.Wait()
	})
	hostile := job("hostile", queue.Failed)
	hostile.Job.Title, hostile.Reason = evil, evil
	for _, j := range []queue.Status{hostile, job("runs", queue.Running, whole50()), job("waits", queue.Queued), job("ready", queue.Done)} {
		f.say <- j
	}
	f.say <- job("waits", queue.Queued) // the earlier ones have arrived
	return s
}

// ask returns status and body of an answer; headers alternate names and values.
func (s *host) ask(method, path string, headers ...string) (int, string) {
	code, body, _ := s.askAll(method, path, headers...)
	return code, body
}

func (s *host) askAll(method, path string, headers ...string) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, nil)
	e2e.Must(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := client.Do(r)
	e2e.Must(s.t, err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	e2e.Must(s.t, err)
	return a.StatusCode, string(b), a.Header
}

func wantSentence(t *testing.T, what, body string) {
	t.Helper()
	if strings.Count(body, "\n") != 1 || strings.Contains(body, "<") || len(strings.Fields(body)) < 4 {
		t.Errorf("%s: %q is no sentence", what, body)
	}
}

func (s *host) post(path, token, body string) (int, string, error) {
	r, err := http.NewRequest("POST", s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return a.StatusCode, string(b), err
}

type lineReader struct{ lines *bufio.Scanner }

func (r *lineReader) next(t *testing.T) string {
	t.Helper()
	if !r.lines.Scan() {
		t.Fatalf("the stream has ended: %v", r.lines.Err())
	}
	return r.lines.Text()
}

// stream opens a stream, which ends with the test.
func (s *host) stream(path string) *lineReader {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	e2e.Must(s.t, err)
	a, err := client.Do(r)
	e2e.Must(s.t, err)
	s.t.Cleanup(func() { cancel(); a.Body.Close() })
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatal(a.StatusCode, a.Header)
	}
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	return &lineReader{lines}
}

// TestMain fails if a test has left a goroutine of this package behind.
func TestMain(m *testing.M) {
	code := m.Run()
	var left string
	for range 100 {
		var b strings.Builder
		pprof.Lookup("goroutine").WriteTo(&b, 2)
		left = ""
		for g := range strings.SplitSeq(b.String(), "\n\n") {
			if strings.Contains(g, "vidfilter/batch/status.") && !strings.Contains(g, "status.TestMain") {
				left += g + "\n"
			}
		}
		if left == "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if left != "" {
		println("left behind:\n" + left)
		code = 1
	}
	os.Exit(code)
}
