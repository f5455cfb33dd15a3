package rtc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/wake"
	"vidfilter/live"
)

// camera is a sender whose pictures are the session's.
type camera struct {
	peer   *peer
	feed   *live.Feed
	tracks chan *webrtc.TrackRemote // the first of pictures
	voices chan *webrtc.TrackRemote // the first of sound
	sync   lipSync
	asked  time.Time // for a key frame
	mu     sync.Mutex
}

// newCamera prepares the answer to a camera's offer.
func (s *Server) newCamera(o offer) (c *camera, err error) {
	if s.o.Remote == nil {
		return nil, refuse(http.StatusConflict, "vidfilter shows %s and takes no camera: start it with -i browser", s.o.Input)
	}
	formats, err := o.toReceive()
	if err != nil {
		return nil, err
	}
	c = &camera{tracks: make(chan *webrtc.TrackRemote, 1), voices: make(chan *webrtc.TrackRemote, 1)}
	if c.peer, err = s.newPeer(formats, o.used, equipCamera); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.peer.pc.Close()
		}
	}()
	c.peer.pc.OnTrack(c.arrived)
	kinds := []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo}
	if o.used != nil {
		kinds = append(kinds, webrtc.RTPCodecTypeAudio)
	}
	for _, kind := range kinds {
		if _, err = c.peer.pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
			return nil, err
		}
	}
	if c.feed, err = s.o.Remote.Connect("h264", 0, o.used != nil); errors.Is(err, live.ErrTaken) {
		err = refuse(http.StatusConflict, "%v", err)
	}
	return c, err
}

// arrived takes a track and, until its end, the sender's reports on it. One of each kind is enough.
func (c *camera) arrived(t *webrtc.TrackRemote, from *webrtc.RTPReceiver) {
	tracks, clock := c.tracks, &c.sync.pictures
	if t.Kind() == webrtc.RTPCodecTypeAudio {
		tracks, clock = c.voices, &c.sync.sound
	}
	select {
	case tracks <- t:
	default:
		return
	}
	for {
		all, _, err := from.ReadRTCP()
		if err != nil {
			return
		}
		for _, p := range all {
			if r, ok := p.(*rtcp.SenderReport); ok && r.SSRC == uint32(t.SSRC()) {
				c.sync.report(clock, r)
			}
		}
	}
}

// equipCamera adds reports, bandwidth feedback, and requests for lost packets.
func equipCamera(media *webrtc.MediaEngine, registry *interceptor.Registry) error {
	reports, err := report.NewReceiverInterceptor(report.WithReceiverLoggerFactory(silence))
	if err != nil {
		return err
	}
	registry.Add(reports)
	// A packet that has not come within missing is given up.
	again, err := nack.NewGeneratorInterceptor(nack.GeneratorInterval(missing/6), nack.GeneratorMaxNacksPerPacket(4),
		nack.WithGeneratorLoggerFactory(silence))
	if err != nil {
		return err
	}
	registry.Add(again)
	// The extensions also map packets to sections.
	if err := webrtc.ConfigureSimulcastExtensionHeaders(media); err != nil {
		return err
	}
	return webrtc.ConfigureTWCCSenderWithOptions(media, registry, twcc.WithLoggerFactory(silence))
}

// waiting is how many pictures may wait for the decoder.
const waiting = 4

// run takes pictures until ctx or their source ends.
func (c *camera) run(ctx context.Context) {
	var track *webrtc.TrackRemote
	select {
	case track = <-c.tracks:
	case <-time.After(patience):
		return
	case <-ctx.Done():
		return
	}
	defer context.AfterFunc(ctx, func() { _ = track.SetReadDeadline(time.Now()) })()
	units := make(chan unit, waiting)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(units)
	wg.Go(func() { c.decode(track, units) })
	listening, end := context.WithCancel(ctx)
	wg.Go(func() { c.listen(listening) })
	defer end()
	c.read(ctx, track, units)
}

// read puts packets together.
func (c *camera) read(ctx context.Context, track *webrtc.TrackRemote, units chan<- unit) {
	var a assembler
	for {
		if err := track.SetReadDeadline(time.Now().Add(gone)); err != nil || ctx.Err() != nil {
			return
		}
		p, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		all, lost := a.push(time.Now(), p)
		for _, u := range all {
			select {
			case units <- u:
			default: // the decoder is late: restart at a key frame
				a.skip, lost = true, true
			}
		}
		if lost {
			c.askKey(track)
		}
	}
}

// decode hands pictures to the session.
func (c *camera) decode(track *webrtc.TrackRemote, units <-chan unit) {
	for u := range units {
		err := c.feed.Push(u.data, c.sync.picture(u))
		if errors.Is(err, live.ErrTooLarge) {
			wake.Up(c.peer.over)
		} else if err != nil {
			c.askKey(track)
		}
	}
}

// keyPause is the least time between requests for key frames: more of them would only worsen a
// lossy line.
const keyPause = 300 * time.Millisecond

// askKey asks for a key frame, unless one is on its way.
func (c *camera) askKey(track *webrtc.TrackRemote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.asked) < keyPause {
		return
	}
	c.asked = time.Now()
	// If the request is lost, the next picture that cannot be decoded repeats it.
	_ = c.peer.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(track.SSRC())}})
}

// close frees the place for another camera. cause is why the session has ended.
func (c *camera) close(cause error) {
	reason := ""
	for _, e := range []error{errLost, errNever, errEnded} {
		if errors.Is(cause, e) {
			reason = e.Error()
		}
	}
	c.feed.Close(reason)
}
