package rtc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/cc"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/preview"
)

// viewer is a player.
type viewer struct {
	s        *Server
	peer     *peer
	track    *webrtc.TrackLocalStaticRTP
	sender   *webrtc.RTPSender
	sound    *voice // nil: the player gets none
	baseline bool
	rate     *rate
	wantKey  atomic.Bool
}

// newViewer prepares the answer to a player's offer.
func (s *Server) newViewer(o offer) (v *viewer, err error) {
	chosen, baseline, err := o.toSend()
	if err != nil {
		return nil, err
	}
	v = &viewer{s: s, baseline: baseline, rate: newRate()}
	if v.peer, err = s.newPeer([]format{chosen}, o.used, v.equip); err != nil {
		return nil, err
	}
	err = v.addTrack(chosen)
	if err == nil && o.used != nil {
		v.sound, err = newVoice(v.peer.pc, o.used)
	}
	if err != nil {
		_ = v.peer.pc.Close()
		return nil, err
	}
	return v, nil
}

func (v *viewer) addTrack(f format) (err error) {
	if v.track, err = webrtc.NewTrackLocalStaticRTP(codecOf(f).RTPCodecCapability, "video", "vidfilter"); err != nil {
		return err
	}
	t, err := v.peer.pc.AddTransceiverFromTrack(v.track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	if err != nil {
		return err
	}
	v.sender = t.Sender()
	return nil
}

// resend is the number of packets kept for retransmission: about a second of them.
const resend = 1024

// equip adds, from the network inwards: the bandwidth estimator, the sequence numbers that it
// needs, and retransmission.
func (v *viewer) equip(media *webrtc.MediaEngine, registry *interceptor.Registry) error {
	estimate, err := cc.NewInterceptor(func() (cc.BandwidthEstimator, error) {
		return gcc.NewSendSideBWE(gcc.SendSideBWEInitialBitrate(firstRate), gcc.SendSideBWEMinBitrate(minRate), gcc.SendSideBWEMaxBitrate(maxRate),
			gcc.SendSideBWEPacer(gcc.NewNoOpPacer()), gcc.WithLoggerFactory(silence))
	})
	if err != nil {
		return err
	}
	estimate.OnNewPeerConnection(func(_ string, e cc.BandwidthEstimator) { v.rate.line = e })
	registry.Add(estimate)
	if err := webrtc.ConfigureTWCCHeaderExtensionSender(media, registry); err != nil {
		return err
	}
	again, err := nack.NewResponderInterceptor(nack.ResponderSize(resend), nack.WithResponderLoggerFactory(silence))
	if err != nil {
		return err
	}
	registry.Add(again)
	return media.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: playoutDelayURI}, webrtc.RTPCodecTypeVideo)
}

// keyPause is the minimum time between key frames: more of them would only worsen a lossy line.
const keyPause = 300 * time.Millisecond

// run sends pictures, the newest each time, until ctx ends.
func (v *viewer) run(ctx context.Context) {
	watch := v.s.o.Session.Watch(1)
	defer watch.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer v.sender.Stop() // ends listen
	wg.Go(func() { v.listen(ctx, watch) })
	out := v.newStream()
	wg.Go(func() { v.report(ctx, out) })
	if v.sound != nil {
		wg.Go(func() { v.sound.run(ctx, v.s.o.Sound) })
	}
	st, _ := v.s.o.Session.State()
	p, err := preview.New(preview.Options{
		Kind: preview.AVC, View: preview.ViewFiltered, Baseline: v.baseline, BitRate: firstRate, FrameRate: min(st.FrameRate, 1000), Threads: v.s.o.Threads,
	})
	if err != nil {
		return
	}
	defer p.Close()
	last := time.Time{} // key frame
	for {
		pair, err := watch.Next(ctx)
		if err != nil {
			return
		}
		key := v.wantKey.Load()
		if early := keyPause - time.Since(last); key && early > 0 {
			key = false
			time.AfterFunc(early, watch.Again) // no other picture may come
		}
		if key {
			v.wantKey.Store(false)
		}
		key, err = v.send(ctx, p, out, pair, key)
		pair.Release()
		if key {
			last = time.Now()
		}
		if err != nil {
			return
		}
	}
}

// send encodes and sends a picture, and reports whether it was a key frame.
func (v *viewer) send(ctx context.Context, p *preview.Encoder, out *stream, pair *live.Pair, key bool) (bool, error) {
	taken := pair.Taken
	if pair.Repeated || pair.ID == out.id {
		taken = time.Now() // it is shown anew
	}
	out.id = pair.ID
	bits := v.rate.target()
	p.SetBitRate(int64(bits))
	packet, err := p.Encode(pair.Original, pair.Filtered, preview.Stamp{Time: live.Milliseconds(taken)}, key)
	if err != nil { // cannot be encoded; the next one may have another format
		return false, wake.Sleep(ctx, time.Second)
	}
	if packet.Config != nil {
		out.configure(packet.Config)
	}
	return packet.Key, out.picture(ctx, packet, taken, bits)
}

// listen handles the player's feedback.
func (v *viewer) listen(ctx context.Context, watch *live.Watcher) {
	for {
		all, _, err := v.sender.ReadRTCP()
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || ctx.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // malformed packets are not fatal
			continue
		}
		for _, p := range all {
			switch p := p.(type) {
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				v.wantKey.Store(true)
				watch.Again() // a still picture is not sent again otherwise
			case *rtcp.ReceiverEstimatedMaximumBitrate:
				v.rate.limit(float64(p.Bitrate))
			case *rtcp.ReceiverReport:
				for _, r := range p.Reports {
					v.rate.lost(time.Now(), float64(r.FractionLost)/256)
				}
			case *rtcp.TransportLayerCC:
				v.rate.heard()
			}
		}
	}
}

// errFull refuses one viewer too many.
var errFull = refuse(http.StatusServiceUnavailable, "as many viewers as are allowed are looking already")
