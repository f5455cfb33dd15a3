package rtsp

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/livetest"
	"vidfilter/live/livetest/sessions"
	"vidfilter/live/opus"
)

const token = "a-token-of-the-test"

// open serves the test picture until the test ends.
func open(t *testing.T, viewers int) (*Server, *access.Admission) {
	t.Helper()
	s, admission, _ := openInput(t, viewers, sessions.Pattern(live.PatternOptions{Width: 160, Height: 90, FPS: 30}))
	return s, admission
}

// openInput serves an input.
func openInput(t *testing.T, viewers int, in live.Input) (*Server, *access.Admission, *live.Session) {
	t.Helper()
	session, _, _ := sessions.Run(t, in)
	admission := access.New(access.Options{Token: token, MaxViewers: viewers})
	pool := coded.New(session, 1)
	s, err := Listen("127.0.0.1:0", Options{
		Encoders: pool, Sound: opus.New(session), Admission: admission,
		Hears: func() bool { st, _ := session.State(); return st.Sound },
	})
	e2e.Must(t, err)
	t.Cleanup(func() { s.Close(); pool.Close() })
	return s, admission, session
}

// player is a client that counts pictures.
type player struct {
	*gortsplib.Client
	pictures atomic.Int64
}

// play looks on; user is "" or "USER:PASSWORD@".
func play(t *testing.T, s *Server, user, path string) (p *player, err error) {
	t.Helper()
	u, err := base.ParseURL(fmt.Sprintf("rtsp://%s%s%s", user, s.Addr(), path))
	e2e.Must(t, err)
	tcp := gortsplib.ProtocolTCP
	p = &player{Client: &gortsplib.Client{Scheme: u.Scheme, Host: u.Host, Protocol: &tcp}}
	if err := p.Start(); err != nil {
		return nil, err
	}
	client := p
	t.Cleanup(client.Close)
	defer func() {
		if err != nil {
			client.Close()
		}
	}()
	desc, _, err := p.Describe(u)
	if err != nil {
		return nil, err
	}
	var h264 *format.H264
	media := desc.FindFormat(&h264)
	if sps, pps := h264.SafeParams(); len(sps) == 0 || len(pps) == 0 {
		t.Error("the description lacks the parameter sets")
	}
	decoder, err := h264.CreateDecoder()
	e2e.Must(t, err)
	if _, err := p.Setup(desc.BaseURL, media, 0, 0); err != nil {
		return nil, err
	}
	p.OnPacketRTP(media, h264, func(packet *rtp.Packet) {
		units, err := decoder.Decode(packet)
		if err != nil || len(units) == 0 {
			return
		}
		p.pictures.Add(1)
	})
	_, err = p.Play(nil)
	return p, err
}

func TestPlayers(t *testing.T) {
	s, admission := open(t, 2)
	view := access.ViewToken(token)
	first, err := play(t, s, "", "/live?token="+view)
	e2e.Must(t, err)
	e2e.Until(t, "pictures", func() bool { return first.pictures.Load() > 5 })
	second, err := play(t, s, "anybody:"+token+"@", "/live")
	e2e.Must(t, err)
	e2e.Until(t, "pictures for the second", func() bool { return second.pictures.Load() > 5 })
	all := admission.Viewers()
	if len(all) != 2 || all[0].Rights != access.View || all[1].Rights != access.Control || all[0].Transport != "RTSP" || !all[0].Address.IsLoopback() {
		t.Errorf("%+v", all)
	}
	if _, err := play(t, s, "", "/live?token="+view); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("one more than may: %v", err)
	}
	admission.Kick(all[0].ID, all[1])
	if err := first.Wait(); err == nil {
		t.Error("it goes on")
	}
	e2e.Until(t, "a free place", func() bool { return len(admission.Viewers()) == 1 })
	second.Close()
	e2e.Until(t, "the end of encoding", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.users) == 0 && s.broadcast == nil
	})
	again, err := play(t, s, "", "/live/?token="+view)
	e2e.Must(t, err)
	e2e.Until(t, "pictures later", func() bool { return again.pictures.Load() > 5 })
}

func TestRefusals(t *testing.T) {
	s, admission := open(t, 2)
	for address, want := range map[string]string{
		"/live": "401", "/live?token=wrong": "401", "/live?token=": "401", "/other?token=" + token: "404", "/?token=" + token: "404",
	} {
		if _, err := play(t, s, "", address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := play(t, s, "user:wrong@", "/live"); err == nil {
		t.Error("a wrong password")
	}
	if n := len(admission.Viewers()); n != 0 || s.broadcast != nil {
		t.Errorf("%d got in", n)
	}
}

// Close ends with players there.
func TestClose(t *testing.T) {
	s, admission := open(t, 2)
	p, err := play(t, s, "", "/live?token="+token)
	e2e.Must(t, err)
	e2e.Until(t, "pictures", func() bool { return p.pictures.Load() > 2 })
	s.Close()
	if err := p.Wait(); err == nil {
		t.Error("it goes on")
	}
	e2e.Until(t, "a free place", func() bool { return len(admission.Viewers()) == 0 })
}

// TestSound: a player of a file gets beeps when it gets their flashes. The library's reports, which
// bring them together exactly, come every ten seconds only.
func TestSound(t *testing.T) {
	path := livetest.Flashing(t)
	s, _, session := openInput(t, 2, sessions.Loop(path))
	e2e.Until(t, "sound", func() bool { st, _ := session.State(); return st.Sound })
	u, err := base.ParseURL(fmt.Sprintf("rtsp://%s/live?token=%s", s.Addr(), token))
	e2e.Must(t, err)
	tcp := gortsplib.ProtocolTCP
	c := &gortsplib.Client{Scheme: u.Scheme, Host: u.Host, Protocol: &tcp}
	e2e.Must(t, c.Start())
	t.Cleanup(c.Close)
	desc, _, err := c.Describe(u)
	e2e.Must(t, err)
	var h264 *format.H264
	var voice *format.Opus
	pictures, sound := desc.FindFormat(&h264), desc.FindFormat(&voice)
	if pictures == nil || sound == nil {
		t.Fatalf("%d media", len(desc.Medias))
	}
	e2e.Must(t, c.SetupAll(desc.BaseURL, desc.Medias))
	decoder, err := h264.CreateDecoder()
	e2e.Must(t, err)
	shown, err := decode.OpenStream("h264", livetest.Pool(t, 4), decode.StreamOptions{Threads: 1})
	e2e.Must(t, err)
	t.Cleanup(shown.Close)
	heard := livetest.NewBeeps(t)
	flashes, beeps := make(chan time.Time, 100), make(chan time.Time, 100)
	dark := false
	c.OnPacketRTP(pictures, h264, func(packet *rtp.Packet) {
		units, err := decoder.Decode(packet)
		if err != nil || len(units) == 0 {
			return
		}
		var data []byte
		for _, u := range units {
			data = append(append(data, 0, 0, 0, 1), u...)
		}
		f, err := shown.Decode(data, 0)
		if f == nil || err != nil {
			return
		}
		bright := livetest.Bright(f)
		f.Release()
		if bright && dark {
			flashes <- time.Now()
		}
		dark = !bright
	})
	c.OnPacketRTP(sound, voice, func(packet *rtp.Packet) {
		for _, at := range heard.Add(packet.Payload, 0) {
			beeps <- time.Now().Add(at)
		}
	})
	if _, err := c.Play(nil); err != nil {
		t.Fatal(err)
	}
	e2e.Until(t, "flashes and beeps", func() bool { return len(flashes) > 3 && len(beeps) > 3 })
	c.Close()
	close(flashes)
	close(beeps)
	var all []time.Time
	for f := range flashes {
		all = append(all, f)
	}
	var apart []time.Duration
	for b := range beeps {
		near := time.Hour
		for _, f := range all {
			if d := b.Sub(f); d.Abs() < near.Abs() {
				near = d
			}
		}
		apart = append(apart, near)
	}
	slices.Sort(apart)
	t.Logf("beeps after their flashes by %v", apart)
	if d := apart[len(apart)/2]; d.Abs() > 80*time.Millisecond {
		t.Errorf("beeps come %v after their flashes", d)
	}
}
