// Package opus codes the sound of a session as one stream of Opus for any number of readers, while
// there are any: 48 kHz, stereo, packets of 20 ms. A reader that falls behind loses packets and
// holds up neither the session nor the others.
package opus

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/audio"
	"vidfilter/live"
	"vidfilter/live/sound"
)

const (
	// Rate is the number of samples a second.
	Rate = 48000
	// most is how many packets wait for a reader: those read ahead of a file, and a stall.
	most = 64
	// gap is the longest pause that is filled with silence.
	gap = 200 * time.Millisecond
)

// Packet is coded sound. It is shared and read-only.
type Packet struct {
	Data  []byte
	At    time.Duration // of its first sample, on the clock of the pictures
	Taken time.Time     // when a picture of that time is taken; this may be in the near future

	// Begins is a mark without data: sound before it that has not been played is not to be played.
	Begins bool
}

// Stream is the sound of a session. It is safe for concurrent use.
type Stream struct {
	session *live.Session

	mu      sync.Mutex
	readers map[*Reader]struct{}
	end     context.CancelFunc // of the coder; nil without readers
}

// New returns the stream of a session.
func New(s *live.Session) *Stream {
	return &Stream{session: s, readers: map[*Reader]struct{}{}}
}

// Reader takes the packets of a stream.
type Reader struct {
	stream *Stream
	queue  chan Packet
}

// Join returns a reader, which the caller closes.
func (s *Stream) Join() *Reader {
	r := &Reader{s, make(chan Packet, most)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[r] = struct{}{}
	if s.end == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s.end = cancel
		ear := s.session.Hear()
		go func() {
			defer ear.Close()
			s.run(ctx, ear)
		}()
	}
	return r
}

// Packets delivers the sound. It is never closed, also at the end of the session.
func (r *Reader) Packets() <-chan Packet { return r.queue }

// Close ends the reader, and the coder with the last one.
func (r *Reader) Close() {
	s := r.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
	if len(s.readers) == 0 && s.end != nil {
		s.end()
		s.end = nil
	}
}

// run codes until ctx or the session ends.
func (s *Stream) run(ctx context.Context, ear *live.SoundReader) {
	c := coder{}
	defer c.close()
	for {
		x, err := ear.Next(ctx)
		if err != nil {
			return
		}
		if x.Begins {
			c.close()
			s.hand(ctx, Packet{Begins: true})
			continue
		}
		zero := x.Taken.Add(-x.At)
		c.code(x, func(data []byte, at time.Duration) {
			s.hand(ctx, Packet{Data: bytes.Clone(data), At: at, Taken: zero.Add(at)})
		})
	}
}

// hand gives a packet to all readers, unless the coder has ended.
func (s *Stream) hand(ctx context.Context, p Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for r := range s.readers {
		select {
		case r.queue <- p:
		default:
		}
	}
}

// coder is a run of the coder over sound without gaps.
type coder struct {
	track  *sound.Track
	opus   *audio.Opus // nil if the track cannot be decoded
	packet *astiav.Packet
	last   time.Duration // of the latest packet
}

// micro is the unit of times.
var micro = astiav.NewRational(1, 1_000_000)

func (c *coder) code(x live.Sound, ready func([]byte, time.Duration)) {
	if step := x.At - c.last; x.Track != c.track || step < 0 || step > gap+x.Length {
		c.close()
		c.open(x.Track)
	}
	c.last = x.At
	if c.opus == nil {
		return
	}
	err := x.To(c.packet, micro, x.At)
	if err == nil {
		err = c.opus.Code(c.packet, ready)
	}
	c.packet.Unref()
	if err != nil {
		c.opus.Close()
		c.opus = nil // until the track changes
	}
}

// open begins a track.
func (c *coder) open(t *sound.Track) {
	c.track = t
	if t == nil {
		return
	}
	opus, err := audio.NewOpus(t.Parameters(), micro)
	if err != nil {
		return // it cannot be heard, and the page does not offer it
	}
	if c.packet = astiav.AllocPacket(); c.packet == nil {
		opus.Close()
		return
	}
	c.opus = opus
}

func (c *coder) close() {
	if c.opus != nil {
		c.opus.Close()
	}
	if c.packet != nil {
		c.packet.Free()
	}
	*c = coder{}
}

// Play hands packets to send when pictures of their time are taken, until ctx ends: early packets
// wait, since they may be called off. at is the packet's time in samples of Unix time, as RTP wants
// it; it always rises. gap marks the first packet, and the first from another place.
func (r *Reader) Play(ctx context.Context, send func(p Packet, at int64, gap bool)) {
	var early []Packet
	var c clock
	gap := true
	for {
		var due <-chan time.Time
		if len(early) > 0 {
			due = time.After(time.Until(early[0].Taken))
		}
		select {
		case p := <-r.queue:
			early = append(early, p)
			if p.Begins {
				early, gap = nil, true
			}
		case <-due:
			if at, ok := c.at(early[0]); ok {
				send(early[0], at, gap)
				gap = false
			}
			early = early[1:]
		case <-ctx.Done():
			return
		}
	}
}

// clock maps the times of packets to samples of Unix time. They follow the sound's own clock, not
// the varying times at which pictures are taken.
type clock struct {
	began bool
	zero  time.Duration // Unix time at 0 by the sound's clock
	last  int64
}

// at is false for a packet that would be heard before others that were sent.
func (c *clock) at(p Packet) (int64, bool) {
	const slip = 20 * time.Millisecond
	zero := time.Duration(p.Taken.UnixNano()) - p.At
	if d := zero - c.zero; !c.began || d.Abs() > slip {
		c.zero = zero
	}
	t := (c.zero + p.At).Microseconds() * (Rate / 1000) / 1000
	if c.began && t <= c.last {
		return 0, false
	}
	c.began, c.last = true, t
	return t, true
}
