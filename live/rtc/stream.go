package rtc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"

	"vidfilter/internal/wake"
	"vidfilter/live/coded"
	"vidfilter/live/preview"
)

const (
	playoutDelayURI = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"

	// mostPayload leaves room for all headers and for tunnels within IPv6's minimum MTU of 1280
	// bytes.
	mostPayload = 1140
)

// startCode is in front of each NAL unit in Annex B.
var startCode = []byte{0, 0, 0, 1}

// stream puts pictures into packets.
type stream struct {
	*outgoing
	delayID  uint8 // of the header extension for playout delay, 0 if the player lacks it
	payloads codecs.H264Payloader
	sets     []byte // the parameter sets, in Annex B
	unit     []byte
	clock    mediaClock
	pace     pace
}

func (v *viewer) newStream() *stream {
	s := &stream{outgoing: v.pictures}
	for _, h := range s.sender.GetParameters().HeaderExtensions {
		if h.URI == playoutDelayURI && h.ID > 0 && h.ID < 15 {
			s.delayID = uint8(h.ID)
		}
	}
	return s
}

// configure takes the parameter sets to send in front of each key frame.
func (s *stream) configure(c *preview.Config) {
	s.sets = nil
	for _, unit := range c.Sets {
		s.sets = append(append(s.sets, startCode...), unit...)
	}
}

// annexB appends units that have 4 bytes of length in front.
func annexB(dst, units []byte) []byte {
	for len(units) >= 4 {
		size := int(binary.BigEndian.Uint32(units))
		if size > len(units)-4 {
			break
		}
		dst = append(append(dst, startCode...), units[4:4+size]...)
		units = units[4+size:]
	}
	return dst
}

// picture sends a picture with its capture time, at a few times the line's bitrate.
func (s *stream) picture(ctx context.Context, p coded.Picture, taken time.Time, bits float64) error {
	s.unit = s.unit[:0]
	if p.Key {
		s.unit = append(s.unit, s.sets...)
	}
	s.unit = annexB(s.unit, p.Data)
	at := s.clock.at(taken)
	payloads := s.payloads.Payload(mostPayload, s.unit)
	for i, b := range payloads {
		if err := s.pace.wait(ctx, len(b), bits); err != nil {
			return err
		}
		h := rtp.Header{Version: 2, Marker: i == len(payloads)-1, SequenceNumber: s.sequence, Timestamp: at}
		if s.delayID != 0 {
			// minimum and maximum delay 0
			if err := h.SetExtension(s.delayID, []byte{0, 0, 0}); err != nil {
				return err
			}
		}
		s.sequence++
		s.tally.add(len(b), s.clock.offset)
		err := s.track.WriteRTP(&rtp.Packet{Header: h, Payload: b})
		if errors.Is(err, io.ErrClosedPipe) {
			return err
		}
	}
	return nil
}

// mediaClock maps capture times, in Unix time, to RTP timestamps that always rise.
type mediaClock struct {
	began  bool
	offset int64
	last   int64
}

func (c *mediaClock) at(taken time.Time) uint32 {
	const longest = clockRate // a second: a larger step is a clock that was set
	t := taken.UnixMicro()*(clockRate/1000)/1000 + c.offset
	switch {
	case !c.began:
	case t < c.last-longest:
		c.offset += c.last + 1 - t
		t = c.last + 1
	case t <= c.last:
		t = c.last + 1
	}
	c.began, c.last = true, t
	return uint32(t)
}

// pace spreads large pictures over time, so that a key frame does not overflow buffers on the way.
type pace struct {
	free time.Time // when the line becomes idle
}

const (
	haste = 4                     // times the target bitrate
	burst = 50 * time.Millisecond // at the target bitrate may go at once: a picture and a half
)

// wait waits until size bytes may go.
func (p *pace) wait(ctx context.Context, size int, bits float64) error {
	now := time.Now()
	if ahead := p.free.Sub(now); ahead > burst/haste {
		if err := wake.Sleep(ctx, ahead-burst/haste); err != nil {
			return err
		}
	}
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(size*8) / (bits * haste) * float64(time.Second)))
	return nil
}
