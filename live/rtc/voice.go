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

// outgoing is a track that is sent to a player.
type outgoing struct {
	track    *webrtc.TrackLocalStaticRTP
	sender   *webrtc.RTPSender
	sequence uint16
	tally    tally
}

// addTrack adds a track to a connection. All tracks belong to one stream.
func addTrack(pc *webrtc.PeerConnection, codec webrtc.RTPCodecParameters, kind string) (*outgoing, error) {
	track, err := webrtc.NewTrackLocalStaticRTP(codec.RTPCodecCapability, kind, "vidfilter")
	if err != nil {
		return nil, err
	}
	t, err := pc.AddTransceiverFromTrack(track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	if err != nil {
		return nil, err
	}
	return &outgoing{track: track, sender: t.Sender(), sequence: uint16(rand.Uint32())}, nil
}

// play sends sound until ctx ends.
func (v *outgoing) play(ctx context.Context, from *opus.Stream) {
	defer v.sender.Stop() // ends drain
	go v.drain()
	r := from.Join()
	defer r.Close()
	r.Play(ctx, v.sendSound)
}

// drain reads the player's reports, and ignores them.
func (v *outgoing) drain() {
	for {
		if _, _, err := v.sender.ReadRTCP(); err != nil {
			return
		}
	}
}

func (v *outgoing) sendSound(p opus.Packet, at int64, gap bool) {
	h := rtp.Header{Version: 2, Marker: gap, SequenceNumber: v.sequence, Timestamp: uint32(at)}
	v.sequence++
	v.tally.add(len(p.Data), 0)
	_ = v.track.WriteRTP(&rtp.Packet{Header: h, Payload: p.Data}) // a closed connection ends ctx
}

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

// report gives the RTP timestamp of the present, in units of a rate that is a multiple of 1000. It
// is nil before the first packet.
func (v *outgoing) report(now time.Time, rate int64) rtcp.Packet {
	t := &v.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packets == 0 {
		return nil
	}
	at := now.UnixMicro()*(rate/1000)/1000 + t.offset
	return &rtcp.SenderReport{
		SSRC: uint32(v.sender.GetParameters().Encodings[0].SSRC), NTPTime: ntp(now), RTPTime: uint32(at), PacketCount: t.packets, OctetCount: t.octets,
	}
}

// ntp returns a time in 2^-32 seconds since 1900.
func ntp(t time.Time) uint64 {
	const since1900 = 2208988800
	return uint64(t.Unix()+since1900)<<32 | uint64(t.Nanosecond())<<32/1_000_000_000
}

// report sends the reports by which the player brings sound and pictures together: both have
// timestamps of Unix time, as they were taken.
func (v *viewer) report(ctx context.Context) {
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
		if x := v.pictures.report(time.Now(), clockRate); x != nil {
			all = append(all, x)
		}
		if v.sound != nil {
			if x := v.sound.report(time.Now(), soundRate); x != nil {
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
