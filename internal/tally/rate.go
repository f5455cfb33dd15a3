package tally

import "time"

// What speeds are measured over.
const (
	calm   = 10 * time.Second // the speed that is shown: short enough to follow a change
	ample  = 2 * time.Minute  // the speed that tells the time left: several tasks long
	enough = 10 * time.Second // below that nothing is told of the time left
	often  = 500 * time.Millisecond
)

// rate keeps what was done at times of the last minutes.
type rate struct {
	samples []moment
	from    time.Time // when work began that the time left is judged by
	base    amounts   // what had been done then
	working bool
}

type moment struct {
	at   time.Time
	seen amounts
}

func (r *rate) sample(now time.Time, seen amounts) {
	if n := len(r.samples); n > 0 && now.Sub(r.samples[n-1].at) < often {
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
	for len(r.samples) > 2 && now.Sub(r.samples[1].at) >= ample {
		r.samples = r.samples[1:]
	}
}

// restart says that what comes is to be judged by itself.
func (r *rate) restart(now time.Time, seen amounts) {
	r.from, r.base, r.working = now, seen, false
}

// over returns what was done in a second, of the last samples that span so long.
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

// long returns the speed that tells the time left, 0 as long as there is not enough to judge by.
func (r *rate) long(now time.Time, seen amounts) amounts {
	if !r.working || now.Sub(r.from) < enough {
		return amounts{}
	}
	if now.Sub(r.from) >= ample {
		return r.over(now, seen, ample)
	}
	return moment{r.from, r.base}.until(now, seen)
}
