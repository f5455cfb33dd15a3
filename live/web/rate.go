package web

import (
	"slices"
	"time"

	"vidfilter/live"
)

// flow limits one viewer's pictures in flight and bitrate. It goes by the acknowledgements, and is
// for one goroutine at a time.
//
// The delay of a picture is the time from sending it to its acknowledgement, less its wait in the
// page. While that stays near its recent minimum, the rate rises. When it grows, pictures queue on
// the way, and the rate falls below the throughput. If that does not help, the viewer's computer
// is slow, not the line: the rate returns to its old value and stays there for a while.
type flow struct {
	rate     float64     // bits a second
	flying   []sent      // the oldest first
	past     []delay     // of the last seconds, oldest first
	acked    live.Window // bits that came through
	judged   time.Time
	interval time.Duration // between pictures
	last     time.Time     // when one was sent
	pings    []delay       // of the last minute
	held     int           // pictures that the page's player buffers before it shows the first

	before struct { // when the rate began to fall
		rate float64 // 0 while it does not
		delays
	}
	blameless time.Time // until then delays are not blamed on the line
}

type sent struct {
	id    uint32
	at    time.Time
	bytes int
	ahead int // bytes in flight, including its own
}

type delay struct {
	at           time.Time // when it was acknowledged
	d            time.Duration
	bytes, ahead int
}

// delays is the mean of some.
type delays struct {
	d     time.Duration
	ahead int
}

const (
	firstRate = 8e6
	minRate   = 150e3
	maxRate   = 60e6

	pinged    = time.Minute            // window of the shortest round trip
	remember  = 30 * time.Second       // the least delay is of this time
	credible  = 10 * time.Second       // a line may get worse by then
	much      = 64 << 10               // bytes
	judgement = 250 * time.Millisecond // from one decision to the next
	slack     = 40 * time.Millisecond  // jitter of delays on a line that is not full
	trial     = 4                      // judged once rate and bytes in flight fell by this factor
	pardon    = 20 * time.Second       // how long it is not tried again

	fewest, most = 2, 12 // pictures on their way
)

func newFlow() *flow { return &flow{rate: firstRate, interval: time.Second / 30} }

// room reports whether another picture may go.
func (f *flow) room() bool { return len(f.flying) < f.limit() }

// limit returns how many pictures may be in flight: as many as the line holds, and two more. The
// line is measured by pings; pictures wait for each other, so by them the limit would raise
// itself.
func (f *flow) limit() int {
	return min(max(int(shortest(f.pings)/f.interval)+2, fewest), most) + f.held
}

// ping notes how long the way is there and back.
func (f *flow) ping(now time.Time, d time.Duration) {
	f.pings = append(since(f.pings, now.Add(-pinged)), delay{at: now, d: d})
}

// since returns the entries that are not older than a time.
func since(all []delay, t time.Time) []delay {
	return slices.DeleteFunc(all, func(d delay) bool { return d.at.Before(t) })
}

// send notes a picture that goes out.
func (f *flow) send(now time.Time, id uint32, bytes int) {
	if !f.last.IsZero() {
		if d := now.Sub(f.last); d < time.Second {
			f.interval = max(f.interval+(d-f.interval)/16, time.Millisecond)
		}
	}
	f.last = now
	ahead := bytes
	for _, p := range f.flying {
		ahead += p.bytes
	}
	f.flying = append(f.flying, sent{id, now, bytes, ahead})
}

// ack notes that a picture, and with it all before it, is drawn.
func (f *flow) ack(now time.Time, id uint32, wait time.Duration) {
	for len(f.flying) > 0 && int32(id-f.flying[0].id) >= 0 {
		p := f.flying[0]
		f.flying = f.flying[1:]
		f.acked.Add(now, float64(8*p.bytes))
		if p.id == id {
			f.past = append(f.past, delay{now, max(now.Sub(p.at)-wait, 0), p.bytes, p.ahead})
		}
	}
	f.past = since(f.past, now.Add(-remember))
	if now.Sub(f.judged) >= judgement {
		f.judge(now)
		f.judged = now
	}
}

// least returns the shortest delay of late.
func (f *flow) least() time.Duration { return shortest(f.past) }

// shortest returns the least of some delays, 0 of none.
func shortest(all []delay) (least time.Duration) {
	for i, d := range all {
		if i == 0 || d.d < least {
			least = d.d
		}
	}
	return least
}

// recent returns the mean since the last decision.
func (f *flow) recent(now time.Time) (mean delays) {
	n := 0
	for _, d := range f.past {
		if now.Sub(d.at) <= judgement {
			mean.d += d.d
			mean.ahead += d.ahead
			n++
		}
	}
	return delays{mean.d / time.Duration(max(n, 1)), mean.ahead / max(n, 1)}
}

func (f *flow) judge(now time.Time) {
	through, mean := f.acked.Sum(now), f.recent(now)
	switch {
	case now.Before(f.blameless):
	case mean.d > f.least()+slack:
		f.fall(now, through, mean)
	case through > f.rate*0.6: // an unused rate does not measure the line
		f.rate *= 1.08
		f.before.rate = 0
	default:
		f.before.rate = 0
	}
	f.rate = min(max(f.rate, minRate), maxRate)
}

// fall lowers the rate, or finds that fewer bits do not come sooner.
func (f *flow) fall(now time.Time, through float64, mean delays) {
	if f.before.rate == 0 {
		f.before.rate, f.before.delays = f.rate, mean
	}
	if f.rate <= max(f.before.rate/trial, minRate) && mean.ahead <= f.before.ahead/trial && mean.d > f.before.d*2/3 {
		f.rate, f.before.rate = f.before.rate, 0
		f.blameless = now.Add(pardon)
		return
	}
	f.rate = max(min(f.rate, max(through, f.rate/2))*0.85, min(f.rate, f.shown(now)/2))
}

// shown returns the highest recent throughput, in bits a second. Small pictures do not count,
// since even thin lines take them at once. Pictures ahead may have arrived already, and wait to be
// drawn.
func (f *flow) shown(now time.Time) (most float64) {
	for _, d := range f.past {
		if now.Sub(d.at) <= credible && (d.bytes >= much || d.d >= judgement/10) {
			most = max(most, float64(8*d.bytes)/max(d.d, time.Millisecond).Seconds())
		}
	}
	return most
}
