package rtc

import (
	"context"
	"sync"
	"time"

	"github.com/pion/rtcp"

	"vidfilter/live"
)

// listen hands the camera's sound to the session until ctx or the track ends.
func (c *camera) listen(ctx context.Context) {
	select {
	case track := <-c.voices:
		defer context.AfterFunc(ctx, func() { _ = track.SetReadDeadline(time.Now()) })()
		last, began := uint16(0), false
		for ctx.Err() == nil {
			p, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			if began && int16(p.SequenceNumber-last) <= 0 || len(p.Payload) == 0 {
				continue // too late
			}
			last, began = p.SequenceNumber, true
			c.feed.PushSound(p.Payload, c.sync.voice(p.Timestamp, time.Now()))
		}
	case <-ctx.Done():
	}
}

// lipSync brings the times of a sender's sound to the clock of its pictures, by its reports.
type lipSync struct {
	mu       sync.Mutex
	clock    senderClock // of the pictures
	pictures reference
	sound    reference

	first senderClock // of the sound, before there are reports
}

// reference is the content of a sender's report.
type reference struct {
	known bool
	ntp   uint64 // 2^-32 s
	rtp   uint32
}

func (l *lipSync) report(of *reference, r *rtcp.SenderReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*of = reference{true, r.NTPTime, r.RTPTime}
}

// picture returns the time of a picture.
func (l *lipSync) picture(u unit) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock.at(u)
}

// voice returns the time of sound that has just come.
func (l *lipSync) voice(at uint32, now time.Time) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pictures.known || !l.sound.known || !l.clock.began {
		return l.first.advance(at, now, soundRate)
	}
	// From the report on the sound to the packet, then from that on the pictures to the latest
	// picture.
	passed := float64(int64(l.sound.ntp-l.pictures.ntp))/(1<<32) + float64(int32(at-l.sound.rtp))/soundRate
	return l.clock.time + (passed+float64(int32(l.pictures.rtp-l.clock.last))/clockRate)*1000
}

// senderClock estimates times of capture. RTP's timestamps start at a random value, so the first
// one counts from its arrival.
type senderClock struct {
	began bool
	last  uint32
	time  float64 // milliseconds of Unix time
}

func (c *senderClock) at(u unit) float64 { return c.advance(u.time, u.came, clockRate) }

func (c *senderClock) advance(to uint32, came time.Time, rate float64) float64 {
	if !c.began {
		c.began, c.time = true, live.Milliseconds(came)
	} else {
		c.time += float64(int32(to-c.last)) / (rate / 1000)
	}
	c.last = to
	return c.time
}
