package rtc

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// sender is a client that sends moving pictures.
type sender struct {
	*client
	track *webrtc.TrackLocalStaticRTP
	wish  atomic.Bool // a key frame was asked for
	wants atomic.Int64
	lose  atomic.Bool // a packet of the next picture
}

func (r *rig) camera(profile string) *sender {
	r.t.Helper()
	s := &sender{client: r.newClient(profile)}
	var err error
	s.track, err = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264}, "camera", "test")
	e2e.Must(r.t, err)
	out, err := s.pc.AddTrack(s.track)
	e2e.Must(r.t, err)
	go func() {
		for {
			all, _, err := out.ReadRTCP()
			if err != nil {
				return
			}
			for _, p := range all {
				if _, ok := p.(*rtcp.PictureLossIndication); ok {
					s.wish.Store(true)
					s.wants.Add(1)
				}
			}
		}
	}()
	return s
}

// film sends 60 pictures a second until ctx ends. Their brightness encodes their number.
func (s *sender) film(ctx context.Context, cpu *kernels.CPU) {
	pool := pipeline.NewPool(cpu, 2)
	defer pool.Close()
	p, err := preview.New(preview.Options{Kind: preview.AVC, View: preview.ViewOriginal, FrameRate: 60, Threads: 1})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer p.Close()
	var coded stream
	number := uint16(65500)
	for n := 0; ctx.Err() == nil; n++ {
		f, err := pool.NewFrame(ctx, pipeline.Format{Layout: pipeline.YUV420P, Width: 320, Height: 180, Matrix: pipeline.BT709})
		if err != nil {
			return
		}
		noise := rand.New(rand.NewPCG(uint64(n), 1))
		scene.EachSample(f, func(plane, x, y int) byte { return byte(40 + n%160 + noise.IntN(24)) })
		packet, err := p.Encode(f, f, preview.Stamp{Time: float64(n) * 1000 / 60}, s.wish.Swap(false))
		f.Release()
		if err != nil {
			s.t.Error(err)
			return
		}
		if packet.Config != nil {
			coded.configure(packet.Config)
		}
		var b []byte
		if packet.Key {
			b = append(b, coded.sets...)
		}
		number = s.write(annexB(b, packet.Data), number, uint32(n*clockRate/60))
		select {
		case <-time.After(time.Second / 60):
		case <-ctx.Done():
		}
	}
}

func (s *sender) write(picture []byte, number uint16, at uint32) uint16 {
	all := (&codecs.H264Payloader{}).Payload(300, picture)
	lose := -1
	if s.lose.Swap(false) {
		lose = len(all) / 2
	}
	for i, b := range all {
		h := rtp.Header{Version: 2, Marker: i == len(all)-1, SequenceNumber: number, Timestamp: at}
		if i != lose {
			_ = s.track.WriteRTP(&rtp.Packet{Header: h, Payload: b})
		}
		number++
	}
	return number
}

// Pictures sent by WHIP go through the filter, also after a loss.
func TestFilm(t *testing.T) {
	r := open(t, 4, remote(), small)
	c := r.camera("")
	c.connect("/whip")
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan struct{})
	go func() { defer close(done); c.film(ctx, r.cpu) }()
	defer func() { cancel(); <-done }()
	watch := r.session.Watch(1)
	defer watch.Close()
	stamp := 0.0
	look := func(what string) {
		t.Helper()
		pair, err := watch.Next(r.ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer pair.Release()
		if f := pair.Filtered; f.Width != 320 || f.Height != 180 || pair.Stamp <= stamp || !pair.Foreign || pair.Original.Format != f.Format {
			t.Errorf("%s: %v at %.1f behind %.1f", what, f.Format, pair.Stamp, stamp)
		}
		if before, after := spread(pair.Original), spread(pair.Filtered); after >= before {
			t.Errorf("%s: noise of %.1f became %.1f", what, before, after)
		}
		stamp = pair.Stamp
	}
	for range 20 {
		look("at first")
	}
	if late := live.Milliseconds(time.Now()) - stamp; late < -100 || late > 2000 {
		t.Errorf("the picture is stamped %.0f ms ago", late)
	}
	c.lose.Store(true)
	for n := 0; c.wants.Load() == 0; n++ {
		look("behind a lost packet")
		if n > 200 {
			t.Fatal("no key frame is asked for")
		}
	}
	for range 20 {
		look("after that")
	}
	other := r.camera("")
	r.refused(http.StatusConflict, "another page sends its camera", "POST", "/whip", other.offer())
	if resp := r.do("DELETE", strings.Replace(c.location, "whip", "whep", 1), ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a camera is no player: %s", resp.Status)
	}
	if resp := r.do("DELETE", c.location, ""); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	other = r.camera("4d401f")
	other.connect("/whip")
	if n := len(r.admission.Viewers()); n != 0 {
		t.Errorf("cameras count as %d viewers", n)
	}
}

// spread measures the difference of samples within a row.
func spread(f *pipeline.Frame) (sum float64) {
	row := f.Row(0, f.Height/2)
	for x := range len(row) - 1 {
		d := float64(row[x]) - float64(row[x+1])
		sum += d * d
	}
	return sum
}

// A sender that vanishes makes room, and the page gets the reason.
func TestFilmIsCutOff(t *testing.T) {
	cam := remote()
	r := open(t, 4, cam, small)
	c := r.camera("")
	c.connect("/whip")
	if cam.Wanted() {
		t.Error("a camera is still wanted")
	}
	for c.pc.ConnectionState() != webrtc.PeerConnectionStateConnected {
		if r.ctx.Err() != nil {
			t.Fatal("the camera does not connect")
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = c.pc.Close()
	for !cam.Wanted() {
		if r.ctx.Err() != nil {
			t.Fatal("the camera never goes")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if st, _ := r.session.State(); st.Status != live.Waiting || !strings.Contains(st.Message, "lost") {
		t.Errorf("%+v", st)
	}
}
