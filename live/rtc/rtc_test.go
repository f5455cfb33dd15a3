package rtc

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/internal/site"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/livetest/sessions"
	"vidfilter/live/opus"
	"vidfilter/live/web"
)

const token = "the-token"

// rig is a session with its page and a Server, on the loopback interface.
type rig struct {
	t         testing.TB
	ctx       context.Context
	url       string
	cpu       *kernels.CPU
	session   *live.Session
	sound     *opus.Stream
	admission *access.Admission
	web       *web.Server
	rtc       *Server
}

// open starts a session, of the test picture unless remote is given.
func open(t testing.TB, viewers int, remote *live.Remote, size live.PatternOptions, servers ...ICEServer) *rig {
	t.Helper()
	in := sessions.Pattern(size)
	if remote != nil {
		in = live.Input{Name: "browser", Kind: live.Browser, Again: true, Open: remote.Open}
	}
	return openInput(t, viewers, in, remote, servers...)
}

// openInput starts a session of an input.
func openInput(t testing.TB, viewers int, in live.Input, remote *live.Remote, servers ...ICEServer) *rig {
	t.Helper()
	r := &rig{t: t}
	r.session, r.cpu, _ = sessions.Run(t, in)
	admission := access.New(access.Options{Token: token, MaxViewers: viewers})
	pool := coded.New(r.session, 1)
	r.web = web.New(r.session, web.Options{
		Input: in, Admission: admission, Encoders: pool, Remote: remote, Command: func(live.FilterSettings) string { return "vidfilter" },
	})
	r.sound = opus.New(r.session)
	r.rtc = New(Options{Session: r.session, Encoders: pool, Sound: r.sound, Remote: remote, Input: in.Name, Servers: servers, Enter: func(ctx context.Context) (*access.Viewer, bool) {
		return admission.Enter(web.VisitorOf(ctx), "WHEP")
	}})
	for path, needs := range Paths() {
		r.web.Handle(path, needs, MaxOffer, r.rtc.Handler())
	}
	r.admission = admission
	serving, shut := context.WithCancel(context.Background())
	at, wait, err := site.Serve(serving, "127.0.0.1:0", r.web.Handler(), nil, r.rtc.Aside)
	e2e.Must(t, err)
	r.url = "http://" + at.String()
	e2e.Must(t, r.rtc.Listen(at))
	var stop context.CancelFunc
	r.ctx, stop = context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(func() {
		within(t, "the server does not end", func() { r.rtc.Close(); r.web.Close(); pool.Close() })
		shut()
		_ = wait()
		stop()
	})
	return r
}

// within fails a test that hangs.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		t.Fatal(what)
	}
}

// do sends a request with the token; more are pairs of header names and values.
func (r *rig) do(method, path, body string, more ...string) *http.Response {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.ctx, method, r.url+path, strings.NewReader(body))
	e2e.Must(r.t, err)
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Content-Type", "application/sdp")
	for i := 0; i < len(more); i += 2 {
		q.Header.Set(more[i], more[i+1])
		if more[i+1] == "" {
			q.Header.Del(more[i])
		}
	}
	resp, err := http.DefaultClient.Do(q)
	e2e.Must(r.t, err)
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// said returns the body of a response.
func said(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	e2e.Must(t, err)
	return string(b)
}

// refused expects a sentence.
func (r *rig) refused(code int, words, method, path, body string, more ...string) {
	r.t.Helper()
	resp := r.do(method, path, body, more...)
	if text := said(r.t, resp); resp.StatusCode != code || !strings.Contains(text, words) || strings.Count(text, "\n") != 1 {
		r.t.Errorf("%s %s: %s: %q; want %d and %q", method, path, resp.Status, text, code, words)
	}
}

// viewers waits for a count of n viewers.
func (r *rig) viewers(n int) {
	r.t.Helper()
	e2e.Until(r.t, fmt.Sprintf("%d viewers", n), func() bool { return len(r.admission.Viewers()) == n })
}

// client is the other end.
type client struct {
	*rig
	pc       *webrtc.PeerConnection
	location string
	tracks   chan *webrtc.TrackRemote
	reports  sync.Map // the latest *rtcp.SenderReport by SSRC
}

// newClient returns a client with pion's formats, or with one H.264 profile alone.
func (r *rig) newClient(profile string) *client {
	r.t.Helper()
	return r.newClientBy(profile, func(*webrtc.SettingEngine) {}, webrtc.Configuration{})
}

// newClientBy returns one with settings of its own.
func (r *rig) newClientBy(profile string, set func(*webrtc.SettingEngine), servers webrtc.Configuration) *client {
	r.t.Helper()
	var media webrtc.MediaEngine
	var err error
	if profile == "" {
		err = media.RegisterDefaultCodecs()
	} else {
		err = media.RegisterCodec(codecOf(format{payload: 100, fmtp: "packetization-mode=1;profile-level-id=" + profile}), webrtc.RTPCodecTypeVideo)
	}
	e2e.Must(r.t, err)
	var registry interceptor.Registry
	e2e.Must(r.t, webrtc.RegisterDefaultInterceptors(&media, &registry))
	e2e.Must(r.t, media.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: playoutDelayURI}, webrtc.RTPCodecTypeVideo))
	e := webrtc.SettingEngine{LoggerFactory: silence}
	e.SetIncludeLoopbackCandidate(true)
	e.SetIPFilter(net.IP.IsLoopback)
	e.DisableSRTPReplayProtection(true) // so that the test sees retransmissions
	e.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	set(&e)
	c := &client{rig: r, tracks: make(chan *webrtc.TrackRemote, 4)}
	api := webrtc.NewAPI(webrtc.WithMediaEngine(&media), webrtc.WithInterceptorRegistry(&registry), webrtc.WithSettingEngine(e))
	c.pc, err = api.NewPeerConnection(servers)
	e2e.Must(r.t, err)
	r.t.Cleanup(func() { _ = c.pc.Close() })
	c.pc.OnTrack(func(t *webrtc.TrackRemote, from *webrtc.RTPReceiver) {
		c.tracks <- t
		for {
			all, _, err := from.ReadRTCP()
			if err != nil {
				return
			}
			for _, p := range all {
				if x, ok := p.(*rtcp.SenderReport); ok {
					c.reports.Store(x.SSRC, x)
				}
			}
		}
	})
	return c
}

// offer returns an offer for the tracks added so far.
func (c *client) offer() string {
	c.t.Helper()
	gathered := webrtc.GatheringCompletePromise(c.pc)
	o, err := c.pc.CreateOffer(nil)
	if err == nil {
		err = c.pc.SetLocalDescription(o)
	}
	e2e.Must(c.t, err)
	<-gathered
	return c.pc.LocalDescription().SDP
}

// connect exchanges offer and answer.
func (c *client) connect(path string) {
	c.t.Helper()
	resp := c.do("POST", path, c.offer())
	answer := said(c.t, resp)
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Content-Type") != "application/sdp" {
		c.t.Fatalf("%s: %s", resp.Status, answer)
	}
	c.location = resp.Header.Get("Location")
	if !strings.HasPrefix(c.location, path+"/") {
		c.t.Fatalf("a session at %q", c.location)
	}
	if err := c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		c.t.Fatalf("%v\n%s", err, answer)
	}
}

// player offers to receive video, and audio if asked to.
func (r *rig) player(profile string, sound bool) *client {
	r.t.Helper()
	c := r.newClient(profile)
	c.watch(sound)
	return c
}

// watch offers to receive.
func (c *client) watch(sound bool) {
	c.t.Helper()
	down := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
	if sound {
		if _, err := c.pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio, down); err != nil {
			c.t.Fatal(err)
		}
	}
	if _, err := c.pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, down); err != nil {
		c.t.Fatal(err)
	}
}

// track waits for the server's track.
func (c *client) track() *webrtc.TrackRemote {
	c.t.Helper()
	select {
	case t := <-c.tracks:
		return t
	case <-c.ctx.Done():
		c.t.Fatalf("no track; the connection is %s", c.pc.ConnectionState())
		return nil
	}
}

// screen decodes the pictures of a track.
type screen struct {
	c     *client
	track *webrtc.TrackRemote
	a     assembler
	ready []unit
	delay int // of the header extension
}

func (c *client) screen() *screen { return &screen{c: c, track: c.track()} }

// next returns the next encoded picture.
func (s *screen) next() unit {
	s.c.t.Helper()
	for len(s.ready) == 0 {
		_ = s.track.SetReadDeadline(time.Now().Add(10 * time.Second))
		p, _, err := s.track.ReadRTP()
		e2e.Must(s.c.t, err)
		for _, id := range p.GetExtensionIDs() {
			if b := p.GetExtension(id); len(b) == 3 && string(b) == "\x00\x00\x00" {
				s.delay++
			}
		}
		s.ready, _ = s.a.push(time.Now(), p)
	}
	u := s.ready[0]
	s.ready = s.ready[1:]
	return u
}

func remote() *live.Remote {
	return live.NewRemote(decode.StreamOptions{MaxPixels: 1 << 22, Threads: 1}, nil)
}

var small = live.PatternOptions{Width: 160, Height: 90, FPS: 60}

func profiles() []string { return []string{"", "42e01f", "640c1f"} }

func describe(profile string, sound bool) string {
	return fmt.Sprintf("profile=%s,sound=%v", profile, sound)
}
