package batchrun

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/batch"
	"vidfilter/internal/e2e"
)

// heard collects log lines and requests.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, string(b))
	return len(b), nil
}

func fileNotice(state string) batch.Notice {
	n := batch.Notice{ID: "a-1", Root: "/out"}
	n.Of(batch.Row{File: "/in/a\xff.mkv", Output: "b/a.mkv", State: state, Reason: "why; rm -rf $HOME"})
	return n
}

// The command gets the file and its end as variables and as JSON, and its failure is logged.
func TestOnDone(t *testing.T) {
	dir := t.TempDir()
	var log heard
	h := newHooks(`echo "$VF_EVENT $VF_ID $VF_STATE $VF_FILE $VF_OUTPUT $VF_REASON" >> out; cat >> json; echo >> json; echo one; echo two >&2; [ "$VF_STATE" != failed ]`, "",
		[]string{"PATH=/usr/bin:/bin", "PWD=" + dir}, slog.New(slog.NewTextHandler(&log, nil)))
	h.command = "cd " + dir + "; " + h.command
	h.add(fileNotice("done"))
	h.add(fileNotice("failed"))
	h.end(batch.Notice{Event: "batch", ID: "1", State: "failed", Exit: new(1)})
	want := "job a-1 done /in/a\xff.mkv /out/b/a.mkv why; rm -rf $HOME\njob a-1 failed /in/a\xff.mkv /out/b/a.mkv why; rm -rf $HOME\nbatch 1 failed   \n"
	if got := string(e2e.Read(t, filepath.Join(dir, "out"))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var states []string
	for line := range strings.Lines(string(e2e.Read(t, filepath.Join(dir, "json")))) {
		var n struct {
			Event, State string
			File         struct{ Output, State string }
		}
		e2e.Must(t, json.Unmarshal([]byte(line), &n))
		states = append(states, n.Event+" "+n.State+" "+n.File.State+n.File.Output)
	}
	if !slices.Equal(states, []string{"job done doneb/a.mkv", "job failed failedb/a.mkv", "batch failed "}) {
		t.Errorf("%q", states)
	}
	if len(log.all) != 2 || !strings.Contains(log.all[0], "exit status 1: two") {
		t.Errorf("%q", log.all)
	}
}

// A command that hangs is killed, and delays neither files nor the end for long. Notices that queue
// up behind it are dropped, and logged.
func TestOnDoneHangs(t *testing.T) {
	var log heard
	h := newHooks("sleep 600 & sleep 600", "", nil, slog.New(slog.NewTextHandler(&log, nil)))
	h.limit = 100 * time.Millisecond
	began := time.Now()
	for range mostPending + 10 {
		h.add(fileNotice("done"))
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("files waited %v", d)
	}
	h.end(fileNotice("done"))
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("the batch waited %v", d)
	}
	said := strings.Join(log.all, "")
	if !strings.Contains(said, "ended after 100ms") || !strings.Contains(said, "ends of files were not told") {
		t.Errorf("%q", said)
	}
	var none *hooks
	none.add(fileNotice("done"))
	none.end(fileNotice("done"))
}

// A webhook is called again after a fault of the server, follows no redirect, and its URL is kept
// out of the log.
func TestWebhook(t *testing.T) {
	for path, want := range map[string]struct {
		codes []int // of the answers
		log   string
	}{
		"fine": {[]int{204}, ""}, "fault": {[]int{500, 503, 200}, ""}, "refused": {[]int{404}, "404"}, "broken": {[]int{500, 500, 500}, "500"}, "moved": {[]int{302}, "302"},
	} {
		var log, got heard
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = got.Write([]byte(r.Method + r.URL.Path + r.Header.Get("Content-Type") + string(b)))
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(want.codes[len(got.all)-1])
		}))
		h := newHooks("", s.URL+"/secret-"+path, nil, slog.New(slog.NewTextHandler(&log, nil)))
		h.pause = time.Millisecond
		h.end(fileNotice("done"))
		s.Close()
		said := strings.Join(log.all, "")
		if len(got.all) != len(want.codes) || !strings.HasPrefix(got.all[0], "POST/secret-"+path+"application/json{\"event\":\"job\"") {
			t.Errorf("%s: %q", path, got.all)
		}
		if !strings.Contains(said, want.log) || want.log == "" && said != "" || strings.Contains(said, "secret") {
			t.Errorf("%s: %q", path, said)
		}
		log.all = nil
		if h.tell(t.Context(), fileNotice("done")); len(log.all) != 1 || strings.Contains(log.all[0], "secret") {
			t.Errorf("%s, nobody there: %q", path, log.all)
		}
	}
	for _, s := range []string{"ftp://x/y", "https:///y", "x", "http://"} {
		if checkWebhook(s) == nil {
			t.Errorf("%q is taken", s)
		}
	}
	e2e.Must(t, checkWebhook(""))
	e2e.Must(t, checkWebhook("https://example.org/hook"))
}
