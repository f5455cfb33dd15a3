package web

import (
	"slices"
	"time"

	"vidfilter/live"
	"vidfilter/live/preview"
)

// rateControl limits one viewer's pictures in flight and bit rate by its acknowledgements. It is
// not safe for concurrent use.
//
// The delay of a picture is the time from sending it to its acknowledgement, less its wait in the
// page. While the delay stays near its recent minimum, the rate rises. When it grows, pictures
// queue on the way, and the rate falls below the throughput. If that does not help, the viewer's
// computer is slow, not the line: the rate returns to its old value for a while, and pictures
// become smaller. If pictures wait long in the page, the rate falls first to save decoding time.
type rateControl struct {
	rate     float64        // bits a second
	flying   []sentPictures // the oldest first
	past     []delay        // of the last seconds, oldest first
	acked    live.Window    // bits that came through
	judged   time.Time
	interval time.Duration // between pictures
	last     time.Time     // when one was sent
	pings    []delay       // of the last minute

	before struct { // when the rate began to fall
		rate float64 // 0 while it does not
		delays
	}
	blameless time.Time // until then delays are not blamed on the line

	most    float64       // the highest rate for the size of the pictures
	period  time.Duration // of the source's pictures
	smaller int           // steps by which pictures are to be smaller
	resized time.Time     // when that changed
	tired   time.Time     // when pictures last waited too long
	busy    time.Time     // when they last waited too long for larger ones
	growth  time.Duration // time without long waits before larger pictures are tried
}

type sentPictures struct {
	id    uint32
	at    time.Time
	bytes int
	ahead int // bytes in flight, including its own
}

type delay struct {
	at           time.Time // when it was acknowledged
	d            time.Duration
	wait         time.Duration // in the page
	bytes, ahead int
}

// delays are means.
type delays struct {
	d, wait time.Duration
	ahead   int
}

const (
	firstRate = 8e6
	minRate   = 150e3
	jpegMost  = 60e6

	mostSmaller = 2
	tireless    = 5 * time.Second // after a long wait the rate does not rise
	mostGrowth  = 10 * time.Minute

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

func newRateControl() *rateControl {
	return &rateControl{rate: firstRate, most: jpegMost, interval: time.Second / 30, period: time.Second / 30, growth: pardon}
}

// size sets the number of samples in a picture. The first rate is near the highest: at a low one
// noise is lost and the original looks filtered.
func (f *rateControl) size(samples int) {
	first := f.most == jpegMost
	f.most = preview.Ample(samples, 1/f.period.Seconds())
	if first && f.rate == firstRate {
		f.rate = 0.6 * f.most
	}
	f.rate = min(f.rate, f.most)
}

// room reports whether another picture may go.
func (f *rateControl) room() bool { return len(f.flying) < f.limit() }

// limit returns the number of pictures that may be in flight: what the line holds plus two. Pings
// measure the line; pictures queue behind each other, so measuring them would raise the limit.
func (f *rateControl) limit() int {
	return min(max(int(shortest(f.pings)/f.interval)+2, fewest), most)
}

// ping records a round trip.
func (f *rateControl) ping(now time.Time, d time.Duration) {
	f.pings = append(since(f.pings, now.Add(-pinged)), delay{at: now, d: d})
}

// since removes the entries older than t.
func since(all []delay, t time.Time) []delay {
	return slices.DeleteFunc(all, func(d delay) bool { return d.at.Before(t) })
}

// send records a picture that is sent.
func (f *rateControl) send(now time.Time, id uint32, bytes int) {
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
	f.flying = append(f.flying, sentPictures{id, now, bytes, ahead})
}

// ack records that a picture and all before it are drawn.
func (f *rateControl) ack(now time.Time, id uint32, wait time.Duration) {
	for len(f.flying) > 0 && int32(id-f.flying[0].id) >= 0 {
		p := f.flying[0]
		f.flying = f.flying[1:]
		f.acked.Add(now, float64(8*p.bytes))
		if p.id == id {
			f.past = append(f.past, delay{now, max(now.Sub(p.at)-wait, 0), wait, p.bytes, p.ahead})
		}
	}
	f.past = since(f.past, now.Add(-remember))
	if now.Sub(f.judged) >= judgement {
		f.judge(now)
		f.judged = now
	}
}

// least returns the shortest recent delay.
func (f *rateControl) least() time.Duration { return shortest(f.past) }

// shortest returns the shortest delay, 0 without delays.
func shortest(all []delay) (least time.Duration) {
	for i, d := range all {
		if i == 0 || d.d < least {
			least = d.d
		}
	}
	return least
}

// recent returns the mean since the last decision.
func (f *rateControl) recent(now time.Time) (mean delays) {
	n := 0
	for _, d := range f.past {
		if now.Sub(d.at) <= judgement {
			mean.d += d.d
			mean.wait += d.wait
			mean.ahead += d.ahead
			n++
		}
	}
	n = max(n, 1)
	return delays{mean.d / time.Duration(n), mean.wait / time.Duration(n), mean.ahead / n}
}

func (f *rateControl) judge(now time.Time) {
	through, mean := f.acked.Sum(now), f.recent(now)
	switch {
	case now.Before(f.blameless):
	case mean.d > f.least()+slack:
		f.fall(now, through, mean)
	case mean.wait > max(f.period*3/2, slack):
		f.tire(now)
	case now.Sub(f.tired) < tireless:
	case through > f.rate*0.6: // an unused rate does not measure the line
		f.rate *= 1.08
		f.before.rate = 0
	default:
		f.before.rate = 0
	}
	f.rate = min(max(f.rate, minRate), f.most)
	f.grow(now, mean.wait)
}

// tire sends fewer bits, then smaller pictures, to a viewer that decodes or draws too slowly.
func (f *rateControl) tire(now time.Time) {
	f.tired, f.before.rate = now, 0
	const enough = 4 // the highest rate by this still shows the picture
	if f.rate > f.most/enough {
		f.rate = max(f.rate*0.8, f.most/enough)
		return
	}
	f.shrink(now)
}

// shrink makes pictures smaller, unless that just happened.
func (f *rateControl) shrink(now time.Time) {
	const effect = 2 * time.Second
	if f.smaller == mostSmaller || now.Sub(f.resized) < effect {
		return
	}
	if f.smaller == 0 && !f.resized.IsZero() && now.Sub(f.resized) < pardon {
		f.growth = min(2*f.growth, mostGrowth) // larger ones did not work
	}
	f.smaller, f.resized = f.smaller+1, now
}

// grow makes pictures larger again after a while of ample time.
func (f *rateControl) grow(now time.Time, wait time.Duration) {
	if wait > f.period/2 {
		f.busy = now
	}
	if f.smaller > 0 && now.Sub(f.busy) > f.growth && now.Sub(f.resized) > f.growth {
		f.smaller, f.resized = f.smaller-1, now
	}
}

// fall lowers the rate, unless fewer bits have not reduced the delay.
func (f *rateControl) fall(now time.Time, through float64, mean delays) {
	if f.before.rate == 0 {
		f.before.rate, f.before.delays = f.rate, mean
	}
	if f.rate <= max(f.before.rate/trial, minRate) && mean.ahead <= f.before.ahead/trial && mean.d > f.before.d*2/3 {
		f.rate, f.before.rate = f.before.rate, 0
		f.blameless = now.Add(pardon)
		f.shrink(now)
		return
	}
	f.rate = max(min(f.rate, max(through, f.rate/2))*0.85, min(f.rate, f.shown(now)/2))
}

// shown returns the highest recent throughput, in bits a second. Small pictures do not count, since
// even thin lines take them at once, nor do pictures ahead, which may only wait to be drawn.
func (f *rateControl) shown(now time.Time) (most float64) {
	for _, d := range f.past {
		if now.Sub(d.at) <= credible && (d.bytes >= much || d.d >= judgement/10) {
			most = max(most, float64(8*d.bytes)/max(d.d, time.Millisecond).Seconds())
		}
	}
	return most
}
