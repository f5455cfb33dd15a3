package rtc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"vidfilter/live"
	"vidfilter/live/livetest"
	"vidfilter/live/livetest/sessions"
)

// hearing receives a track of sound in the background.
type hearing struct {
	track   *webrtc.TrackRemote
	packets chan *rtp.Packet
}

// both waits for the tracks of pictures and sound.
func (c *client) both() (*screen, *hearing) {
	c.t.Helper()
	var s *screen
	var h *hearing
	for s == nil || h == nil {
		switch t := c.track(); t.Kind() {
		case webrtc.RTPCodecTypeVideo:
			s = &screen{c: c, track: t}
		default:
			h = &hearing{t, make(chan *rtp.Packet, 1000)}
			go func() {
				defer close(h.packets)
				for {
					p, _, err := t.ReadRTP()
					if err != nil {
						return
					}
					h.packets <- p
				}
			}()
		}
	}
	return s, h
}

// when returns the sender's time of an RTP timestamp, as its latest report has it.
func (c *client) when(ssrc webrtc.SSRC, at uint32, rate int) time.Time {
	c.t.Helper()
	for {
		if x, ok := c.reports.Load(uint32(ssrc)); ok {
			r := x.(*rtcp.SenderReport)
			const since1900 = 2208988800
			then := time.Unix(int64(r.NTPTime>>32)-since1900, int64(r.NTPTime&(1<<32-1)*1e9>>32))
			return then.Add(time.Duration(int32(at-r.RTPTime)) * time.Second / time.Duration(rate))
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-c.ctx.Done():
			c.t.Fatal("no sender report")
		}
	}
}

func playFile(t *testing.T, path string) *rig {
	t.Helper()
	return openInput(t, 4, sessions.Loop(path), nil)
}

// until waits for a state of the session.
func (r *rig) until(what string, f func(live.State) bool) {
	r.t.Helper()
	for {
		st, changed := r.session.State()
		if f(st) {
			return
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
			r.t.Fatalf("never: %s", what)
		}
	}
}

// TestPlaySound: by the sender's reports, beeps are where their flashes are.
func TestPlaySound(t *testing.T) {
	r := playFile(t, livetest.Flashing(t))
	r.until("sound", func(st live.State) bool { return st.Sound })
	c := r.player("", true)
	c.connect("/whep")
	s, h := c.both()
	show, heard := newShower(t, r.cpu), livetest.NewBeeps(t)
	var flashes []uint32
	for dark := false; len(flashes) < 5; {
		u := s.next()
		luma := show.luma(u)
		bright := luma[len(luma)/2] > 128
		if bright && dark {
			flashes = append(flashes, u.time)
		}
		dark = !bright
	}
	var beeps []time.Time
	for len(beeps) < 4 {
		p := <-h.packets
		for _, at := range heard.Add(p.Payload, 0) {
			beeps = append(beeps, c.when(h.track.SSRC(), p.Timestamp+uint32(at*soundRate/time.Second), soundRate))
		}
	}
	var apart []time.Duration
	for _, b := range beeps {
		near := time.Hour
		for _, f := range flashes {
			if d := b.Sub(c.when(s.track.SSRC(), f, clockRate)); d.Abs() < near.Abs() {
				near = d
			}
		}
		apart = append(apart, near)
	}
	slices.Sort(apart)
	t.Logf("beeps after their flashes by %v", apart)
	if d := apart[len(apart)/2]; d.Abs() > 50*time.Millisecond {
		t.Errorf("beeps come %v after their flashes", d)
	}
}

// TestAudioAnswers: the answer accepts Opus that the player receives in one bundle with the
// pictures.
func TestAudioAnswers(t *testing.T) {
	r := playFile(t, livetest.Flashing(t))
	r.until("sound", func(st live.State) bool { return st.Sound })
	player := strings.ReplaceAll(obs, "sendonly", "recvonly")
	for name, c := range map[string]struct {
		old, new, want string
	}{
		"both":        {"", "", "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"},
		"apart":       {"BUNDLE 0 1", "BUNDLE 1", "m=audio 0 "},
		"no bundle":   {"a=group:BUNDLE 0 1\r\n", "", "m=audio 0 "},
		"other codec": {"opus/48000/2", "PCMU/8000", "m=audio 0 "},
		"sends":       {"a=mid:0\r\na=recvonly", "a=mid:0\r\na=sendonly", "m=audio 0 "},
	} {
		offer := player
		if c.old != "" {
			offer = strings.ReplaceAll(player, c.old, c.new)
		}
		resp := r.do("POST", "/whep", offer)
		answer := said(t, resp)
		if resp.StatusCode != 201 || !strings.Contains(answer, c.want) || strings.Contains(c.want, "audio 9") != strings.Contains(answer, "BUNDLE 0 1") {
			t.Errorf("%s: %s\n%s", name, resp.Status, answer)
		}
		r.do("DELETE", resp.Header.Get("Location"), "")
	}
}
