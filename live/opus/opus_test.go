package opus

import (
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/live"
	"vidfilter/live/livetest"
	"vidfilter/live/livetest/sessions"
	"vidfilter/live/sound"
)

// next returns the next packet.
func next(t *testing.T, r *Reader) Packet {
	t.Helper()
	select {
	case p := <-r.Packets():
		return p
	case <-time.After(20 * time.Second):
		t.Fatal("no sound comes")
		panic("unreachable")
	}
}

// TestSync: beeps match their flashes by both clocks, in whole packets without gaps, at most 100 ms
// late. A seek cancels pending sound. Load delays some beeps and drops pictures, but never all.
func TestSync(t *testing.T) {
	s, _, _ := sessions.Run(t, sessions.Loop(livetest.Flashing(t)))
	stream := New(s)
	w := s.Watch(64)
	defer w.Close()
	r := stream.Join()
	defer r.Close()
	heard := livetest.NewBeeps(t)
	type moment struct {
		at    time.Duration
		taken time.Time
	}
	var beeps []moment
	late, apart := time.Hour, time.Hour // the least
	for last := (Packet{}); len(beeps) < 5; {
		p := next(t, r)
		if d := p.At - last.At; last.Data != nil && p.At < time.Second && d != 20*time.Millisecond {
			t.Errorf("a packet at %v follows one at %v", p.At, last.At)
		}
		last = p
		for _, at := range heard.Add(p.Data, p.At) {
			beeps = append(beeps, moment{at, p.Taken.Add(at - p.At)})
			late = min(late, time.Since(p.Taken))
		}
	}
	for before, dark := time.Duration(0), false; before < beeps[4].at || apart == time.Hour; {
		pair, err := w.Next(t.Context())
		e2e.Must(t, err)
		bright := livetest.Bright(pair.Filtered)
		for _, b := range beeps {
			d := b.at - pair.At
			if !bright || !dark || pair.At-before > 50*time.Millisecond || d.Abs() > 200*time.Millisecond {
				continue
			}
			if d.Abs() > 25*time.Millisecond {
				t.Errorf("a flash at %v, and its beep at %v", pair.At, b.at)
			}
			apart = min(apart, b.taken.Sub(pair.Taken).Abs())
		}
		before, dark = pair.At, !bright
		pair.Release()
		if before > beeps[4].at+10*time.Second {
			t.Fatal("no flash comes with a beep")
		}
	}
	if late > 100*time.Millisecond || apart > 100*time.Millisecond {
		t.Errorf("beeps come %v after the picture of their time, and are taken %v from their flash", late, apart)
	}
	s.Seek(time.Second)
	for range 100 {
		if next(t, r).Begins {
			return
		}
	}
	t.Error("sound of the place that was left is not called off")
}

// TestReaders: the coder runs while there are readers, and a frozen file is silent.
func TestReaders(t *testing.T) {
	s, _, _ := sessions.Run(t, sessions.Loop(livetest.Flashing(t)))
	stream := New(s)
	for range 2 {
		a, b := stream.Join(), stream.Join()
		next(t, a)
		next(t, b)
		a.Close()
		b.Close()
		if stream.end != nil {
			t.Error("it codes for nobody")
		}
	}
	r := stream.Join()
	defer r.Close()
	next(t, r)
	s.Freeze(true)
	for silent := false; !silent; {
		select {
		case <-r.Packets(): // read before
		case <-time.After(300 * time.Millisecond):
			silent = true
		}
	}
	s.Freeze(false)
	next(t, r)
}

// TestClock: timestamps follow the sound while pictures vary, and never go back.
func TestClock(t *testing.T) {
	var c clock
	const ms = time.Millisecond
	zero := time.Unix(1000, 0)
	for _, x := range []struct {
		at, taken time.Duration
		want      int64 // samples after zero, or -1 for a dropped packet
	}{
		{0, 0, 0}, {20 * ms, 30 * ms, 960}, {40 * ms, 25 * ms, 1920}, {60 * ms, 100 * ms, 4800}, {80 * ms, 60 * ms, -1}, {100 * ms, 105 * ms, 5040},
	} {
		at, ok := c.at(Packet{At: x.at, Taken: zero.Add(x.taken)})
		if want := x.want + 1000*Rate; ok != (x.want >= 0) || ok && at != want {
			t.Errorf("%v, of %v: %d instead of %d, %v", x.at, x.taken, at-1000*Rate, x.want, ok)
		}
	}
}

// FuzzSound decodes arbitrary packets of browsers.
func FuzzSound(f *testing.F) {
	f.Add([]byte{0xfc, 0xff, 0xfe}, []byte{0xff, 3, 1, 2, 3, 4, 5, 6})
	f.Add([]byte{0x78, 0, 1, 2, 3}, []byte{0x0b, 0x83, 200, 1, 1})
	track, err := sound.OpusTrack()
	e2e.Must(f, err)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var c coder
		defer c.close()
		at := time.Duration(0)
		for range 3 {
			for _, data := range [][]byte{a, b} {
				length := sound.OpusLength(data)
				if length == 0 {
					continue // live.Feed drops it
				}
				c.code(live.Sound{Packet: sound.Packet{Data: data, At: at, Length: length}, Track: track}, func(out []byte, _ time.Duration) {
					if got := sound.OpusLength(out); got != 20*time.Millisecond {
						t.Errorf("a packet of %v", got)
					}
				})
				at += length
			}
		}
	})
}
