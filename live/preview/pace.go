package preview

import (
	"math"
	"time"
)

// paceStep is how to encode, from the best picture to the fastest.
type paceStep struct {
	preset  string  // of x264
	bits    float64 // share of the bits that the line takes
	smaller int     // steps by which pictures are scaled down

	// Shares of the time between two pictures: encoding above slow takes too long, and below quick
	// leaves time for the step before.
	slow, quick float64
}

// ultrafast is 1 to 3 dB worse than superfast at the same rate. veryfast took 1.5 times as long as
// superfast and was within 0.5 dB of it. An encoder that takes most of the time between two
// pictures slows the filter, and a browser on the same machine: at 1080p on 2 cores 0.6 instead of
// 0.9 shows pictures a third earlier.
var paceSteps = [...]paceStep{
	{"superfast", 1, 0, 1. / 2, 0},
	{"ultrafast", 1, 0, 0.6, 1. / 6},
	{"ultrafast", 0.5, 0, 0.6, 1. / 3},
	{"ultrafast", 0.5, 1, 0.6, 1. / 4},
	{"ultrafast", 0.5, 2, math.Inf(1), 1. / 4},
}

// pace chooses the step by encoding time: a faster one after a second of slow pictures, a better
// one after half a minute of pictures so quick that it will be in time.
type pace struct {
	fps      float64
	interval time.Duration // between pictures
	at       int           // index of paceSteps
	slow     int           // slow pictures, less those that were in time
	quick    int           // fast pictures in a row
}

func newPace(fps float64) pace {
	return pace{fps: fps, interval: time.Duration(float64(time.Second) / fps)}
}

func (p *pace) step() paceStep { return paceSteps[p.at] }
func (p *pace) preset() string { return p.step().preset }

// changes takes the encoding time of one more picture and reports whether the preset has changed.
func (p *pace) changes(took time.Duration) bool {
	before, share := p.step(), took.Seconds()/p.interval.Seconds()
	if share <= before.slow {
		p.slow = max(0, p.slow-1)
	} else {
		p.slow++
	}
	if p.quick++; share > before.quick {
		p.quick = 0
	}
	switch {
	case p.slow >= max(5, int(p.fps)):
		p.at = min(p.at+1, len(paceSteps)-1)
		p.slow = 0
	case p.quick >= int(30*p.fps):
		p.at = max(p.at-1, 0)
		p.quick = 0
	}
	return p.preset() != before.preset
}

// Bits per sample of the stack. Below thinBits half the size looks better, and eventually the rate
// cannot be kept. From ampleBits on the next larger size looks better.
const (
	thinBits  = 0.018
	ampleBits = 0.03
)

// sizing chooses the scale of the stack by the bit rate and by whether coder and viewer keep up.
type sizing struct {
	view   View
	fps    float64
	scale  float64 // 0 before the first picture
	steps  steps
	wrong  int // pictures in a row that another scale would suit better
	enough int // such pictures change the scale
}

func newSizing(view View, fps float64) sizing {
	return sizing{view: view, fps: fps, enough: max(5, int(2*fps))}
}

// steps ask for smaller pictures because the coder, or a viewer, does not keep up.
type steps struct{ coder, viewer int }

func (z *sizing) plan(width, height int, bits int64, perSample float64, smaller int) stack {
	return planStack(z.view, width, height, int(float64(bits)/z.fps/perSample), smaller)
}

// begin returns the stack for a new size of pictures.
func (z *sizing) begin(width, height int, bits int64, by steps) stack {
	s := z.plan(width, height, bits, thinBits, by.coder+by.viewer)
	switch s.scale {
	case planStack(z.view, width, height, math.MaxInt, 0).scale:
	case z.plan(width, height, bits, thinBits, 0).scale:
		s.smaller = ForRate
	case z.plan(width, height, bits, thinBits, by.coder).scale:
		s.smaller = ForCoder
	default:
		s.smaller = ForViewer
	}
	z.scale, z.steps, z.wrong = s.scale, by, 0
	return s
}

// unfit takes the rate of one more picture and reports whether to restart.
func (z *sizing) unfit(width, height int, bits int64, by steps) bool {
	smaller := by.coder + by.viewer
	least, most := z.plan(width, height, bits, thinBits, smaller).scale, z.plan(width, height, bits, ampleBits, smaller).scale
	if by != z.steps && least != z.scale {
		return true
	}
	if least <= z.scale && z.scale <= most {
		z.wrong = 0
		return false
	}
	z.wrong++
	return z.wrong >= z.enough
}

// interval tracks the interval between pictures.
type interval struct {
	started  bool
	last     float64 // milliseconds, as in Stamp
	interval float64
}

// maxInterval limits the bits of rare pictures, which would take long to send.
const maxInterval = 250

func newRhythm(fps float64) interval { return interval{interval: min(1000/fps, maxInterval)} }

// next takes the time of a picture and returns the mean interval, on which a jump of the clock has
// little effect.
func (r *interval) next(ms float64) time.Duration {
	const weight = 0.1
	if d := ms - r.last; r.started && d > 0 {
		r.interval += (min(d, 2*r.interval, maxInterval) - r.interval) * weight
	}
	r.started, r.last = true, ms
	return time.Duration(r.interval * float64(time.Millisecond))
}
