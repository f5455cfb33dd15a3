package preview

import (
	"math"
	"time"
)

// presets of x264, from the best picture for its bits to the fastest, which is 1 to 3 dB worse at
// the same rate. veryfast took half as long again as superfast and was within 0.5 dB of it.
var presets = [...]string{"superfast", "ultrafast"}

// pace chooses the preset by encoding time: a faster one after a second of pictures over their
// time, a better one after half a minute of pictures so fast that the better one will be in time.
type pace struct {
	fps    float64
	budget time.Duration // for a picture
	at     int           // index of presets
	slow   int           // pictures over the budget, less those within it
	quick  int           // fast pictures in a row
}

func newPace(fps float64) pace {
	return pace{fps: fps, budget: time.Duration(float64(time.Second) / fps / 2)}
}

func (p *pace) preset() string { return presets[p.at] }

// changes takes the encoding time of one more picture and reports whether the preset has changed.
func (p *pace) changes(took time.Duration) bool {
	before := p.at
	if took <= p.budget {
		p.slow = max(0, p.slow-1)
	} else {
		p.slow++
	}
	if p.quick++; took > p.budget/3 {
		p.quick = 0
	}
	switch {
	case p.slow >= max(5, int(p.fps)):
		p.at = min(p.at+1, len(presets)-1)
		p.slow = 0
	case p.quick >= int(30*p.fps):
		p.at = max(p.at-1, 0)
		p.quick = 0
	}
	return p.at != before
}

// Bits per sample of the stack. Below thinBits half the size looks better, and at some point the
// rate cannot be kept at all. From ampleBits on the next larger size looks better.
const (
	thinBits  = 0.018
	ampleBits = 0.03
)

// sizing chooses the scale of the stack by the bit rate.
type sizing struct {
	fps    float64
	scale  int // 0 before the first picture
	wrong  int // pictures in a row that another scale would suit better
	enough int // of those, to change it
}

func newSizing(fps float64) sizing { return sizing{fps: fps, enough: max(5, int(2*fps))} }

func (z *sizing) plan(width, height int, bits int64, perSample float64) stack {
	return planStack(width, height, int(float64(bits)/z.fps/perSample))
}

// begin returns the stack for a new size of pictures.
func (z *sizing) begin(width, height int, bits int64) stack {
	s := z.plan(width, height, bits, thinBits)
	z.scale, z.wrong = s.scale, 0
	return s
}

// unfit takes the rate of one more picture and reports whether to restart.
func (z *sizing) unfit(width, height int, bits int64) bool {
	least, most := z.plan(width, height, bits, thinBits).scale, z.plan(width, height, bits, ampleBits).scale
	if least <= z.scale && z.scale <= most {
		z.wrong = 0
		return false
	}
	z.wrong++
	return z.wrong >= z.enough
}

// rhythm tracks the interval between pictures.
type rhythm struct {
	started  bool
	last     float64 // milliseconds, as in Stamp
	interval float64
}

// maxInterval limits the bits of rare pictures, which would take long to send.
const maxInterval = 250

func newRhythm(fps float64) rhythm { return rhythm{interval: min(1000/fps, maxInterval)} }

// next takes the time of a picture and returns the mean interval. A clock that jumps changes
// little.
func (r *rhythm) next(ms float64) time.Duration {
	const weight = 0.1
	if d := ms - r.last; r.started && d > 0 {
		r.interval += (min(d, 2*r.interval, maxInterval) - r.interval) * weight
	}
	r.started, r.last = true, ms
	return time.Duration(r.interval * float64(time.Millisecond))
}

const mediaSecond = 90000 // units of a player's times

// mediaClock converts stamps to a player's times, from 0 on.
type mediaClock struct {
	started  bool
	first    float64 // milliseconds of the stamp at time 0
	last     int64   // latest time, in 1/90000 s
	duration int64   // of the latest picture
}

// next takes a stamp and the interval, and returns the picture's time, later than all before, and
// its length. The length is a guess, since the packet is sent before the next picture comes. If
// the next one is more than two lengths later, by its own rounding, MediaSource takes it for the
// start of something else and drops all up to a key frame. So the clock runs slower than that and
// catches up bit by bit. A clock that was set, or stood for long, starts anew.
func (c *mediaClock) next(ms float64, interval time.Duration) (at, duration int64) {
	const perMilli, longest = mediaSecond / 1000, 2000
	if !c.started {
		c.started, c.first = true, ms
	} else {
		ahead := ms - c.first - float64(c.last+c.duration)/perMilli
		if !(math.Abs(ahead) <= longest) {
			c.first += ahead
			ahead = 0
		}
		c.last += min(max(c.duration+int64(math.Round(ahead*perMilli)), 1), c.duration+c.duration*3/4)
	}
	c.duration = max(1, int64(interval.Seconds()*mediaSecond))
	return c.last, c.duration
}
