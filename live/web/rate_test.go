package web

import (
	"testing"
	"time"
)

// line simulates a network and a page, which take pictures one after the other.
type line struct {
	bits float64       // a second; 0 has no limit
	way  time.Duration // there and back
	slow time.Duration // the computer's time for each picture, before its acknowledgement
	free time.Time     // when the line, or the computer, becomes idle
}

// carry returns when a picture sent now is acknowledged.
func (l *line) carry(now time.Time, bytes int) time.Time {
	begin := now
	if l.free.After(begin) {
		begin = l.free
	}
	l.free = begin.Add(l.slow)
	if l.bits > 0 {
		l.free = l.free.Add(time.Duration(float64(8*bytes) / l.bits * float64(time.Second)))
	}
	return l.free.Add(l.way)
}

// play sends 30 pictures a second, each of the size that the flow allows. For the second half, it
// returns the worst latency from capture to acknowledgement and the number of pictures.
func play(f *rateControl, l *line, seconds int) (worst time.Duration, sent int) {
	type flying struct {
		id  uint32
		at  time.Time
		was time.Time
	}
	now := time.Unix(1000, 0)
	end := now.Add(time.Duration(seconds) * time.Second)
	half := now.Add(time.Duration(seconds) * time.Second / 2)
	var on []flying
	id, newest := uint32(0), time.Time{}
	next, ping := now, now
	for ; now.Before(end); now = now.Add(time.Millisecond) {
		for len(on) > 0 && !on[0].at.After(now) {
			f.ack(now, on[0].id, 0)
			if on[0].was.After(half) {
				worst = max(worst, now.Sub(on[0].was))
				sent++
			}
			on = on[1:]
		}
		if !ping.After(now) {
			d := l.way
			if l.bits > 0 {
				d += max(0, l.free.Sub(now))
			}
			f.ping(now, d)
			ping = ping.Add(2 * time.Second)
		}
		if !next.After(now) {
			newest = now // replaces one that was not sent
			next = next.Add(time.Second / 30)
		}
		if !newest.IsZero() && f.room() {
			id++
			bytes := int(f.rate / 30 / 8)
			f.send(now, id, bytes)
			on = append(on, flying{id, l.carry(now, bytes), newest})
			newest = time.Time{}
		}
	}
	return worst, sent
}

func TestFlowFillsAFastLine(t *testing.T) {
	f := newRateControl()
	worst, sent := play(f, &line{way: time.Millisecond}, 20)
	if f.rate != jpegMost || worst > 5*time.Millisecond || sent < 298 {
		t.Errorf("rate %.0f, worst %v, %d pictures", f.rate, worst, sent)
	}
}

// A line of 2 Mbit/s must not grow a queue, and must carry most of the pictures.
func TestFlowOnAThinLine(t *testing.T) {
	for _, bits := range []float64{500e3, 2e6, 10e6} {
		f := newRateControl()
		worst, sent := play(f, &line{bits: bits, way: 20 * time.Millisecond}, 40)
		if worst > 200*time.Millisecond || sent < 300 {
			t.Errorf("%.1f Mbit/s: worst %v, %d pictures", bits/1e6, worst, sent)
		}
		if f.rate > 2*bits || f.rate < bits/4 {
			t.Errorf("%.1f Mbit/s: rate %.2f Mbit/s", bits/1e6, f.rate/1e6)
		}
	}
}

// A long line is kept full, with several pictures in flight.
func TestFlowOnALongLine(t *testing.T) {
	f := newRateControl()
	worst, sent := play(f, &line{bits: 50e6, way: 150 * time.Millisecond}, 40)
	if sent < 570 || worst > 300*time.Millisecond || f.rate < 10e6 {
		t.Errorf("rate %.0f, worst %v, %d pictures", f.rate, worst, sent)
	}
}

// A page that is slow to draw gets fewer pictures, not worse ones.
func TestFlowToASlowPage(t *testing.T) {
	f := newRateControl()
	worst, sent := play(f, &line{slow: 70 * time.Millisecond, way: time.Millisecond}, 60)
	if f.rate < firstRate/2 || worst > 300*time.Millisecond || sent < 390 {
		t.Errorf("rate %.0f, worst %v, %d pictures", f.rate, worst, sent)
	}
}

// Unacknowledged pictures block the flow until a later one is acknowledged.
func TestFlowWithoutAnAnswer(t *testing.T) {
	f := newRateControl()
	now := time.Unix(1000, 0)
	id := uint32(1<<32 - 2) // wraps
	for f.room() {
		f.send(now, id, 1000)
		id++
	}
	if len(f.flying) != fewest {
		t.Errorf("%d pictures are on their way", len(f.flying))
	}
	f.ack(now.Add(time.Second), id-1, 0)
	if !f.room() || len(f.flying) != 0 {
		t.Errorf("still %d", len(f.flying))
	}
	f.ack(now, 12345, time.Hour) // an unknown picture
}

func TestUplink(t *testing.T) {
	u := uplink{rate: firstRate, least: 1e9}
	now := time.Unix(1000, 0)
	for range 300 { // a clock that is an hour off, and a good line
		now = now.Add(time.Second / 30)
		u.came(now, 3.6e6+5, int(u.rate/8/30))
	}
	if u.rate < 15e6 {
		t.Errorf("a good line: %.0f", u.rate)
	}
	late := 3.6e6 + 5
	for range 300 {
		now = now.Add(time.Second / 30)
		// at most 3 in flight
		late = min(max(late+(u.rate/2e6-1)*1000/30, 3.6e6+5), 3.6e6+5+3*u.rate/2e6*1000/30)
		u.came(now, late, int(min(u.rate, 2e6)/8/30))
	}
	if u.rate > 3e6 || u.rate < 0.5e6 {
		t.Errorf("a line that is full: %.0f", u.rate)
	}
}

// The size of the pictures bounds the rate, and chooses the first one.
func TestFlowIsBoundedBySize(t *testing.T) {
	for _, c := range []struct {
		samples int
		most    float64
	}{{640 * 720, 4e6}, {1280 * 1440, 11.06e6}, {1920 * 2160, 20e6}} {
		f := newRateControl()
		f.size(c.samples)
		if f.rate < c.most/2 || f.rate > c.most {
			t.Errorf("%d samples: the first rate is %.0f", c.samples, f.rate)
		}
		if play(f, &line{way: time.Millisecond}, 20); f.rate < 0.99*c.most || f.rate > 1.01*c.most {
			t.Errorf("%d samples: rate %.0f, not %.0f", c.samples, f.rate, c.most)
		}
	}
}

// decoding acknowledges 30 pictures a second for some seconds. A picture waits a part for its
// samples, which get fewer with smaller pictures, and a part for its bits.
func decoding(f *rateControl, now time.Time, seconds int, samples, bits time.Duration) time.Time {
	for range 30 * seconds {
		part := time.Duration((1 + f.smaller) * (1 + f.smaller))
		wait := samples/part + time.Duration(float64(bits)*f.rate/20e6)
		now = now.Add(time.Second / 30)
		id := uint32(now.UnixMilli())
		f.send(now, id, int(f.rate/8/30))
		f.ack(now.Add(wait), id, wait)
	}
	return now
}

// A late decoder gets fewer bits first, then smaller pictures. Both recover when it has time.
func TestFlowToALateDecoder(t *testing.T) {
	const ms = time.Millisecond
	now, full := time.Unix(1000, 0), 1920*2160
	f := newRateControl()
	f.size(full)
	now = decoding(f, now, 60, 30*ms, 40*ms)
	if f.smaller != 0 || f.rate > 15e6 || f.rate < 5e6 {
		t.Errorf("fewer bits would do: rate %.0f, %d steps smaller", f.rate, f.smaller)
	}
	now = decoding(f, now, 20, 70*ms, 10*ms)
	if f.smaller != 1 {
		t.Errorf("a smaller picture would do: rate %.0f, %d steps smaller", f.rate, f.smaller)
	}
	now = decoding(f, now, 20, 400*ms, 10*ms)
	if f.smaller != mostSmaller {
		t.Errorf("%d steps smaller", f.smaller)
	}
	now = decoding(f, now, 120, 10*ms, 5*ms)
	if f.smaller != 0 || f.rate < 19e6 {
		t.Errorf("it has time again: rate %.0f, %d steps smaller", f.rate, f.smaller)
	}
	// Larger pictures are tried again, but ever more rarely.
	changes, before := 0, 0
	for range 600 {
		if now = decoding(f, now, 1, 70*ms, 10*ms); f.smaller != before {
			changes++
			before = f.smaller
		}
	}
	if changes > 13 || f.smaller > 1 {
		t.Errorf("the size changes %d times in ten minutes, to %d steps smaller", changes, f.smaller)
	}
}
