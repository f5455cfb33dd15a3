// Package rtsp serves the filtered picture of a session to RTSP players: H.264 and, if there is
// sound, Opus, over the players' TCP connections only, so that TLS and forwarded ports carry all of
// it.
package rtsp

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/headers"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"

	"vidfilter/internal/site"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/opus"
)

// Path is where the picture is.
const Path = "/live"

const (
	mostConnections = 64
	// queue is how many packets wait for a player, more than a key frame has. Those beyond are
	// lost, and the next key frame comes soon.
	queue = 1024
	// firstPicture is how long a player waits for the format.
	firstPicture = 5 * time.Second
)

// Options of Listen.
type Options struct {
	Encoders  *coded.EncoderPool
	Sound     *opus.Stream
	Hears     func() bool // there is sound now; asked when the first player comes
	Admission *access.Admission
	Secure    *tls.Config // nil for plain RTSP
}

// Server is an RTSP server.
type Server struct {
	o        Options
	ctx      context.Context
	cancel   context.CancelFunc
	server   *gortsplib.Server
	listener net.Listener

	mu        sync.Mutex
	broadcast *broadcast // nil without players
	users     map[*gortsplib.ServerConn]struct{}
}

// Listen starts a server at an address. The caller closes it before the session ends.
func Listen(addr string, o Options) (*Server, error) {
	s := &Server{o: o, users: map[*gortsplib.ServerConn]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.server = &gortsplib.Server{
		Handler: (*handler)(s), RTSPAddress: addr, WriteQueueSize: queue, Listen: s.listen,
		// a digest would need the tokens in clear; plain RTSP is for this machine only
		AuthMethods: []auth.VerifyMethod{auth.VerifyMethodBasic},
	}
	if err := s.server.Start(); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

// listen adds TLS under the library, whose own would add SRTP, which few players know.
func (s *Server) listen(network, addr string) (net.Listener, error) {
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil, err
	}
	s.listener = l
	l = site.Limit(l, mostConnections)
	if s.o.Secure != nil {
		l = tls.NewListener(l, s.o.Secure)
	}
	return l, nil
}

// Addr returns the address of the server.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close sends all players away.
func (s *Server) Close() {
	s.cancel()
	s.server.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broadcast != nil {
		s.broadcast.end()
		s.broadcast = nil
	}
}

// broadcast is one run of the stream, from the first player to the last.
type broadcast struct {
	stream *gortsplib.ServerStream
	format *format.H264
	reader *coded.Reader
	ready  chan struct{} // closed when the format is known
	stop   context.CancelFunc
	ended  chan struct{}
	sound  sync.WaitGroup
}

func (s *Server) begin() (*broadcast, error) {
	x := &broadcast{format: &format.H264{PayloadTyp: 96, PacketizationMode: 1}, ready: make(chan struct{}), ended: make(chan struct{})}
	media := &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{x.format}}
	all := []*description.Media{media}
	voice := &format.Opus{PayloadTyp: 97, ChannelCount: 2}
	if s.o.Hears() {
		all = append(all, &description.Media{Type: description.MediaTypeAudio, Formats: []format.Format{voice}})
	}
	x.stream = &gortsplib.ServerStream{Server: s.server, Desc: &description.Session{Title: "vidfilter live", Medias: all}}
	if err := x.stream.Initialize(); err != nil {
		return nil, err
	}
	encoder, err := x.format.CreateEncoder()
	if err != nil {
		x.stream.Close()
		return nil, err
	}
	var ctx context.Context
	ctx, x.stop = context.WithCancel(s.ctx)
	x.reader = s.o.Encoders.Read()
	if len(all) > 1 {
		if err := x.speak(ctx, s.o.Sound, all[1], voice); err != nil {
			x.stop()
			x.reader.Close()
			x.stream.Close()
			return nil, err
		}
	}
	announce := sync.OnceFunc(func() { close(x.ready) })
	go func() {
		defer close(x.ended)
		for {
			p, err := x.reader.Next(ctx)
			if err != nil {
				return
			}
			if p.Key {
				x.setParams(p.Units)
				announce()
			}
			packets, err := encoder.Encode(p.Units)
			if err != nil {
				continue
			}
			for _, packet := range packets {
				packet.Timestamp += uint32(p.At * 9 / 100_000)
				_ = x.stream.WritePacketRTPWithNTP(media, packet, p.Taken)
			}
		}
	}()
	return x, nil
}

// speak sends the sound until ctx ends. The reports of the library bring it together with the
// pictures, by the times at which they were taken.
func (x *broadcast) speak(ctx context.Context, from *opus.Stream, media *description.Media, f *format.Opus) error {
	encoder, err := f.CreateEncoder()
	if err != nil {
		return err
	}
	x.sound.Go(func() {
		r := from.Join()
		defer r.Close()
		r.Play(ctx, func(p opus.Packet, at int64, _ bool) {
			packet, err := encoder.Encode(p.Data)
			if err != nil {
				return
			}
			packet.Timestamp = uint32(at)
			_ = x.stream.WritePacketRTPWithNTP(media, packet, p.Taken)
		})
	})
	return nil
}

// setParams puts a key frame's parameter sets into the description.
func (x *broadcast) setParams(units [][]byte) {
	var sps, pps []byte
	for _, u := range units {
		switch u[0] & 31 {
		case 7:
			sps = u
		case 8:
			pps = u
		}
	}
	x.format.SafeSetParams(sps, pps)
}

// end ends the broadcast without players.
func (x *broadcast) end() {
	x.stop()
	x.reader.Close()
	<-x.ended
	x.sound.Wait()
	x.stream.Close()
}

// use keeps the broadcast on for a connection, and returns it.
func (s *Server) use(c *gortsplib.ServerConn) (x *broadcast, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, s.ctx.Err()
	}
	if s.broadcast == nil {
		if s.broadcast, err = s.begin(); err != nil {
			return nil, err
		}
	}
	s.users[c] = struct{}{}
	return s.broadcast, nil
}

// release ends the broadcast after the last connection.
func (s *Server) release(c *gortsplib.ServerConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, c)
	if len(s.users) == 0 && s.broadcast != nil {
		s.broadcast.end()
		s.broadcast = nil
	}
}

// handler answers requests.
type handler Server

func answer(code base.StatusCode) *base.Response { return &base.Response{StatusCode: code} }

// who lets a request with a token through: as the password of any user, or as ?token=. Later
// requests of the connection need no token.
func (h *handler) who(c *gortsplib.ServerConn, r *base.Request, query string) (access.Visitor, bool) {
	if v, known := c.UserData().(access.Visitor); known {
		return v, true
	}
	token, given := tokenOf(r, query)
	if !given {
		return access.Visitor{}, false
	}
	v := access.Visitor{Address: site.Address(c.NetConn().RemoteAddr().String()), Rights: h.o.Admission.Token(token)}
	if v.Rights == access.None {
		h.o.Admission.Wrong(h.ctx, v.Address)
		return v, false
	}
	c.SetUserData(v)
	return v, true
}

func tokenOf(r *base.Request, query string) (token string, given bool) {
	var a headers.Authorization
	if a.Unmarshal(r.Header["Authorization"]) == nil && a.Method == headers.AuthMethodBasic {
		return a.BasicPass, true
	}
	q, err := url.ParseQuery(query)
	if err != nil || !q.Has("token") {
		return "", false
	}
	token, _, _ = strings.Cut(q.Get("token"), "/") // of a track's address
	return token, true
}

// admit answers a request that may not go on, or returns nil.
func (h *handler) admit(c *gortsplib.ServerConn, r *base.Request, path, query string) (*base.Response, error) {
	if _, ok := h.who(c, r, query); !ok {
		return answer(base.StatusUnauthorized), liberrors.ErrServerAuth{}
	}
	if strings.TrimSuffix(path, "/") != Path {
		return answer(base.StatusNotFound), nil
	}
	return nil, nil
}

// OnDescribe waits until the format is known.
func (h *handler) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if no, err := h.admit(ctx.Conn, ctx.Request, ctx.Path, ctx.Query); no != nil {
		return no, nil, err
	}
	x, err := (*Server)(h).use(ctx.Conn)
	if err != nil {
		return answer(base.StatusServiceUnavailable), nil, nil
	}
	select {
	case <-x.ready:
	case <-x.ended:
	case <-time.After(firstPicture):
	}
	return answer(base.StatusOK), x.stream, nil
}

// OnSetup chooses the stream.
func (h *handler) OnSetup(ctx *gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if no, err := h.admit(ctx.Conn, ctx.Request, ctx.Path, ctx.Query); no != nil {
		return no, nil, err
	}
	x, err := (*Server)(h).use(ctx.Conn)
	if err != nil {
		return answer(base.StatusServiceUnavailable), nil, nil
	}
	return answer(base.StatusOK), x.stream, nil
}

// OnPlay counts the player.
func (h *handler) OnPlay(ctx *gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	if _, playing := ctx.Session.UserData().(*access.Viewer); playing {
		return answer(base.StatusOK), nil
	}
	v, ok := h.who(ctx.Conn, ctx.Request, ctx.Query)
	if !ok {
		return answer(base.StatusUnauthorized), liberrors.ErrServerAuth{}
	}
	guest, ok := h.o.Admission.Enter(v, "RTSP")
	if !ok {
		return answer(base.StatusServiceUnavailable), nil
	}
	ctx.Session.SetUserData(guest)
	go func(s *gortsplib.ServerSession) {
		select {
		case <-guest.Kicked():
			s.Close()
		case <-guest.Left():
		}
	}(ctx.Session)
	if x, err := (*Server)(h).use(ctx.Conn); err == nil {
		x.reader.Key()
	}
	return answer(base.StatusOK), nil
}

// OnSessionClose gives the player's place up.
func (h *handler) OnSessionClose(ctx *gortsplib.ServerHandlerOnSessionCloseCtx) {
	if guest, playing := ctx.Session.UserData().(*access.Viewer); playing {
		guest.Leave()
	}
}

// OnConnClose ends the broadcast after the last connection.
func (h *handler) OnConnClose(ctx *gortsplib.ServerHandlerOnConnCloseCtx) {
	(*Server)(h).release(ctx.Conn)
}

// OnStreamWriteError keeps the library from printing that a player is slow.
func (h *handler) OnStreamWriteError(*gortsplib.ServerHandlerOnStreamWriteErrorCtx) {}
