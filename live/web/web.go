// Package web shows a live session in a browser: the page, and the socket that carries pictures to
// it and, from its own camera, back.
//
//	GET  /             the page; GET /app.js and so on: its parts
//	POST /login        {"token":".."} or a form: a cookie for all below; 401 for a wrong
//	                   token. 200 and {"opened":true} for the token of the page that the
//	                   program itself opens, else 204
//	GET  /ws           the socket, see message.go
//	GET  /mjpeg        ?view=split|original|filtered|left|right, for viewers without
//	                   script; the sides are original and filtered, or two settings
//	GET  /stream.ts    the filtered picture as H.264 in MPEG-TS, for players
//	GET  /snapshot     ?view= likewise: the latest picture as PNG
//	GET  /job          the filter as a job file for vidfilter batch; POST sets that of one;
//	                   both for those with control
//	GET  /healthz      200
//
// Players bring a token to /mjpeg and /stream.ts as Authorization: Bearer or ?token=.
//
// Errors are a sentence of plain text.
package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/opus"
)

// Options of New.
type Options struct {
	Version string // of the program
	Backend string // name of the filtering device, for display
	Input   live.Input

	Admission *access.Admission
	Encoders  *coded.EncoderPool
	Sound     *opus.Stream
	Hosts     []string // host names of the page beside those of this machine
	TLS       bool     // the pages go out over TLS

	Restore bool // pages may set the filter of an earlier visit, if nobody has set it yet

	Command func(live.FilterSettings) string // the command that filters a file alike
	JobFile func(live.FilterSettings) ([]byte, error)
	// ReadJobFile returns the filter of a job file, and the names of options of others.
	ReadJobFile func([]byte) (f live.FilterSettings, others []string, err error)
	// Recording returns the recording that is running or was last, or nil, and the reason why
	// viewers cannot record, or "".
	Recording func() (latest *Recording, why string)
	Record    func(do string) error // start, pause, resume or stop
	Remote    *live.Remote          // the browser camera, nil for other inputs
}

// Recording is the state of a recording.
type Recording struct {
	File    string  `json:"file"`
	Seconds float64 `json:"seconds"`
	Dropped int64   `json:"dropped"`
	Paused  bool    `json:"paused"`
	Ended   bool    `json:"ended"`
	Error   string  `json:"error"`
}

// Server is the page of a session. It is safe for concurrent use.
type Server struct {
	session *live.Session
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	viewing sync.WaitGroup
	more    []foreignPath
	saving  sync.Mutex // one picture at a time

	mu      sync.Mutex
	changed chan struct{} // closed by Changed
}

// New returns the page of a session. The caller closes it before the session ends.
func New(s *live.Session, o Options) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	x := &Server{session: s, o: o, ctx: ctx, cancel: cancel, changed: make(chan struct{})}
	o.Admission.OnChange(x.Changed)
	return x
}

// Changed sends the state to all viewers again, after a change outside the session.
func (s *Server) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close sends all viewers away and returns when they are gone.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.viewing.Wait()
}

// begin lets Close wait until s.viewing is done once more; it is false after Close.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.viewing.Add(1)
	return true
}

// silent is the longest time for a viewer to take a message before it counts as gone.
const silent = 10 * time.Second

// foreignPath is a path that another package serves.
type foreignPath struct {
	path    string // with all below it if it ends in a slash
	needs   access.Rights
	largest int64 // bytes of a body
	handler http.Handler
}

// Handle adds a handler for a path, and for all below it if it ends in a slash. Requests need a
// cookie or a token with these rights; with a token, as Authorization: Bearer, pages of other sites
// may come, too. Bodies are cut after largest bytes. Call it before Handler.
func (s *Server) Handle(path string, needs access.Rights, largest int64, h http.Handler) {
	s.more = append(s.more, foreignPath{path, needs, largest, h})
}

// Handler returns the handler of the page and its socket.
func (s *Server) Handler() http.Handler { return s.guard(s.routes()) }
