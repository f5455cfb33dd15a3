package rtc

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtcp"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/pipeline"
)

// shower decodes pictures.
type shower struct {
	t      testing.TB
	stream *decode.Stream
}

func newShower(t testing.TB, cpu *kernels.CPU) *shower {
	t.Helper()
	pool := pipeline.NewPool(cpu, 8)
	d, err := decode.OpenStream("h264", pool, decode.StreamOptions{Threads: 1})
	e2e.Must(t, err)
	t.Cleanup(func() { d.Close(); pool.Close() })
	return &shower{t, d}
}

// luma returns a picture's samples.
func (s *shower) luma(u unit) []byte {
	s.t.Helper()
	f, err := s.stream.Decode(u.data, 0)
	if err != nil || f == nil {
		s.t.Fatalf("a picture of %d bytes: %v, %v", len(u.data), f, err)
	}
	defer f.Release()
	if f.Width != 160 || f.Height != 90 {
		s.t.Fatalf("a picture of %dx%d", f.Width, f.Height)
	}
	var all []byte
	for y := range f.Height {
		all = append(all, f.Row(0, y)...)
	}
	return all
}

// A player sees the filtered pictures move, gets a key frame on request, and is gone with DELETE.
func TestPlay(t *testing.T) {
	for _, profile := range profiles() {
		for _, sound := range []bool{false, true} {
			if sound && profile != "" {
				continue // it knows no audio codec
			}
			t.Run(describe(profile, sound), func(t *testing.T) {
				r := open(t, 4, nil, small)
				c := r.player(profile, sound)
				c.connect("/whep")
				s, show := c.screen(), newShower(t, r.cpu)
				first := s.next()
				if !isKey(first.data) {
					t.Fatal("the first picture is no key frame")
				}
				wantBaseline := profile == "42e01f"
				if sps := bytes.Index(first.data, []byte{0, 0, 0, 1, 0x67}); sps < 0 || first.data[sps+5] != map[bool]byte{true: 66, false: 100}[wantBaseline] {
					t.Errorf("parameter sets: %x", first.data[:min(16, len(first.data))])
				}
				before, at := show.luma(first), first.time
				for range 10 {
					u := s.next()
					now := show.luma(u)
					if bytes.Equal(now, before) || int32(u.time-at) <= 0 || isKey(u.data) {
						t.Errorf("the picture stands still, or %d came behind %d", u.time, at)
					}
					before, at = now, u.time
				}
				if s.delay == 0 {
					t.Error("the player is not asked to show pictures at once")
				}
				c.ask(s)
				for n := 0; !isKey(s.next().data); n++ {
					if n == 120 {
						t.Fatal("no key frame, though one was asked for")
					}
				}
				r.viewers(1)
				if resp := r.do("DELETE", c.location, ""); resp.StatusCode != http.StatusOK {
					t.Errorf("DELETE: %s", resp.Status)
				}
				if n := len(r.admission.Viewers()); n != 0 {
					t.Errorf("%d viewers behind DELETE", n)
				}
				r.refused(http.StatusNotFound, "no such session", "DELETE", c.location, "")
			})
		}
	}
}

// ask asks for a key frame.
func (c *client) ask(s *screen) {
	c.t.Helper()
	e2e.Must(c.t, c.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(s.track.SSRC())}}))
}

// A still picture comes again as a key frame on request, also twice in short succession.
func TestPlayFrozen(t *testing.T) {
	r := open(t, 1, nil, small)
	c := r.player("", false)
	c.connect("/whep")
	s := c.screen()
	s.next()
	r.session.Freeze(true)
	time.Sleep(100 * time.Millisecond)
	for range 3 {
		c.ask(s)
		for !isKey(s.next().data) {
		}
	}
}

// Players of one profile get the same bytes, and play on after one leaves. Another profile has its
// own encoder.
func TestPlayersShare(t *testing.T) {
	r := open(t, 4, nil, small)
	a, b, other := r.player("", false), r.player("", false), r.player("42e01f", false)
	var came [3]map[string]bool
	var screens [3]*screen
	for i, c := range []*client{a, b, other} {
		c.connect("/whep")
		screens[i], came[i] = c.screen(), map[string]bool{}
	}
	common := func(x, y map[string]bool) (n int) {
		for data := range x {
			if y[data] {
				n++
			}
		}
		return n
	}
	for n := 0; common(came[0], came[1]) < 20; n++ {
		if n == 300 {
			t.Fatalf("%d pictures in common", common(came[0], came[1]))
		}
		for i, s := range screens {
			came[i][string(s.next().data)] = true
		}
	}
	if n := common(came[0], came[2]); n > 0 {
		t.Errorf("%d pictures of another profile in common", n)
	}
	_ = a.pc.Close()
	r.viewers(2)
	for range 5 {
		screens[1].next()
	}
}

// No more players than --max-viewers; one that leaves makes room.
func TestPlayersAreCounted(t *testing.T) {
	r := open(t, 2, nil, small)
	a, b := r.player("", false), r.player("", false)
	a.connect("/whep")
	b.connect("/whep")
	a.screen().next()
	third := r.player("", false)
	resp := r.do("POST", "/whep", third.offer())
	if text := said(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(text, "maximum of viewers") {
		t.Errorf("%s: %s", resp.Status, text)
	}
	_ = a.pc.Close()
	r.viewers(1)
	again := r.player("", false)
	again.connect("/whep")
	again.screen().next()
}

// Close ends players, whether they have connected or not.
func TestClose(t *testing.T) {
	r := open(t, 4, nil, small)
	a, b := r.player("", false), r.player("", false)
	a.connect("/whep")
	a.screen().next()
	if resp := r.do("POST", "/whep", b.offer()); resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status)
	}
	within(t, "Close hangs", r.rtc.Close)
	if n := len(r.admission.Viewers()); n != 0 {
		t.Errorf("%d viewers behind Close", n)
	}
	r.refused(http.StatusServiceUnavailable, "ending", "POST", "/whep", r.player("", false).offer())
}

// A player that is sent away is cut off.
func TestKicked(t *testing.T) {
	r := open(t, 1, nil, small)
	c := r.player("", false)
	c.connect("/whep")
	c.screen().next()
	g := r.admission.Viewers()[0]
	if g.Transport != "WHEP" || g.Rights != access.Control || !g.Address.IsLoopback() {
		t.Errorf("%+v", g)
	}
	r.admission.Kick(g.ID, g)
	r.viewers(0)
}

// A view token is valid for a player and not for a camera.
func TestLookOnly(t *testing.T) {
	r := open(t, 1, remote(), small)
	bearer := "Bearer " + access.ViewToken(token)
	r.refused(http.StatusForbidden, "look on only", "POST", "/whip", "v=0", "Authorization", bearer)
	r.refused(http.StatusForbidden, "look on only", "DELETE", "/whip/x", "", "Authorization", bearer)
	if resp := r.do("POST", "/whep", r.player("", false).offer(), "Authorization", bearer); resp.StatusCode != http.StatusCreated {
		t.Errorf("the player: %s", resp.Status)
	}
}

// BenchmarkLatency measures from the capture of a picture to the end of its decoding by the peer.
func BenchmarkLatency(b *testing.B) {
	r := open(b, 1, nil, live.PatternOptions{Width: 1280, Height: 720, FPS: 30})
	c := r.player("", false)
	c.connect("/whep")
	s := c.screen()
	pool := pipeline.NewPool(r.cpu, 8)
	d, err := decode.OpenStream("h264", pool, decode.StreamOptions{Threads: 1})
	e2e.Must(b, err)
	defer pool.Close()
	defer d.Close()
	var w live.Window
	var got, decoded, bits []float64
	for n := 0; b.Loop() || n < 150; n++ {
		u := s.next()
		came := time.Now()
		f, err := d.Decode(u.data, 0)
		e2e.Must(b, err)
		f.Release()
		since := func(t time.Time) float64 { return float64(int32(uint32(t.UnixMicro()*9/100)-u.time)) / 90 }
		if n > 30 {
			got, decoded, bits = append(got, since(came)), append(decoded, since(time.Now())), append(bits, float64(8*len(u.data)))
		}
		w.Add(time.Now(), 0)
	}
	b.ReportMetric(median(got), "ms-to-arrival")
	b.ReportMetric(median(decoded), "ms-to-decoded")
	b.ReportMetric(w.Rate(time.Now()), "pictures/s")
	b.ReportMetric(30*median(bits)/1e6, "Mbit/s")
	b.ReportMetric(r.session.Figures().Filter.Seconds()*1000, "ms-filter")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
