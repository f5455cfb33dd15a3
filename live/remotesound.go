package live

import (
	"bytes"
	"time"

	"vidfilter/live/sound"
)

// mostSound is the size of a packet of Opus: no browser sends larger ones.
const mostSound = 1500 // bytes

// PushSound hands a packet of Opus to the session, taken at stamp by the clock of the pictures'
// stamps. It is dropped before the first picture, if its time is far from theirs or does not rise,
// and if it is longer than Opus allows or more comes than can be played.
func (f *Feed) PushSound(data []byte, stamp float64) {
	now := time.Now()
	length := sound.OpusLength(data)
	if f.track == nil || length == 0 || len(data) > mostSound {
		return
	}
	f.mu.Lock()
	at, ok := f.clock.sound(stamp, now)
	if ok = ok && at > f.said && f.heard.take(now, length); ok {
		f.said = at
	}
	f.mu.Unlock()
	f.r.mu.Lock()
	source := f.r.source
	ours := source != nil && f.r.feed == f
	var speak func(sound.Packet)
	if ours {
		speak = source.speak
	}
	f.r.mu.Unlock()
	if ok && speak != nil {
		speak(sound.Packet{Data: bytes.Clone(data), At: at, Length: length})
	}
}

// steady maps the times of another machine to this one's, since 1970. Pictures arrive with varying
// delay: the least of them counts.
type steady struct {
	began  bool
	offset float64 // milliseconds
}

const (
	creep    = 0.01   // milliseconds a picture, since clocks drift and lines change
	mostLate = 10_000 // milliseconds: beyond, the other clock was set
)

// picture returns the time of a picture that has just come.
func (c *steady) picture(stamp float64, now time.Time) time.Duration {
	lag := Milliseconds(now) - stamp
	c.offset += creep
	if !c.began || lag < c.offset || lag > c.offset+mostLate {
		c.began, c.offset = true, lag
	}
	return c.at(stamp)
}

// sound returns the time of sound that has just come; it is false if none can be told.
func (c *steady) sound(stamp float64, now time.Time) (time.Duration, bool) {
	late := Milliseconds(now) - stamp - c.offset
	if !c.began || !(late > -mostLate/10 && late < mostLate) { // also NaN
		return 0, false
	}
	return c.at(stamp), true
}

func (c *steady) at(stamp float64) time.Duration {
	return time.Duration((stamp + c.offset) * float64(time.Millisecond))
}

// allowance bounds sound to what real time brings, and a second more.
type allowance struct {
	left time.Duration
	last time.Time
}

func (a *allowance) take(now time.Time, length time.Duration) bool {
	if a.last.IsZero() {
		a.last = now
		a.left = time.Second
	}
	a.left = min(a.left+now.Sub(a.last)*101/100, time.Second)
	a.last = now
	if a.left < length {
		return false
	}
	a.left -= length
	return true
}
