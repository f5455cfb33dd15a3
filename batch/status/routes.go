package status

import (
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/site"
	"vidfilter/internal/text"
)

//go:embed page.html *.js *.css *.svg
var files embed.FS

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	route := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == method || r.Method == http.MethodHead && method == http.MethodGet {
				h(w, r)
				return
			}
			w.Header().Set("Allow", method)
			site.Refuse(w, http.StatusMethodNotAllowed, "this path takes "+method+" only")
		})
	}
	route("GET", "/{$}", s.page)
	names, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // embedded above
	}
	for _, f := range names {
		if kind := kinds[path.Ext(f.Name())]; kind != "" {
			route("GET", "/"+f.Name(), file(f.Name(), kind))
		}
	}
	route("GET", "/healthz", s.health)
	route("GET", "/livez", alive)
	route("GET", "/events", s.read(s.events))
	route("GET", "/metrics", s.read(s.metrics))
	route("GET", "/api/jobs", s.read(s.listJobs))
	route("GET", "/api/jobs/{id}", s.read(s.oneJob))
	route("GET", "/api/workers", s.read(s.listWorkers))
	route("GET", "/api/history", s.read(s.past))
	route("GET", "/api/jobs/{id}/log", s.act(s.log))
	for _, v := range s.verbs() {
		route("POST", "/api/jobs/{id}/"+v.name, s.act(s.onJob(v)))
		route("POST", "/api/batches/{id}/"+v.name, s.act(s.onBatch(v)))
	}
	route("POST", submitPath, s.act(s.submit))
	route("POST", "/api/workers/{name}/pause", s.act(s.pauseWorkers(true)))
	route("POST", "/api/workers/{name}/resume", s.act(s.pauseWorkers(false)))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		site.Refuse(w, http.StatusNotFound, "there is no page at this path")
	})
	return mux
}

// kinds are the types of the page's parts. The system's table is unreliable.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

func file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeFileFS(w, r, files, name)
	}
}

func ok(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// alive is for supervisors that restart the process. It does not ask the queue, which recovers by
// itself, and takes no lock that a slow disk may hold.
func alive(w http.ResponseWriter, _ *http.Request) { ok(w) }

func (s *server) health(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	live, down := s.up()
	s.mu.Unlock()
	switch {
	case live:
		ok(w)
		if !s.o.Private || s.roleOf(r) >= viewer {
			s.warn(w)
		}
	case down == nil, s.o.Private && s.roleOf(r) < viewer:
		site.Refuse(w, http.StatusServiceUnavailable, "the queue has not answered yet")
	default:
		site.Refuse(w, http.StatusServiceUnavailable, "the queue does not answer: "+down.Error())
	}
}

// warn writes a line for each thing that is near its limit.
func (s *server) warn(w http.ResponseWriter) {
	if s.o.Limits == nil {
		return
	}
	for _, l := range s.o.Limits() {
		if l.IsNear() {
			fmt.Fprintf(w, "near its limit: %s\n", text.OneLine(l.String()))
		}
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // the reader may have gone
}

// List is the answer of /api/jobs: some of the Count jobs that match. Of the jobs that are done
// only the latest are listed; the totals count all.
type List struct {
	Count  int          `json:"count"`
	Jobs   []tally.Job  `json:"jobs"`
	Totals tally.Totals `json:"totals"`
	Note   string       `json:"note"`
}

// Jobs per answer.
const (
	defaultLimit = 500
	maxLimit     = 5000
)

func (s *server) listJobs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err1 := number(q.Get("limit"), defaultLimit, maxLimit)
	offset, err2 := number(q.Get("offset"), 0, 1<<31)
	keep, err3 := wanted(q.Get("state"))
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			site.Refuse(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	note := s.note()
	_, ahead, _ := s.askWorkers() // the last known backlog
	s.mu.Lock()
	s.t.Ahead(ahead)
	now := time.Now()
	l := List{Jobs: s.t.Jobs(now, keep), Totals: s.t.Totals(now, note != ""), Note: note}
	s.mu.Unlock()
	l.Count = len(l.Jobs)
	l.Jobs = l.Jobs[min(offset, l.Count):]
	l.Jobs = s.seen(l.Jobs[:min(limit, len(l.Jobs))])
	answer(w, l)
}

func number(text string, usual, most int) (int, error) {
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", text, most)
	}
	return n, nil
}

// wanted parses a list of states; nil means all.
func wanted(text string) (func(queue.Status) bool, error) {
	if text == "" {
		return nil, nil
	}
	states := strings.Split(text, ",")
	all := []string{"queued", "running", "done", "failed", "quarantined", "cancelled"}
	for _, st := range states {
		if !slices.Contains(all, st) {
			return nil, fmt.Errorf("there is no state %q; there are %s", st, strings.Join(all, ", "))
		}
	}
	return func(s queue.Status) bool { return slices.Contains(states, string(s.State)) }, nil
}

// find returns a job, or answers 404.
func (s *server) find(w http.ResponseWriter, r *http.Request) (tally.Job, bool) {
	s.mu.Lock()
	j, ok := s.t.Job(r.PathValue("id"), time.Now())
	s.mu.Unlock()
	if !ok {
		site.Refuse(w, http.StatusNotFound, "there is no job with this ID")
	}
	return j, ok
}

func (s *server) oneJob(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.find(w, r); ok {
		answer(w, s.seen([]tally.Job{j})[0])
	}
}

// log shows the output of a job's processes, which names files.
func (s *server) log(w http.ResponseWriter, r *http.Request) {
	said, err := s.engine.Log(r.Context(), r.PathValue("id"))
	switch {
	case errors.Is(err, queue.ErrNoJob):
		site.Refuse(w, http.StatusNotFound, err.Error())
	case err != nil:
		site.Refuse(w, http.StatusBadGateway, err.Error())
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, said) // the reader may have gone
	}
}

func (s *server) past(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	past := s.history.view(time.Now())
	s.mu.Unlock()
	answer(w, past)
}

func (s *server) listWorkers(w http.ResponseWriter, r *http.Request) {
	all, _, err := s.askWorkers()
	if err != nil {
		site.Refuse(w, http.StatusBadGateway, "the queue does not answer: "+err.Error())
		return
	}
	answer(w, map[string][]Worker{"workers": all})
}

// policy allows only files of this server: no inline script or style, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard checks every request.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.Harden(w.Header(), policy)
		// DNS rebinding would let another site's page read this one
		if !site.Known(r, s.o.Hosts) {
			site.Refuse(w, http.StatusForbidden, "this page has another name: use that, or add this one with --status-host")
			return
		}
		most := int64(1 << 10) // no request needs a body
		if r.URL.Path == submitPath {
			most = queue.MostRequest
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// role is the rights of a request.
type role int

const (
	stranger role = iota
	viewer        // may read
	operator      // may read and change
)

// roleOf returns the role of a request's token, in constant time.
func (s *server) roleOf(r *http.Request) role {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimSpace(given)
	switch acts, reads := same(given, s.o.Token), same(given, s.o.Viewer); {
	case !strings.EqualFold(scheme, "Bearer"):
		return stranger
	case acts:
		return operator
	case reads:
		return viewer
	}
	return stranger
}

func same(given, token string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && token != ""
}

// allowed reports whether a request may go on, and refuses it otherwise. Wrong tokens are answered
// late.
func (s *server) allowed(w http.ResponseWriter, r *http.Request, needs role, why string) bool {
	switch by := s.roleOf(r); {
	case by >= needs:
		return true
	case by == viewer:
		site.Refuse(w, http.StatusForbidden, "this token is for reading alone: give the token of --token")
		return false
	case r.Header.Get("Authorization") != "" && !s.wrong.Note(r.Context(), site.Address(r.RemoteAddr)):
		w.Header().Set("Connection", "close")
		site.Refuse(w, http.StatusTooManyRequests, "too many wrong tokens have come")
		return false
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="vidfilter"`)
	site.Refuse(w, http.StatusUnauthorized, why+": send it as Authorization: Bearer TOKEN")
	return false
}

// read guards a handler that shows something.
func (s *server) read(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.o.Private || s.allowed(w, r, viewer, "reading needs the token") {
			h(w, r)
		}
	}
}

// act guards a handler that changes something.
func (s *server) act(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.o.Token == "" {
			site.Refuse(w, http.StatusForbidden, "this page is read-only: it was started without a token")
		} else if s.allowed(w, r, operator, "this needs the token") {
			h(w, r)
		}
	}
}
