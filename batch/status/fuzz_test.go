package status

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
)

// FuzzRequests sends arbitrary requests to the page of a queue: no answer shows markup from a job,
// JSON is valid, requests from other sites are refused, and changes need the token.
func FuzzRequests(f *testing.F) {
	const token = "a token"
	retried := 0
	q := &fake{say: make(chan queue.Status)}
	followed := Follow(q, tally.Options{})
	f.Cleanup(followed.Close)
	h := followed.Handler(Options{Token: token, Retry: func(context.Context, string) error { retried++; return nil }})
	hostile := job("hostile", queue.Failed)
	hostile.Job.Title, hostile.Reason = evil, evil
	for _, j := range []queue.Status{hostile, job("runs", queue.Running, whole50()), job("ready", queue.Done), job("ready", queue.Done)} {
		q.say <- j
	}
	for _, target := range []string{
		"/", "/?state=failed&page=2", "/app.js", "/healthz", "/livez", "/metrics", "/events", "/api/jobs?limit=1&offset=1&state=failed,running",
		"/api/jobs/hostile", "/api/jobs/%2e%2e%2f", "/api/workers", "/api/jobs/runs/cancel", "/api/jobs/hostile/retry", "//x",
		"/api/batches", "/api/batches/b1/pause", "/api/jobs/runs/priority?value=1", "/api/workers/all/pause", "/api/history", "/api/jobs?limit=-1",
	} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			f.Add(method, target, "localhost", "Bearer "+token, "", "", []byte(nil))
			f.Add(method, target, "evil.example", "", "Origin", "null", []byte("{}"))
		}
	}
	f.Fuzz(func(t *testing.T, method, target, host, authorization, name, value string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // a stream of events ends after the first
		r := (&http.Request{Method: method, URL: u, Host: host, RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody}).WithContext(ctx)
		r.Body = http.MaxBytesReader(nil, httptest.NewRequest("POST", "/", strings.NewReader(string(body))).Body, 1<<20)
		r.Header.Set(name, value)
		r.Header.Set("Authorization", authorization)
		before := fmt.Sprint(len(q.cancelled), retried)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		said, kind := w.Body.String(), w.Header().Get("Content-Type")
		if w.Code < 200 || w.Code > 599 || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("status %d, headers %v", w.Code, w.Header())
		}
		if strings.HasPrefix(kind, "text/html") && (strings.Contains(said, "<script>alert") || strings.Contains(said, "<img src=x")) {
			t.Errorf("the page has a job's markup: %s", said)
		}
		if kind == "application/json" && method != "HEAD" && !json.Valid([]byte(said)) {
			t.Errorf("no JSON: %q", said)
		}
		if name := strings.ToLower(host); strings.Contains(name, "evil") && w.Code != http.StatusForbidden {
			t.Errorf("host %q: %d", host, w.Code)
		}
		if now := fmt.Sprint(len(q.cancelled), retried); now != before && !strings.HasSuffix(strings.TrimSpace(authorization), token) {
			t.Errorf("%s %s with %q changed something", method, target, authorization)
		}
		q.cancelled = nil
	})
}
