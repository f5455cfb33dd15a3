package rtc

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/e2e"
	"vidfilter/live"
	"vidfilter/live/livetest"
)

// late is how much later than its pictures sound arrives in the test.
const late = 150 * time.Millisecond

// relay is a camera that forwards the packets and reports of a player.
type relay struct {
	*client
	from *client
	out  map[webrtc.RTPCodecType]*webrtc.TrackLocalStaticRTP
	ssrc map[webrtc.RTPCodecType]uint32
	wish atomic.Bool // for a key frame
}

func (r *rig) relay(from *client) *relay {
	r.t.Helper()
	x := &relay{client: &client{rig: r}, from: from, out: map[webrtc.RTPCodecType]*webrtc.TrackLocalStaticRTP{}, ssrc: map[webrtc.RTPCodecType]uint32{}}
	var media webrtc.MediaEngine
	e2e.Must(r.t, media.RegisterDefaultCodecs())
	e := webrtc.SettingEngine{LoggerFactory: silence}
	e.SetIncludeLoopbackCandidate(true)
	api := webrtc.NewAPI(webrtc.WithMediaEngine(&media), webrtc.WithInterceptorRegistry(&interceptor.Registry{}), webrtc.WithSettingEngine(e))
	var err error
	x.pc, err = api.NewPeerConnection(webrtc.Configuration{})
	e2e.Must(r.t, err)
	r.t.Cleanup(func() { _ = x.pc.Close() })
	for kind, codec := range map[webrtc.RTPCodecType]string{webrtc.RTPCodecTypeVideo: webrtc.MimeTypeH264, webrtc.RTPCodecTypeAudio: webrtc.MimeTypeOpus} {
		track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: codec}, kind.String(), "test")
		e2e.Must(r.t, err)
		out, err := x.pc.AddTrack(track)
		e2e.Must(r.t, err)
		x.out[kind], x.ssrc[kind] = track, uint32(out.GetParameters().Encodings[0].SSRC)
		go func() {
			for {
				all, _, err := out.ReadRTCP()
				if err != nil {
					return
				}
				for _, p := range all {
					if _, ok := p.(*rtcp.PictureLossIndication); ok {
						x.wish.Store(true)
					}
				}
			}
		}()
	}
	return x
}

// run relays a track until its end.
func (x *relay) run(t *webrtc.TrackRemote) {
	kind := t.Kind()
	queue := make(chan *rtp.Packet, 1000)
	go func() { // sound waits
		for {
			select {
			case p := <-queue:
				_ = x.out[kind].WriteRTP(p)
			case <-x.ctx.Done():
				return
			}
		}
	}()
	for {
		p, _, err := t.ReadRTP()
		if err != nil {
			return
		}
		p.Extension, p.Extensions = false, nil
		if kind == webrtc.RTPCodecTypeVideo {
			queue <- p
		} else {
			time.AfterFunc(late, func() { queue <- p })
		}
		if x.wish.Swap(false) {
			_ = x.from.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(t.SSRC())}})
		}
		if said, ok := x.from.reports.LoadAndDelete(uint32(t.SSRC())); ok {
			report := *said.(*rtcp.SenderReport)
			report.SSRC, report.Reports = x.ssrc[kind], nil
			_ = x.pc.WriteRTCP([]rtcp.Packet{&report})
		}
	}
}

// TestFilmSound: sound sent by WHIP is where its pictures are, by the sender's reports, though it
// comes later.
func TestFilmSound(t *testing.T) {
	source := playFile(t, livetest.Flashing(t))
	source.until("sound", func(st live.State) bool { return st.Sound })
	r := open(t, 4, remote(), small)
	player := source.player("", true)
	x := r.relay(player)
	x.connect("/whip")
	player.connect("/whep")
	for range 2 {
		go x.run(player.track())
	}
	w, from := r.session.Watch(64), r.sound.Join()
	defer w.Close()
	defer from.Close()
	heard := livetest.NewBeeps(t)
	const most = 6 // the first ones come before the reports
	var flashes, beeps []time.Duration
	for dark := false; len(flashes) < most; {
		pair, err := w.Next(r.ctx)
		e2e.Must(t, err)
		bright := livetest.Bright(pair.Filtered)
		if bright && dark {
			flashes = append(flashes, pair.At)
		}
		dark = !bright
		pair.Release()
		for more := true; more; {
			select {
			case p := <-from.Packets():
				beeps = append(beeps, heard.Add(p.Data, p.At)...)
			default:
				more = false
			}
		}
	}
	if st, _ := r.session.State(); !st.Sound {
		t.Error("the session does not say that there is sound")
	}
	var apart []time.Duration
	for _, f := range flashes[most/2:] {
		near := time.Hour
		for _, b := range beeps {
			if d := b - f; d.Abs() < near.Abs() {
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
