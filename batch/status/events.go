package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"vidfilter/batch/tally"
	"vidfilter/internal/site"
)

// Events of /events, with JSON as data:
//
// 	event: start   {"shown":500}      forget everything: first, and after jobs were removed
// 	event: jobs    {"jobs":[...]}     changed jobs, see tally.Job, each with its words;
// 	                                  at first those of the page
// 	event: whole   see whole
// 	event: history see History; at first, and after each minute

const (
	maxStreams  = 64                     // at once; further readers get 503
	minInterval = 500 * time.Millisecond // between two batches of events
	heartbeat   = 5 * time.Second        // longest silence
	sendTimeout = 10 * time.Second       // for a reader to take an event
)

func (s *server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		site.Refuse(w, http.StatusServiceUnavailable, "too many readers: try again later, or reload the page now and then")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	st := &stream{w: w, c: http.NewResponseController(w)}
	s.follow(r, st)
}

// follow sends changes until the reader or the server has gone. A slow reader misses states in
// between and delays no other.
func (s *server) follow(r *http.Request, st *stream) {
	by, at := s.roleOf(r), streamPosition{removed: -1}
	var until time.Time // of the history that was sent
	for st.err == nil {
		jobs, again, past := s.next(&at)
		if again {
			st.send("start", map[string]int{"shown": defaultLimit})
		}
		if len(jobs) > 0 {
			st.send("jobs", map[string][]wordedJob{"jobs": worded(s.seen(jobs))})
		}
		st.send("whole", s.whole(by))
		if past.Hour.Until != until {
			until = past.Hour.Until
			st.send("history", past)
		}
		st.flush()
		if !s.wait(r, at.changed) {
			return
		}
	}
}

// streamPosition is how much of the changes a stream has sent.
type streamPosition struct {
	version uint64
	removed int
	changed chan struct{}
}

// next returns the jobs that have changed. again means that these are the first: the stream has
// just begun, or jobs were removed.
func (s *server) next(at *streamPosition) (jobs []tally.Job, again bool, past History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if again = at.removed != s.removed; again {
		jobs, at.version = s.t.Jobs(now, nil), s.t.Version()
		jobs = jobs[:min(defaultLimit, len(jobs))]
	} else {
		jobs, at.version = s.t.Since(at.version, now)
	}
	at.removed, at.changed = s.removed, s.changed
	return jobs, again, s.history.view(now)
}

type wordedJob struct {
	tally.Job
	Words words `json:"words"`
}

func worded(jobs []tally.Job) (all []wordedJob) {
	for _, j := range jobs {
		all = append(all, wordedJob{j, wordsOf(j)})
	}
	return all
}

// wait returns after a change, but at the earliest after minInterval. It returns false when the
// stream ends.
func (s *server) wait(r *http.Request, changed <-chan struct{}) bool {
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	pause := time.NewTimer(minInterval)
	defer pause.Stop()
	for paused := false; ; {
		wake := changed
		if !paused {
			wake = nil
		}
		select {
		case <-r.Context().Done():
			return false
		case <-s.ctx.Done():
			return false
		case <-pause.C:
			paused = true
		case <-wake:
			return true
		case <-beat.C:
			return true
		}
	}
}

// stream writes events until the first error.
type stream struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	err error
}

func (st *stream) send(event string, v any) {
	if st.err != nil {
		return
	}
	b, err := json.Marshal(v) // has no line break
	if err != nil {
		st.err = err
		return
	}
	st.c.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, st.err = fmt.Fprintf(st.w, "event: %s\ndata: %s\n\n", event, b)
}

func (st *stream) flush() {
	if st.err == nil {
		st.err = st.c.Flush()
	}
}
