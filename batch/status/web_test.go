package status

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/e2e"
	"vidfilter/internal/site"
)

func TestPage(t *testing.T) {
	s := newSite(t, Options{Version: "1.2", Note: func() string { return "paused: no <room>" }})
	code, body, h := s.askAll("GET", "/")
	if code != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		t.Fatal(code, h)
	}
	e2e.Contains(t, body, "runs.mkv", "50%", "50/100 frames, 5.0 fps", "whole on host&lt;1&gt;", "H200, H200", "3/4", "any, here", "paused: no &lt;room&gt;",
		"1 of 4 jobs done, 1 running, 1 queued, 1 failed", "&lt;script&gt;alert(1)", `\u202e`, `\u001b[2J\u000a.mkv`, `http-equiv="refresh"`)
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") || strings.ContainsAny(body, "\u202e\x1b") {
		t.Error("a name has become part of the page")
	}
	wellFormed(t, body)
	inline := regexp.MustCompile(`(?i)<style|style=|\son[a-z]+=["']|<script[^>]*>[^<]|https?://`)
	if m := inline.FindString(body); m != "" {
		t.Errorf("%q in the page", m)
	}
}

// wellFormed checks that all elements of a page are closed in order.
func wellFormed(t *testing.T, body string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.Entity = false, xml.HTMLEntity
	var open []string
	ids := map[string]bool{}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		e2e.Must(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			if !slices.Contains([]string{"meta", "link", "input"}, e.Name.Local) {
				open = append(open, e.Name.Local)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "id" && ids[a.Value] {
					t.Errorf("two elements have the id %s", a.Value)
				}
				ids[a.Value] = ids[a.Value] || a.Name.Local == "id"
			}
		case xml.EndElement:
			if n := len(open); n == 0 || open[n-1] != e.Name.Local {
				t.Fatalf("%s ends within %q", e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%q not ended", open)
	}
	scripts, err := fs.Glob(files, "*.js")
	if err != nil || len(scripts) < 2 {
		t.Fatal(scripts, err)
	}
	for _, name := range scripts {
		script, _ := files.ReadFile(name)
		for _, m := range regexp.MustCompile(`\$\("([a-z-]+)"\)`).FindAllStringSubmatch(string(script), -1) {
			if !ids[m[1]] {
				t.Errorf("%s looks for #%s, which is not in the page", name, m[1])
			}
		}
		if m := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(`).Find(script); m != nil {
			t.Errorf("%s uses %s", name, m)
		}
	}
}

func TestHeadersAndMethods(t *testing.T) {
	s := newSite(t, Options{})
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"GET", "/app.js", 200}, {"GET", "/style.css", 200}, {"GET", "/icon.svg", 200}, {"HEAD", "/events", 200},
		{"GET", "/healthz", 200}, {"GET", "/livez", 200}, {"GET", "/metrics", 200}, {"GET", "/api/jobs", 200}, {"GET", "/api/jobs/runs", 200}, {"GET", "/api/workers", 200},
		{"POST", "/", 405}, {"DELETE", "/api/jobs/runs", 405}, {"PUT", "/metrics", 405}, {"GET", "/api/jobs/runs/cancel", 405}, {"OPTIONS", "/api/jobs/runs/retry", 405},
		{"GET", "/nothing", 404}, {"GET", "/api", 404}, {"GET", "/page.html", 404}, {"GET", "/api/jobs/none", 404}, {"POST", "/api/jobs/runs/delete", 404},
		{"POST", "/api/jobs/runs/cancel", 403}, {"GET", "/api/jobs/runs/log", 403}, {"POST", "/api/jobs/runs/retry", 403},
		{"GET", "/api/jobs?state=odd", 400}, {"GET", "/api/jobs?limit=-1", 400}, {"GET", "/api/jobs?offset=x", 400}, {"GET", "/api/jobs?limit=5001", 400},
	} {
		code, body, h := s.askAll(c.method, c.path)
		if code != c.code {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, code, c.code)
		}
		if code >= 400 {
			wantSentence(t, c.method+" "+c.path, body)
		}
		csp := h.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: headers %v", c.method, c.path, h)
		}
		if code == 405 && h.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
}

// Requests for another site's host name are refused, as in DNS rebinding.
func TestRebinding(t *testing.T) {
	s := newSite(t, Options{Hosts: []string{"status.example.com"}, Token: "t"})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:80": 200, "localhost.": 200, "127.0.0.1:99": 200, "[::1]:8080": 200, "Status.Example.com": 200,
		"evil.example": 403, "evil.example:80": 403, "localhost.evil.example": 403, "192.0.2.1": 403, "127.0.0.1.evil.example": 403,
	} {
		if code, _ := s.ask("GET", "/api/jobs", "Host", host); code != want {
			t.Errorf("%s: %d, want %d", host, code, want)
		}
	}
	if code, _ := s.ask("POST", "/api/jobs/runs/cancel", "Host", "evil.example", "Authorization", "Bearer t"); code != 403 {
		t.Error(code)
	}
}

func TestActions(t *testing.T) {
	var retried []string
	retry := func(_ context.Context, id string) error {
		retried = append(retried, id)
		return nil
	}
	s := newSite(t, Options{Token: "se cret", Retry: retry})
	s.f.say <- job("stubborn", queue.Running)
	s.f.say <- job("waits", queue.Queued)
	for _, c := range []struct {
		path, auth string
		code       int
	}{
		{"runs/cancel", "", 401}, {"runs/cancel", "Bearer wrong", 401}, {"runs/cancel", "Bearer ", 401}, {"runs/cancel", "Basic se cret", 401}, {"none/cancel", "", 401},
		{"runs/cancel", "Bearer se cret", 204}, {"waits/cancel", "bearer se cret", 204}, {"ready/cancel", "Bearer se cret", 409}, {"none/cancel", "Bearer se cret", 404},
		{"stubborn/cancel", "Bearer se cret", 500},
		{"runs/pause", "Bearer wrong", 401}, {"runs/pause", "Bearer se cret", 204}, {"runs/resume", "Bearer se cret", 204}, {"none/pause", "Bearer se cret", 404},
		{"hostile/retry", "Bearer wrong", 401}, {"hostile/retry", "Bearer se cret", 204}, {"runs/retry", "Bearer se cret", 409}, {"none/retry", "Bearer se cret", 404},
	} {
		code, body := s.ask("POST", "/api/jobs/"+c.path, "Authorization", c.auth)
		if code != c.code {
			t.Errorf("%s with %q: %d, want %d", c.path, c.auth, code, c.code)
		}
		if code >= 400 {
			wantSentence(t, c.path, body)
		}
	}
	if got := fmt.Sprint(s.f.cancelled, retried); got != "[runs: cancelled by hand waits: cancelled by hand runs: paused: true runs: paused: false] [hostile]" {
		t.Error(got)
	}
	if code, body := s.ask("GET", "/api/jobs"); code != 200 || strings.Contains(body, "se cret") {
		t.Error("reads are not open, or tell the token")
	}
	for _, c := range []struct {
		path, token string
		code        int
		says        string
	}{{"runs", "se cret", 200, "a warning\n"}, {"none", "se cret", 404, ""}, {"runs", "wrong", 401, ""}} {
		if code, body := s.ask("GET", "/api/jobs/"+c.path+"/log", "Authorization", "Bearer "+c.token); code != c.code || !strings.HasPrefix(body, c.says) {
			t.Errorf("log of %s: %d %q", c.path, code, body)
		}
	}
	if code, _ := newSite(t, Options{Token: "x"}).ask("POST", "/api/jobs/hostile/retry", "Authorization", "Bearer x"); code != 501 {
		t.Error("retry without a way to retry:", code)
	}
}

func TestPrivate(t *testing.T) {
	for _, token := range []string{"secret", ""} {
		s := newSite(t, Options{Token: token, Private: true})
		for _, path := range []string{"/api/jobs", "/api/jobs/runs", "/api/workers", "/metrics", "/events"} {
			if code, body := s.ask("GET", path); code != 401 || strings.Contains(body, "runs") {
				t.Errorf("%s: %d", path, code)
			}
		}
		if code, body := s.ask("GET", "/"); code != 200 || strings.Contains(body, "runs.mkv") || strings.Contains(body, "4 jobs") || strings.Contains(body, "H200") {
			t.Error(code, body)
		}
		if code, _ := s.ask("GET", "/healthz"); code != 200 {
			t.Error(code)
		}
		want := map[bool]int{true: 200, false: 401}[token != ""]
		if code, _ := s.ask("GET", "/api/jobs", "Authorization", "Bearer "+token); code != want {
			t.Errorf("token %q: %d, want %d", token, code, want)
		}
	}
}

func TestAPI(t *testing.T) {
	s := newSite(t, Options{})
	var l List
	_, body := s.ask("GET", "/api/jobs?state=failed,running&limit=1&offset=1")
	if err := json.Unmarshal([]byte(body), &l); err != nil || l.Count != 2 || len(l.Jobs) != 1 || l.Jobs[0].ID != "hostile" || l.Jobs[0].Title != evil || l.Totals.Jobs != 4 {
		t.Errorf("%v: %s", err, body)
	}
	for _, path := range []string{"/api/jobs?offset=99", "/api/jobs?limit=0", "/api/jobs?state=cancelled"} {
		if _, body = s.ask("GET", path); !strings.Contains(body, `"jobs":[]`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	var j map[string]any
	_, body = s.ask("GET", "/api/jobs/runs")
	if err := json.Unmarshal([]byte(body), &j); err != nil || j["part"] != 0.5 || j["state"] != "running" || j["ended"] != nil {
		t.Errorf("%v: %s", err, body)
	}
	for _, name := range []string{"id", "title", "submitted", "started", "tasks", "finished", "retried", "retries", "frames", "total", "fps", "bytes", "left", "parts", "active"} {
		if _, ok := j[name]; !ok {
			t.Errorf("no %s in %s", name, body)
		}
	}
	if _, body = s.ask("GET", "/api/workers"); !strings.Contains(body, `"workers":[{"name":"host\u003c1\u003e","sites":["here"],"any":true,"slots":4,"busy":3,"gpus":["H200","H200"]`) || !strings.Contains(body, `"held":""`) {
		t.Error(body)
	}
	for range 10 {
		s.ask("GET", "/api/workers")
	}
	if s.f.asked > 3 {
		t.Errorf("the queue was asked %d times", s.f.asked)
	}
}

func TestManyJobs(t *testing.T) {
	s := newSite(t, Options{})
	for i := range defaultLimit + 5 {
		s.f.say <- job(fmt.Sprintf("j%d", i), queue.Done)
	}
	s.f.say <- job("waits", queue.Queued)
	_, body := s.ask("GET", "/")
	if strings.Count(body, "<tr data-state") != defaultLimit || !strings.Contains(body, "and 9 more") {
		t.Error(strings.Count(body, "<tr data-state"))
	}
}

func TestTrouble(t *testing.T) {
	f := &fake{say: make(chan queue.Status), broken: errors.New("no route to <head>")}
	q := Follow(f, tally.Options{})
	defer q.Close()
	h := q.Handler(Options{})
	s := serve(t, h)
	e2e.Until(t, "the trouble is told", func() bool {
		code, body := s.ask("GET", "/healthz")
		return code == 503 && strings.Contains(body, "no route to")
	})
	if code, body := s.ask("GET", "/livez"); code != 200 {
		t.Error(code, body)
	}
	if code, body := s.ask("GET", "/"); code != 200 || !strings.Contains(body, "no route to &lt;head&gt;") {
		t.Error(code, body)
	}
	if code, body := s.ask("GET", "/api/workers"); code != 502 {
		t.Error(code, body)
	}
	if _, body := s.ask("GET", "/metrics"); !strings.Contains(body, "\nvidfilter_queue_up 0\n") {
		t.Error(body)
	}
	f.mu.Lock()
	f.broken = nil
	f.mu.Unlock()
	e2e.Until(t, "the queue is asked again", func() bool { code, _ := s.ask("GET", "/healthz"); return code == 200 })
}

func serve(t *testing.T, h http.Handler) *host {
	ctx, cancel := context.WithCancel(context.Background())
	addr, wait, err := site.Serve(ctx, "127.0.0.1:0", h, nil, nil)
	e2e.Must(t, err)
	t.Cleanup(func() {
		cancel()
		e2e.Must(t, wait())
	})
	return &host{"http://" + addr.String(), nil, t}
}

// line returns the value of a metric, and its labels.
var line = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$`)

func TestMetrics(t *testing.T) {
	s := newSite(t, Options{Version: "1\"2\\3\n4", FreeDisk: func() (int64, error) { return 5e11, nil }})
	runs := job("runs", queue.Running, whole50())
	runs.Active[0].Progress.Frames, runs.Active[0].Progress.Bytes, runs.Retried = 70, 1400, 2
	s.f.say <- runs
	s.f.say <- job("waits", queue.Queued)
	_, body, h := s.askAll("GET", "/metrics")
	if h.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Error(h)
	}
	got, kinds, name := map[string]string{}, map[string]string{}, ""
	for l := range strings.Lines(body) {
		l = strings.TrimSuffix(l, "\n")
		if f := strings.Fields(l); len(f) > 3 && f[0] == "#" {
			if f[1] == "TYPE" && f[2] != name {
				t.Errorf("TYPE before HELP: %s", l)
			}
			name = f[2]
			continue
		} else if len(f) == 4 && f[1] == "TYPE" {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil || m[1] != name || got[m[1]+m[2]] != "" {
			t.Errorf("bad line %q below %s", l, name)
			continue
		}
		got[m[1]+m[2]] = m[3]
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(body, -1) {
		kinds[m[1]] = m[2]
		if strings.HasSuffix(m[1], "_total") != (m[2] == "counter") {
			t.Errorf("%s is a %s", m[1], m[2])
		}
	}
	for name, want := range map[string]string{
		`vidfilter_jobs{state="queued"}`: "1", `vidfilter_jobs{state="failed"}`: "1", `vidfilter_jobs{state="running"}`: "1", `vidfilter_jobs{state="cancelled"}`: "0",
		`vidfilter_tasks{state="active"}`: "1", `vidfilter_tasks{state="finished"}`: "4", `vidfilter_tasks{state="waiting"}`: "3",
		"vidfilter_frames_total": "20", "vidfilter_written_bytes_total": "400", "vidfilter_retries_total": "2", "vidfilter_queue_up": "1",
		"vidfilter_workers": "1", "vidfilter_worker_slots": "4", "vidfilter_worker_slots_busy": "3", "vidfilter_worker_gpus": "2",
		"vidfilter_disk_free_bytes": "5e+11", "vidfilter_held": "0", "vidfilter_workers_held": "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	if !strings.Contains(body, `version="1\"2\\3\n4"`) || len(kinds) < 14 || strings.Contains(body, "host") || strings.Contains(body, "runs.mkv") {
		t.Error(body)
	}
}

// nextEvent returns the next event of a stream.
func nextEvent(t *testing.T, r *lineReader) (event string, data []byte) {
	t.Helper()
	for {
		l := r.next(t)
		switch {
		case strings.HasPrefix(l, "event: "):
			event = l[7:]
		case strings.HasPrefix(l, "data: "):
			data = []byte(l[6:])
		case l == "" && event != "":
			return event, data
		default:
			t.Fatalf("odd line %q", l)
		}
	}
}

func TestEvents(t *testing.T) {
	s := newSite(t, Options{Token: "t"})
	r := s.stream("/events")
	if e, data := nextEvent(t, r); e != "start" || string(data) != `{"shown":500}` {
		t.Fatal(e, string(data))
	}
	var jobs struct{ Jobs []tally.Job }
	e, data := nextEvent(t, r)
	if err := json.Unmarshal(data, &jobs); err != nil || e != "jobs" || len(jobs.Jobs) != 4 || jobs.Jobs[0].ID != "runs" || jobs.Jobs[1].Title != evil {
		t.Fatal(e, err, string(data))
	}
	var w whole
	e, data = nextEvent(t, r)
	if err := json.Unmarshal(data, &w); err != nil || e != "whole" || w.Totals.Jobs != 4 || w.ReadOnly || slices.Contains(w.Can, "retry") || len(w.Workers) != 1 {
		t.Fatal(e, err, string(data))
	}
	for n := range int64(50) { // more than are sent: states in between are left out
		a := whole50()
		a.Progress.Frames = 50 + n
		s.f.say <- job("runs", queue.Running, a)
	}
	for {
		if e, data = nextEvent(t, r); e != "jobs" {
			continue
		}
		jobs.Jobs = nil
		if err := json.Unmarshal(data, &jobs); err != nil || len(jobs.Jobs) != 1 {
			t.Fatal(err, string(data))
		}
		if jobs.Jobs[0].Frames == 99 {
			break
		}
	}
}

// Slow readers delay neither the queue nor the end of the server, and their number is limited.
func TestSlowReaders(t *testing.T) {
	s := newSite(t, Options{})
	for range maxStreams {
		r := s.stream("/events")
		nextEvent(t, r) // no more than that
	}
	code, body, h := s.askAll("GET", "/events")
	if code != 503 || h.Get("Retry-After") == "" {
		t.Error(code)
	}
	wantSentence(t, "one too many", body)
	big := job("big", queue.Running)
	big.Reason = strings.Repeat("x", 100_000)
	late := time.After(5 * time.Second)
	for range 200 {
		select {
		case s.f.say <- big:
		case <-late:
			t.Fatal("the queue waits for those who watch")
		}
	}
}

func TestServe(t *testing.T) {
	f := &fake{say: make(chan queue.Status)}
	q := Follow(f, tally.Options{})
	defer q.Close()
	h := q.Handler(Options{})
	ctx, cancel := context.WithCancel(context.Background())
	addr, wait, err := site.Serve(ctx, "127.0.0.1:0", h, nil, nil)
	e2e.Must(t, err)
	if _, _, err := site.Serve(ctx, addr.String(), h, nil, nil); err == nil || !strings.Contains(err.Error(), addr.String()) {
		t.Errorf("a second one: %v", err)
	}
	s := &host{"http://" + addr.String(), f, t}
	r := s.stream("/events")
	nextEvent(t, r)
	began := time.Now()
	cancel()
	if err := wait(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	e2e.Must(t, wait())
	if _, err := client.Get("http://" + addr.String()); err == nil {
		t.Error("still there")
	}
}

func TestWords(t *testing.T) {
	j := tally.Job{ID: "x", Parts: &tally.Parts{All: 12, Done: 3, Active: 2}, Retried: 1, Left: new(61.0), Bytes: 1500}
	if got := wordsOf(j).Facts; got != "3/12 parts, 2 at work, 1:01 left, 1.50 kB, tried again: 1" {
		t.Error(got)
	}
	if wordsOf(j).Name != "x" || percent(nil) != "" || percent(new(0.999)) != "99%" {
		t.Error("names")
	}
	var b bytes.Buffer
	e2e.Must(t, page().Execute(&b, pageData{Locked: true}))
	wellFormed(t, b.String())
}

// A queue with a full disk is not healthy, but its process is alive.
func TestHealth(t *testing.T) {
	var ill atomic.Bool
	s := newSite(t, Options{Health: func() error {
		if ill.Load() {
			return errors.New("the disk is full")
		}
		return nil
	}, Limits: func() []queue.Limit {
		return []queue.Limit{{What: "folders", Of: "ann\n", Used: 120, Most: 128}, {What: "jobs", Used: 1, Most: 2}}
	}})
	for _, c := range []struct {
		ill  bool
		code int
		up   string
	}{{false, 200, "vidfilter_queue_up 1"}, {true, 503, "vidfilter_queue_up 0"}, {false, 200, "vidfilter_queue_up 1"}} {
		ill.Store(c.ill)
		if code, body := s.ask("GET", "/healthz"); code != c.code || c.ill && !strings.Contains(body, "the disk is full") {
			t.Errorf("%v: %d %s", c.ill, code, body)
		}
		if _, body := s.ask("GET", "/healthz"); !c.ill && body != "ok\nnear its limit: 120 folders of \"ann\\n\", of 128 allowed\n" {
			t.Errorf("%q", body)
		}
		if _, body := s.ask("GET", "/metrics"); !strings.Contains(body, `vidfilter_limit_ratio{of="folders"} 0.9375`) {
			t.Errorf("%s", body)
		}
		if code, body := s.ask("GET", "/livez"); code != 200 || body != "ok\n" {
			t.Errorf("%v: alive: %d %s", c.ill, code, body)
		}
		held := map[bool]string{false: "vidfilter_held 0", true: "vidfilter_held 1"}[c.ill]
		if _, body := s.ask("GET", "/metrics"); !strings.Contains(body, c.up+"\n") || !strings.Contains(body, held+"\n") {
			t.Errorf("%v: no %s and %s in %s", c.ill, c.up, held, body)
		}
		if _, body := s.ask("GET", "/"); strings.Contains(body, "the disk is full") != c.ill {
			t.Errorf("%v: %s", c.ill, body)
		}
	}
}

// Bad results are counted by the worker's credential.
func TestBadResults(t *testing.T) {
	s := newSite(t, Options{BadResults: func() map[string]int { return map[string]int{"render-07": 2, "a": 1} }})
	want := "# TYPE vidfilter_bad_results_total counter\nvidfilter_bad_results_total{worker=\"a\"} 1\nvidfilter_bad_results_total{worker=\"render-07\"} 2\n"
	if _, body := s.ask("GET", "/metrics"); !strings.Contains(body, want) {
		t.Errorf("no %s in %s", want, body)
	}
}

// A held worker shows in the metrics, in the list and on the page.
func TestHeldWorker(t *testing.T) {
	s := newSite(t, Options{})
	s.f.mu.Lock()
	s.f.held = "its <disk> is full"
	s.f.mu.Unlock()
	_, metrics := s.ask("GET", "/metrics")
	_, list := s.ask("GET", "/api/workers")
	_, page := s.ask("GET", "/")
	if !strings.Contains(metrics, "vidfilter_held 1\n") || !strings.Contains(metrics, "vidfilter_workers_held 1\n") ||
		!strings.Contains(list, `"held":"its \u003cdisk\u003e is full"`) || !strings.Contains(page, "3/4, held: its &lt;disk&gt; is full<") {
		t.Errorf("%s%s%s", metrics, list, page)
	}
}

// Wrong tokens are reported, and delayed after the third. Right tokens and probes are not delayed.
func TestWrongTokens(t *testing.T) {
	told := make(chan string, 9)
	s := newSite(t, Options{Token: "right", Private: true, Tell: func(line string) { told <- line }})
	ask := func(path, token string, code int) time.Duration {
		t.Helper()
		begun := time.Now()
		if got, body := s.ask("GET", path, "Authorization", "Bearer "+token); got != code {
			t.Errorf("%s with %s: %d %s", path, token, got, body)
		}
		return time.Since(begun)
	}
	for range 3 { // people mistype
		ask("/api/jobs", "wrong", 401)
	}
	e2e.Contains(t, <-told, "a wrong token came from 127.0.0.1")
	if took := ask("/metrics", "wrong", 401); took < time.Second {
		t.Errorf("the fourth took %v", took)
	}
	var took time.Duration
	for range 3 {
		took += ask("/healthz", "wrong", 200) + ask("/livez", "wrong", 200) + ask("/api/jobs", "right", 200)
	}
	if took >= time.Second {
		t.Errorf("probes and right tokens took %v", took)
	}
}
