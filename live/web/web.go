// Package web shows a live session in a browser: the page, and the socket that carries pictures to
// it and, from its own camera, back.
//
//	GET  /             the page; GET /app.js and so on: its parts
//	POST /login        {"token":".."} or a form: a cookie for all below; 401 for a wrong
//	                   token. 200 and {"opened":true} for the token of the page that the
//	                   program itself opens, else 204
//	GET  /ws           the socket, see message.go
//	GET  /mjpeg        ?view=split|original|filtered, for viewers without script
//	GET  /healthz      200
//
// Errors are a sentence of plain text.
package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"vidfilter/live"
)

// Options of New.
type Options struct {
	Version string // of the program
	Backend string // name of the filtering device, for display
	Input   live.Input

	Token string   // gives access to the page
	Once  string   // replaces Token, once; "" for none
	Hosts []string // host names of the page beside those of this machine
	TLS   bool     // the pages go out over TLS

	MaxViewers int
	Threads    int // of each encoder, 0 for the program's choice

	Command   func(live.Filter) string // the command that filters a file alike
	Recording func() *Recording        // nil, or returns nil, when nothing is recorded
	Remote    *live.Remote             // the browser camera, nil for other inputs
}

// Recording is how a recording does.
type Recording struct {
	File    string  `json:"file"`
	Seconds float64 `json:"seconds"`
	Dropped int64   `json:"dropped"`
	Error   string  `json:"error"`
}

// Server is the page of a session. It is safe for concurrent use.
type Server struct {
	session *live.Session
	o       Options
	keys    *keys
	ctx     context.Context
	cancel  context.CancelFunc
	viewing sync.WaitGroup
	more    []extra
	studio  *studio

	mu      sync.Mutex
	viewers int
	changed chan struct{} // closed by Changed
}

// New returns the page of a session. The caller closes it before the session ends.
func New(s *live.Session, o Options) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	server := &Server{session: s, o: o, keys: newKeys(o.Token, o.Once), ctx: ctx, cancel: cancel, changed: make(chan struct{})}
	server.studio = &studio{server: server}
	return server
}

// Changed sends the state to all viewers again, after a change outside the session.
func (s *Server) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Viewers returns how many there are.
func (s *Server) Viewers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.viewers
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

// Enter counts a viewer in until leave is called, if there is room.
func (s *Server) Enter() (leave func(), ok bool) {
	s.mu.Lock()
	ok = s.viewers < s.o.MaxViewers
	if ok {
		s.viewers++
	}
	s.mu.Unlock()
	if !ok {
		return nil, false
	}
	s.Changed()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.viewers--
		s.mu.Unlock()
		s.Changed()
	}), true
}

// silent is the longest time for a viewer to take a message before it counts as gone.
const silent = 10 * time.Second

// extra is a path of somebody else's.
type extra struct {
	path    string // with all below it if it ends in a slash
	largest int64  // bytes of a body
	handler http.Handler
}

// Handle adds a handler for a path, and for all below it if it ends in a slash. Requests need the
// cookie or the token as Authorization: Bearer, and bodies are cut after largest bytes. Call it
// before Handler.
func (s *Server) Handle(path string, largest int64, h http.Handler) {
	s.more = append(s.more, extra{path, largest, h})
}

// Handler returns the handler of the page and its socket.
func (s *Server) Handler() http.Handler { return s.guard(s.routes()) }
