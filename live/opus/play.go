package opus

import (
	"context"
	"time"
)

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
