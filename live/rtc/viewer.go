package rtc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/cc"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"

	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/preview"
)

// viewer is a player.
type viewer struct {
	coded.Queue
	s        *Server
	peer     *peer
	pictures *outgoing
	sound    *outgoing // nil: the player gets no sound
	baseline bool
	rate     *rate
}

// newViewer prepares the answer to a player's offer.
func (s *Server) newViewer(o offer) (v *viewer, err error) {
	chosen, baseline, err := o.toSend()
	if err != nil {
		return nil, err
	}
	v = &viewer{s: s, baseline: baseline, rate: newRate(), Queue: coded.NewQueue(ahead)}
	if v.peer, err = s.newPeer([]format{chosen}, o.used, v.equip); err != nil {
		return nil, err
	}
	v.pictures, err = addTrack(v.peer.pc, codecOf(chosen), "video")
	if err == nil && o.used != nil {
		v.sound, err = addTrack(v.peer.pc, soundOf(o.used), "audio")
	}
	if err != nil {
		_ = v.peer.pc.Close()
		return nil, err
	}
	return v, nil
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

// ahead is how many pictures may wait: as many as come while a key frame is sent.
const ahead = 3

// run sends pictures until ctx or the session ends.
func (v *viewer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	member := v.s.o.Encoders.Join(v)
	defer member.Leave()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer v.pictures.sender.Stop() // ends listen
	wg.Go(func() { v.listen(ctx, member) })
	out := v.newStream()
	wg.Go(func() { v.report(ctx) })
	if v.sound != nil {
		wg.Go(func() { v.sound.play(ctx, v.s.o.Sound) })
	}
	for {
		p, err := v.Next(ctx)
		if err != nil {
			return
		}
		member.Ready()
		if out.send(ctx, p, v.rate.target()) != nil {
			return
		}
	}
}

// send sends a picture.
func (s *stream) send(ctx context.Context, p coded.Picture, bits float64) error {
	if p.Config != nil {
		s.configure(p.Config)
	}
	taken := p.Taken
	if p.Again {
		taken = time.Now() // it is shown anew
	}
	return s.picture(ctx, p, taken, bits)
}

// Want implements coded.Client.
func (v *viewer) Want() coded.EncoderKey {
	return coded.EncoderKey{Kind: preview.AVC, View: preview.ViewFiltered, Baseline: v.baseline, Display: v.s.o.Encoders.Display()}
}

// Rate implements coded.Client.
func (v *viewer) Rate() float64 { return min(v.rate.target(), v.s.o.Encoders.Ample()) }

// listen handles the player's feedback.
func (v *viewer) listen(ctx context.Context, m *coded.Subscriber) {
	for {
		all, _, err := v.pictures.sender.ReadRTCP()
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
				m.Key()
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
var errFull = refuse(http.StatusServiceUnavailable, access.Full)
