package encode

import "time"

// previewPresets are x264's, from the one that gives the best picture for its bits to the fastest.
var previewPresets = [...]string{"veryfast", "superfast", "ultrafast"}

// pace chooses the preset by the time that coding takes.
type pace struct {
	budget time.Duration // that a picture may take
	at     int           // in previewPresets
	slow   int           // pictures over the budget, less those within it
	enough int           // of them to go faster
}

func newPace(fps float64) pace {
	return pace{budget: time.Duration(float64(time.Second) / fps / 2), enough: max(5, int(fps))}
}

func (p *pace) preset() string { return previewPresets[p.at] }

// tooSlow takes the time of one more picture, and tells that from now on another preset is in force.
func (p *pace) tooSlow(took time.Duration) bool {
	if took <= p.budget {
		p.slow = max(0, p.slow-1)
		return false
	}
	p.slow++
	if p.slow < p.enough || p.at == len(previewPresets)-1 {
		return false
	}
	p.at++
	p.slow = 0
	return true
}

// rhythm follows the time from one picture to the next.
type rhythm struct {
	started  bool
	last     float64 // milliseconds, as in Stamp
	interval float64
}

// Pictures that come less often than this are not given more bits each: one would take long to send.
const maxInterval = 250

func newRhythm(fps float64) rhythm { return rhythm{interval: min(1000/fps, maxInterval)} }

// next takes the time of a picture and returns what lies between pictures on average. A clock that jumps changes
// little.
func (r *rhythm) next(ms float64) time.Duration {
	const weight = 0.1
	if d := ms - r.last; r.started && d > 0 {
		r.interval += (min(d, 2*r.interval, maxInterval) - r.interval) * weight
	}
	r.started, r.last = true, ms
	return time.Duration(r.interval * float64(time.Millisecond))
}
