package rtc

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"vidfilter/live/opus"
)

// playerSound is the sound for a player.
type playerSound struct {
	track    *webrtc.TrackLocalStaticRTP
	sender   *webrtc.RTPSender
	sequence uint16
	tally    tally
}

// newVoice adds a track, of the stream that the pictures belong to.
func newVoice(pc *webrtc.PeerConnection, a *audio) (*playerSound, error) {
	track, err := webrtc.NewTrackLocalStaticRTP(soundOf(a).RTPCodecCapability, "audio", "vidfilter")
	if err != nil {
		return nil, err
	}
	t, err := pc.AddTransceiverFromTrack(track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	if err != nil {
		return nil, err
	}
	return &playerSound{track: track, sender: t.Sender(), sequence: uint16(rand.Uint32())}, nil
}

// run sends sound until ctx ends.
func (v *playerSound) run(ctx context.Context, from *opus.Stream) {
	defer v.sender.Stop() // ends drain
	go v.drain()
	r := from.Join()
	defer r.Close()
	r.Play(ctx, v.send)
}

// drain reads the player's reports, and ignores them.
func (v *playerSound) drain() {
	for {
		if _, _, err := v.sender.ReadRTCP(); err != nil {
			return
		}
	}
}

func (v *playerSound) send(p opus.Packet, at int64, gap bool) {
	h := rtp.Header{Version: 2, Marker: gap, SequenceNumber: v.sequence, Timestamp: uint32(at)}
	v.sequence++
	v.tally.add(len(p.Data), 0)
	_ = v.track.WriteRTP(&rtp.Packet{Header: h, Payload: p.Data}) // a closed connection ends ctx
}

// samples returns a time in units of a rate, which is a multiple of 1000.
func samples(d time.Duration, rate int64) int64 { return d.Microseconds() * (rate / 1000) / 1000 }

// tally counts the sent data of a track, for reports.
type tally struct {
	mu              sync.Mutex
	packets, octets uint32
	offset          int64 // from Unix time to RTP timestamps
}

func (t *tally) add(octets int, offset int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.packets++
	t.octets += uint32(octets)
	t.offset = offset
}

// report gives the RTP timestamp of the present, or nil before the first packet.
func (t *tally) report(now time.Time, ssrc webrtc.SSRC, rate int64) *rtcp.SenderReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packets == 0 {
		return nil
	}
	at := samples(time.Duration(now.UnixNano()), rate) + t.offset
	return &rtcp.SenderReport{SSRC: uint32(ssrc), NTPTime: ntp(now), RTPTime: uint32(at), PacketCount: t.packets, OctetCount: t.octets}
}

// ntp returns a time in 2^-32 seconds since 1900.
func ntp(t time.Time) uint64 {
	const since1900 = 2208988800
	return uint64(t.Unix()+since1900)<<32 | uint64(t.Nanosecond())<<32/1_000_000_000
}

// report sends the reports by which the player brings sound and pictures together: both have
// timestamps of Unix time, as they were taken.
func (v *viewer) report(ctx context.Context, out *stream) {
	const first, later = 100 * time.Millisecond, time.Second
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(later)
		case <-ctx.Done():
			return
		}
		var all []rtcp.Packet
		if x := out.tally.report(time.Now(), ssrcOf(v.sender), clockRate); x != nil {
			all = append(all, x)
		}
		if v.sound != nil {
			if x := v.sound.tally.report(time.Now(), ssrcOf(v.sound.sender), soundRate); x != nil {
				all = append(all, x)
			}
		}
		if len(all) == 0 {
			timer.Reset(first)
		}
		for _, x := range all {
			_ = v.peer.pc.WriteRTCP([]rtcp.Packet{x}) // the next one repeats it
		}
	}
}

func ssrcOf(s *webrtc.RTPSender) webrtc.SSRC {
	for _, e := range s.GetParameters().Encodings {
		return e.SSRC
	}
	return 0
}
