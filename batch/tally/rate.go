package tally

import "time"

// Periods over which speeds are measured.
const (
	shortWindow = 10 * time.Second // for the speed shown: short enough to follow a change
	longWindow  = 2 * time.Minute  // for the time left: several tasks long
	minObserved = 10 * time.Second // shorter periods give no time left
	sampleEvery = 500 * time.Millisecond
)

// rate keeps the work of the last minutes.
type rate struct {
	samples []moment
	from    time.Time // start of the period that the time left is judged by
	base    amounts   // work done by then
	working bool
}

type moment struct {
	at   time.Time
	seen amounts
}

func (r *rate) sample(now time.Time, seen amounts) {
	if n := len(r.samples); n > 0 && now.Sub(r.samples[n-1].at) < sampleEvery {
		if now.Equal(r.samples[n-1].at) {
			r.samples[n-1].seen = seen
		}
		return
	}
	if !r.working && seen == r.base { // nothing is done yet
		r.from = now
	}
	r.working = r.working || seen != r.base
	r.samples = append(r.samples, moment{now, seen})
	for len(r.samples) > 2 && now.Sub(r.samples[1].at) >= longWindow {
		r.samples = r.samples[1:]
	}
}

// restart begins a new period.
func (r *rate) restart(now time.Time, seen amounts) {
	r.from, r.base, r.working = now, seen, false
}

// over returns the speed over the last span, in units per second.
func (r *rate) over(now time.Time, seen amounts, span time.Duration) (speed amounts) {
	if len(r.samples) == 0 {
		return speed
	}
	first := r.samples[0]
	for _, m := range r.samples {
		if now.Sub(m.at) < span {
			break
		}
		first = m
	}
	return first.until(now, seen)
}

func (m moment) until(now time.Time, seen amounts) (speed amounts) {
	if wall := now.Sub(m.at).Seconds(); wall > 0 {
		for i := range speed {
			speed[i] = (seen[i] - m.seen[i]) / wall
		}
	}
	return speed
}

// long returns the speed for the time left, 0 while too little was observed.
func (r *rate) long(now time.Time, seen amounts) amounts {
	if !r.working || now.Sub(r.from) < minObserved {
		return amounts{}
	}
	if now.Sub(r.from) >= longWindow {
		return r.over(now, seen, longWindow)
	}
	return moment{r.from, r.base}.until(now, seen)
}
