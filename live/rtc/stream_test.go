package rtc

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/e2e"
)

func TestAnnexB(t *testing.T) {
	if got := annexB([]byte{7}, []byte{0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 3, 0, 0, 0, 9, 1}); !bytes.Equal(got, []byte{7, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 3}) {
		t.Errorf("%x", got)
	}
}

// Timestamps follow the capture, always rise, and continue when the clock is set back.
func TestMediaClock(t *testing.T) {
	var c mediaClock
	at := time.UnixMicro(1_700_000_000_123_456)
	first := c.at(at)
	if want := uint32(1_700_000_000_123_456 * 9 / 100 % (1 << 32)); first != want {
		t.Errorf("%d instead of %d", first, want)
	}
	for _, s := range []struct {
		after time.Duration
		want  uint32 // after the first
	}{
		{100 * time.Millisecond, 9000}, {100 * time.Millisecond, 9001}, {50 * time.Millisecond, 9002}, {200 * time.Millisecond, 18000},
		{-time.Hour, 18001}, {-time.Hour + time.Second, 18001 + 90000}, {0, 18001 + 3600*90000},
	} {
		if got := c.at(at.Add(s.after)) - first; got != s.want {
			t.Errorf("after %v: %d instead of %d", s.after, got, s.want)
		}
	}
}

func TestSenderClock(t *testing.T) {
	var c senderClock
	came := time.UnixMilli(5000)
	top := uint32(math.MaxUint32 - 10)
	for i, s := range []struct {
		time uint32
		want float64
	}{{top, 5000}, {top + 9000, 5100}, {top + 4500, 5050}, {top + 90000, 6000}} {
		if got := c.at(unit{time: s.time, came: came.Add(time.Duration(i) * time.Hour)}); math.Abs(got-s.want) > 1e-6 {
			t.Errorf("%d: %g instead of %g", i, got, s.want)
		}
	}
}

// An ordinary picture is sent at once; a large one is spread over time.
func TestPace(t *testing.T) {
	const bits = 8e6
	send := func(p *pace, bytes int) time.Duration {
		begin := time.Now()
		for range bytes / 1000 {
			e2e.Must(t, p.wait(t.Context(), 1000, bits))
		}
		return time.Since(begin)
	}
	var p pace
	if d := send(&p, 40_000); d > 15*time.Millisecond {
		t.Errorf("an ordinary picture takes %v", d)
	}
	if d := send(&pace{}, 250_000); d < 45*time.Millisecond || d > 200*time.Millisecond {
		t.Errorf("a quarter of a second's bits take %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&pace{free: time.Now().Add(time.Hour)}).wait(ctx, 1, bits); err == nil {
		t.Error("it waits for a player that has gone")
	}
}

type fixed int

func (f fixed) GetTargetBitrate() int { return int(f) }
func (fixed) AddStream(_ *interceptor.StreamInfo, w interceptor.RTPWriter) interceptor.RTPWriter {
	return w
}
func (fixed) WriteRTCP([]rtcp.Packet, interceptor.Attributes) error { return nil }
func (fixed) OnTargetBitrateChange(func(int))                       {}
func (fixed) GetStats() map[string]any                              { return nil }
func (fixed) Close() error                                          { return nil }

func TestRate(t *testing.T) {
	r := newRate()
	r.line = fixed(3e6)
	now := time.Now()
	report := func(share float64, times int) float64 {
		for range times {
			now = now.Add(time.Second)
			r.lost(now, share)
			r.lost(now, 1) // too soon to judge
		}
		return r.target()
	}
	if got := r.target(); got != firstRate {
		t.Errorf("begins with %g", got)
	}
	if got := report(0.05, 5); got != firstRate {
		t.Errorf("%g with few packets lost", got)
	}
	if got := report(0.3, 2); got > 0.8*firstRate {
		t.Errorf("%g with many packets lost", got)
	}
	if got := report(1, 50); got != minRate {
		t.Errorf("%g with all packets lost", got)
	}
	if got := report(0, 500); got != maxRate {
		t.Errorf("%g with none lost", got)
	}
	r.limit(1e6)
	r.limit(0)
	if got := r.target(); got != 1e6 {
		t.Errorf("%g for a player that takes 1e6", got)
	}
	r.limit(1e9)
	r.heard()
	if got := r.target(); got != 3e6 {
		t.Errorf("%g where the line is measured", got)
	}
}

// Lost packets are sent again, within the player's bitrate.
func TestFeedback(t *testing.T) {
	r := open(t, 1, nil, small)
	c := r.player("", false)
	c.connect("/whep")
	track := c.track()
	first, _, err := track.ReadRTP()
	e2e.Must(t, err)
	say := func(p rtcp.Packet) {
		t.Helper()
		e2e.Must(t, c.pc.WriteRTCP([]rtcp.Packet{p}))
	}
	ssrc := uint32(track.SSRC())
	say(&rtcp.TransportLayerNack{MediaSSRC: ssrc, Nacks: []rtcp.NackPair{{PacketID: first.SequenceNumber}}})
	for n := 0; ; n++ {
		p, _, err := track.ReadRTP()
		e2e.Must(t, err)
		if p.SequenceNumber == first.SequenceNumber {
			if !bytes.Equal(p.Payload, first.Payload) || p.Timestamp != first.Timestamp {
				t.Error("another packet is sent in its place")
			}
			break
		}
		if n > 300 {
			t.Fatal("a lost packet is not sent again")
		}
	}
	flow := func(d time.Duration) (bits float64) {
		for end := time.Now().Add(d); time.Now().Before(end); {
			p, _, err := track.ReadRTP()
			e2e.Must(t, err)
			bits += float64(8 * len(p.Payload))
		}
		return bits / d.Seconds()
	}
	before := flow(500 * time.Millisecond)
	say(&rtcp.ReceiverEstimatedMaximumBitrate{SSRCs: []uint32{ssrc}, Bitrate: minRate})
	flow(500 * time.Millisecond)
	if after := flow(time.Second); before < 2*minRate || after > 1.5*minRate {
		t.Errorf("%.0f bits a second became %.0f", before, after)
	}
	if c.pc.ConnectionState() != webrtc.PeerConnectionStateConnected {
		t.Error("it is cut off")
	}
}
