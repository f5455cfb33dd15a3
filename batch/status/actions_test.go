package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

type otherRequests interface{ queue.Requests }

// fakeRequests are the batches of agents. Methods that the page does not use panic.
type fakeRequests struct {
	otherRequests
	mu  sync.Mutex
	all []queue.RequestStatus
	did []string
}

func (f *fakeRequests) Requests(context.Context) ([]queue.RequestStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all), nil
}

func (f *fakeRequests) ChangeRequest(_ context.Context, id, change string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, change+" "+id)
	return nil
}

type log struct {
	mu   sync.Mutex
	done []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, fmt.Sprintf(format, args...))
}

// taken returns the lines, sorted, and forgets them.
func (l *log) taken() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.done)
	all := strings.Join(l.done, "; ")
	l.done = nil
	return all
}

// acting is a page with a token, whose actions are noted.
func acting(t *testing.T) (*host, *log, *fakeRequests) {
	l, requests := &log{}, &fakeRequests{all: []queue.RequestStatus{
		{Request: queue.Request{ID: "b2--ann", User: "ann"}, State: queue.Queued, Waits: "no agent <of> its folder"},
	}}
	s := newSite(t, Options{
		Token: "t", Viewer: "v", Requests: requests, Paused: func() []string { return []string{"bob"} },
		Remove:       func(_ context.Context, id string) error { l.add("remove %s", id); return nil },
		Prioritize:   func(_ context.Context, id string, n int) error { l.add("prioritize %s %d", id, n); return nil },
		PauseWorkers: func(_ context.Context, name string, on bool) error { l.add("workers %s %v", name, on); return nil },
		Acted:        func(what, id, title string) { l.add("acted: %s %s %s", what, id, title) },
		Submit: func(_ context.Context, name string, document []byte, check bool) (string, error) {
			if string(document) != "good" {
				return "", fmt.Errorf("%s:3: there is no option %q", name, document)
			}
			l.add("submit %s %v", name, check)
			return "it is right", nil
		},
	})
	for i, state := range []queue.State{queue.Running, queue.Failed, queue.Done} {
		s.f.say <- job(fmt.Sprintf("j%d-b1", i), state)
	}
	s.f.say <- job("waits", queue.Queued)
	return s, l, requests
}

// Each verb changes the jobs of a batch to which it applies, and the batch of an agent before them.
func TestBatches(t *testing.T) {
	s, l, requests := acting(t)
	for _, c := range []struct {
		path string
		code int
		done string
	}{
		{"batches/b1/priority?value=5", 204, "acted: prioritized j0-b1 j0-b1.mkv; prioritize j0-b1 5"},
		{"batches/b1/remove", 204, "acted: removed j0-b1 j0-b1.mkv; acted: removed j1-b1 j1-b1.mkv; acted: removed j2-b1 j2-b1.mkv; remove j0-b1; remove j1-b1; remove j2-b1"},
		{"batches/b1/cancel", 204, "acted: cancelled j0-b1 j0-b1.mkv"},
		{"batches/b1/retry", 501, ""},
		{"batches/b1/priority", 400, ""}, {"batches/b1/priority?value=x", 400, ""}, {"batches/b1/pause?value=1", 400, ""},
		{"batches/none/pause", 404, ""},
		{"batches/b2--ann/pause", 204, ""},
		{"batches/b2--ann/priority?value=1", 409, ""},
		{"jobs/j0-b1/priority?value=0", 204, "acted: prioritized j0-b1 j0-b1.mkv; prioritize j0-b1 0"},
		{"jobs/j2-b1/priority?value=1", 409, ""}, {"jobs/j2-b1/pause", 409, ""},
		{"workers/all/pause", 204, "acted: paused worker:all ; workers all true"},
		{"workers/bob/resume", 204, "acted: resumed worker:bob ; workers bob false"},
		{"workers/bob/pause", 404, ""}, {"workers/ann/resume", 404, ""},
	} {
		if code, body := s.ask("POST", "/api/"+c.path); code != 401 || l.taken() != "" {
			t.Errorf("%s without a token: %d %s", c.path, code, body)
		}
		if code, body := s.ask("POST", "/api/"+c.path, "Authorization", "Bearer v"); code != 403 || l.taken() != "" {
			t.Errorf("%s by a viewer: %d %s", c.path, code, body)
		}
		code, body := s.ask("POST", "/api/"+c.path, "Authorization", "Bearer t")
		if done := l.taken(); code != c.code || done != c.done {
			t.Errorf("%s: %d %s, done: %s", c.path, code, body, done)
		}
		if code >= 400 {
			wantSentence(t, c.path, body)
		}
	}
	if got := fmt.Sprint(s.f.cancelled, requests.did); got != "[j0-b1: cancelled with its batch] [pause b2--ann]" {
		t.Error(got)
	}
	_, page := s.ask("GET", "/")
	if !strings.Contains(page, "<td>b1</td><td>1 to do, 1 failed, 1 done</td>") || !strings.Contains(page, "no agent &lt;of&gt; its folder") || !strings.Contains(page, "Paused: bob") {
		t.Error(page)
	}
}

// A job file is checked and submitted with the token alone, and its errors reach the page.
func TestSubmit(t *testing.T) {
	s, l, _ := acting(t)
	post := func(query, token, body string) (int, string) {
		t.Helper()
		code, said, err := s.post("/api/batches"+query, token, body)
		e2e.Must(t, err)
		return code, said
	}
	for _, c := range []struct {
		query, token, body string
		code               int
		said, done         string
	}{
		{"?name=a.yaml&check", "t", "good", 200, "it is right\n", "submit a.yaml true"},
		{"?name=a.yaml", "t", "good", 200, "it is right\n", "submit a.yaml false"},
		{"?name=a.yaml", "t", "bad", 422, "a.yaml:3: there is no option \"bad\"\n", ""},
		{"", "t", strings.Repeat("x", queue.MostRequest+1), 413, "", ""},
		{"", "", "good", 401, "", ""}, {"", "v", "good", 403, "", ""},
	} {
		code, said := post(c.query, c.token, c.body)
		if done := l.taken(); code != c.code || done != c.done || c.said != "" && said != c.said {
			t.Errorf("%q with %q: %d %q, done: %s", c.query, c.token, code, said, done)
		}
	}
	plain := newSite(t, Options{Token: "t"})
	if code, said, err := plain.post("/api/batches", "t", "good"); code != 501 || err != nil {
		t.Error(code, said, err)
	}
}

// A failure in the middle of a batch is reported.
func TestBatchFails(t *testing.T) {
	s := newSite(t, Options{Token: "t", Remove: func(_ context.Context, id string) error {
		if id == "j1-b1" {
			return errors.New("the disk of the queue is full")
		}
		return nil
	}})
	s.f.say <- job("j0-b1", queue.Done)
	s.f.say <- job("j1-b1", queue.Done)
	s.f.say <- job("waits", queue.Queued)
	if code, body := s.ask("POST", "/api/batches/b1/remove", "Authorization", "Bearer t"); code != 500 || !strings.Contains(body, "is full") {
		t.Errorf("%d %s", code, body)
	}
}
