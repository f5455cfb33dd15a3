package web

import (
	"time"
)

// flow decides how much one viewer is sent: how many pictures may be on their way, and how many bits they may take. It goes by the
// acknowledgements, and is for one goroutine at a time.
//
// The delay of a picture is what it takes from being sent to being acknowledged, less what the page had it waiting: the line, and what
// stands before it. While that stays near the least that was seen lately the rate rises; when it grows, pictures queue somewhere on the
// way, and the rate falls below what came through.
type flow struct {
	rate     float64 // bits a second
	flying   []sent  // the oldest first
	delays   []delay // of the last seconds, the oldest first
	acked    bytesIn // what came through
	judged   time.Time
	interval time.Duration // from picture to picture, as they come
	last     time.Time     // when one was sent
}

type sent struct {
	id    uint32
	at    time.Time
	bytes int
}

type delay struct {
	at time.Time
	d  time.Duration
}

const (
	firstRate = 8e6
	minRate   = 150e3
	maxRate   = 60e6

	remember  = 30 * time.Second       // the least delay is of this time
	judgement = 250 * time.Millisecond // from one decision to the next
	slack     = 40 * time.Millisecond  // by how much delays differ on a line that is not full

	fewest, most = 3, 12 // pictures on their way
)

func newFlow() *flow { return &flow{rate: firstRate, interval: time.Second / 30} }

// room says whether another picture may go.
func (f *flow) room() bool { return len(f.flying) < f.limit() }

// limit is how many pictures may be on their way: what a long line holds, and two more.
func (f *flow) limit() int {
	if f.interval <= 0 {
		return fewest
	}
	return min(max(int(f.least()/f.interval)+2, fewest), most)
}

// send notes a picture that goes out.
func (f *flow) send(now time.Time, id uint32, bytes int) {
	if !f.last.IsZero() {
		if d := now.Sub(f.last); d < time.Second {
			f.interval += (d - f.interval) / 16
		}
	}
	f.last = now
	f.flying = append(f.flying, sent{id, now, bytes})
}

// ack notes that a picture is drawn, and with it all that went before.
func (f *flow) ack(now time.Time, id uint32, wait time.Duration) {
	for len(f.flying) > 0 && int32(id-f.flying[0].id) >= 0 {
		p := f.flying[0]
		f.flying = f.flying[1:]
		f.acked.add(now, p.bytes)
		if p.id == id {
			f.delays = append(f.delays, delay{now, max(now.Sub(p.at)-wait, 0)})
		}
	}
	old := 0
	for old < len(f.delays) && now.Sub(f.delays[old].at) > remember {
		old++
	}
	f.delays = append(f.delays[:0], f.delays[old:]...)
	if now.Sub(f.judged) >= judgement {
		f.judge(now)
		f.judged = now
	}
}

// least returns the shortest delay of late.
func (f *flow) least() time.Duration {
	if len(f.delays) == 0 {
		return 0
	}
	least := f.delays[0].d
	for _, d := range f.delays {
		least = min(least, d.d)
	}
	return least
}

// recent returns the mean delay since the last decision.
func (f *flow) recent(now time.Time) (mean time.Duration) {
	n := time.Duration(0)
	for _, d := range f.delays {
		if now.Sub(d.at) <= judgement {
			mean += d.d
			n++
		}
	}
	return mean / max(n, 1)
}

func (f *flow) judge(now time.Time) {
	through := f.acked.rate(now)
	switch {
	case f.recent(now) > f.least()+slack:
		f.rate = min(f.rate, max(through, f.rate/2)) * 0.85
	case through > f.rate*0.6: // a rate that is not used says nothing of the line
		f.rate *= 1.08
	}
	f.rate = min(max(f.rate, minRate), maxRate)
}

// bytesIn counts the bytes of the last second.
type bytesIn struct {
	at    []time.Time
	bytes []int
}

func (b *bytesIn) add(now time.Time, n int) {
	b.at, b.bytes = append(b.at, now), append(b.bytes, n)
	b.trim(now)
}

func (b *bytesIn) trim(now time.Time) {
	old := 0
	for old < len(b.at) && now.Sub(b.at[old]) > time.Second {
		old++
	}
	b.at, b.bytes = append(b.at[:0], b.at[old:]...), append(b.bytes[:0], b.bytes[old:]...)
}

// rate returns bits a second.
func (b *bytesIn) rate(now time.Time) (bits float64) {
	b.trim(now)
	for _, n := range b.bytes {
		bits += float64(8 * n)
	}
	return bits
}
