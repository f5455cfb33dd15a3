// Package rtc serves a live session to WHEP players and takes the pictures of WHIP senders:
// WebRTC, negotiated over HTTP, with media over UDP, or over TCP on the page's own port.
//
//	POST   /whep       an offer (application/sdp): 201, the answer, and the session in
//	                   Location; the filtered picture as H.264 and, if the player takes
//	                   it, the sound as Opus
//	POST   /whip       the same for a camera, where the session's input is a browser's
//	DELETE /whep/ID, /whip/ID    ends it
//
// Answers hold all candidates of this side, so a peer need not send its own, and PATCH is refused.
// ICE does not restart. STUN and TURN servers stand in Link headers. Errors are a sentence of plain
// text. The caller checks access and limits the length of requests.
package rtc

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/transport/v4/stdnet"

	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/opus"
)

// Options of New.
type Options struct {
	Session  *live.Session
	Encoders *coded.EncoderPool
	Sound    *opus.Stream // nil: players get no sound
	Remote   *live.Remote // the browser camera, nil for other inputs
	Input    string       // its name, for people
	Servers  []ICEServer  // for peers and for this side

	// Enter counts the viewer of a request in, if there is room for one more.
	Enter func(ctx context.Context) (*access.Viewer, bool)
}

// Server answers offers. It is safe for concurrent use.
type Server struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup

	mu       sync.Mutex
	mux      ice.UDPMux // nil before Listen, as is tcp
	tcp      ice.TCPMux
	iceTCP   *tcpListener
	net      *stdnet.Net // the interfaces of that time
	loopback bool
	sessions map[string]*session
}

// New returns a server that refuses offers until Listen. The caller closes it before the session
// ends.
func New(o Options) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{o: o, ctx: ctx, cancel: cancel, iceTCP: newTCPListener(), sessions: map[string]*session{}}
}

// Aside takes ICE's connections from the page's port: a site.Aside.
func (s *Server) Aside(first byte, c net.Conn) bool { return s.iceTCP.take(first, c) }

// Listen opens a UDP port at the page's address, with the same number if it is free; at all
// addresses of this machine if that is unspecified. It is called once.
func (s *Server) Listen(page net.Addr) error {
	addr, ok := page.(*net.TCPAddr)
	if !ok {
		return errors.New("rtc: the page is not served over TCP")
	}
	interfaces, err := stdnet.NewNet() // once: a sandbox does not show them
	if err != nil {
		return err
	}
	mux, err := listen(addr)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		_ = mux.Close()
		return nil
	}
	s.iceTCP.addr = addr
	s.tcp = listenTCP(s.iceTCP)
	s.mux, s.net, s.loopback = mux, interfaces, addr.IP.IsLoopback() || addr.IP.IsUnspecified()
	return nil
}

// Close ends all sessions and returns when they are gone.
func (s *Server) Close() {
	s.cancel()
	s.active.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mux != nil {
		_ = s.mux.Close()
		_ = s.tcp.Close()
		s.mux, s.tcp = nil, nil
	}
}

const (
	patience = 15 * time.Second // for a peer to connect after the answer
	silent   = 5 * time.Second  // after which a peer counts as disconnected
	gone     = 10 * time.Second // how long it may then take to come back
	beat     = 2 * time.Second
)

// session is one peer.
type session struct {
	kind, id string
	peer     *peer
	end      context.CancelCauseFunc
	done     chan struct{} // closed after its end
}

// Why a session ends.
var (
	errDeleted = errors.New("the peer has ended it")
	errLost    = errors.New("the connection is lost")
	errNever   = errors.New("the peer did not connect")
	errEnded   = errors.New("there are no more pictures")
	errKicked  = errors.New("it was sent away")
)

// start runs a session in the background: run until its context ends, then closes the connection,
// then calls after.
func (s *Server) start(kind string, p *peer, run func(ctx context.Context), after func(cause error)) (*session, bool) {
	ctx, end := context.WithCancelCause(s.ctx)
	x := &session{kind: kind, id: rand.Text(), peer: p, end: end, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		end(nil)
		return nil, false
	}
	s.sessions[x.id] = x
	s.active.Go(func() {
		select {
		case <-p.over:
			end(errLost)
		case <-p.kicked:
			end(errKicked)
		case <-ctx.Done():
		}
	})
	s.active.Go(func() {
		defer close(x.done)
		if err := p.connect(ctx); err != nil {
			end(err)
		} else {
			run(ctx)
		}
		end(errEnded)
		_ = p.pc.GracefulClose()
		s.mu.Lock()
		delete(s.sessions, x.id)
		s.mu.Unlock()
		after(context.Cause(ctx))
	})
	return x, true
}

// remove ends a session and waits for its end, for a limited time.
func (s *Server) remove(kind, id string) bool {
	s.mu.Lock()
	x := s.sessions[id]
	s.mu.Unlock()
	if x == nil || x.kind != kind {
		return false
	}
	x.end(errDeleted)
	select {
	case <-x.done:
	case <-time.After(silent):
	}
	return true
}
