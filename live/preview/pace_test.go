package preview

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const slow, within, quick = 18 * time.Millisecond, 10 * time.Millisecond, 3 * time.Millisecond
	p := newPace(30)
	for i, s := range []struct {
		took     time.Duration
		pictures int
		changes  int
		preset   string
	}{
		// slow for less than a second
		{within, 1000, 0, "superfast"}, {slow, 29, 0, "superfast"}, {within, 10, 0, "superfast"}, {slow, 9, 0, "superfast"},
		{slow, 40, 1, "ultrafast"}, {slow, 1000, 0, "ultrafast"}, // in time with it
		{within, 2000, 0, "ultrafast"}, {quick, 890, 0, "ultrafast"}, {within, 1, 0, "ultrafast"}, {quick, 899, 0, "ultrafast"},
		{quick, 1, 1, "superfast"}, {quick, 2000, 0, "superfast"},
	} {
		changes := 0
		for range s.pictures {
			if p.changes(s.took) {
				changes++
			}
		}
		if changes != s.changes || p.preset() != s.preset {
			t.Errorf("step %d: %d changes, to %s", i, changes, p.preset())
		}
	}
}

func TestRhythm(t *testing.T) {
	r := newRhythm(30)
	at := 5e9
	feed := func(step float64, n int) (ms float64) {
		for range n {
			at += step
			ms = float64(r.next(at)) / 1e6
		}
		return ms
	}
	for _, c := range []struct {
		step float64
		n    int
		want float64
	}{
		{1000. / 30, 1, 33.3}, {1000. / 60, 60, 16.7}, {100, 80, 100}, {1e7, 1, 110}, {100, 100, 100}, {2000, 200, 250}, {0, 10, 250}, {-1e9, 1, 250}, {40, 100, 40},
	} {
		if got := feed(c.step, c.n); math.Abs(got-c.want) > 0.5 {
			t.Errorf("%d pictures %g ms apart make %g ms", c.n, c.step, got)
		}
	}
	r = newRhythm(1)
	if got := r.next(0); got != 250*time.Millisecond {
		t.Errorf("%v at one picture a second", got)
	}
}

func TestSizing(t *testing.T) {
	z := newSizing(ViewStack, 30)
	const w, h = 1920, 1080
	begin := func(bits int64, want float64) {
		t.Helper()
		if s := z.begin(w, h, bits, steps{}); s.scale != want {
			t.Errorf("scale %g at %d bits a second, want %g", s.scale, bits, want)
		}
	}
	// number of pictures until the size is found unfit, 0 for never
	unfit := func(bits int64, want int) {
		t.Helper()
		for n := 1; n <= 200; n++ {
			if z.unfit(w, h, bits, steps{}) {
				if n != want {
					t.Errorf("unfit after %d pictures at %d bits a second, want %d", n, bits, want)
				}
				return
			}
		}
		if want != 0 {
			t.Errorf("%d bits a second are fit", bits)
		}
	}
	begin(4e6, 1)
	unfit(2.5e6, 0)
	unfit(2e6, 60)
	begin(2e6, 1.5)
	unfit(3e6, 0)
	unfit(5e6, 60)
	begin(5e6, 1)
	begin(50_000, 6) // no smaller than 320x180
}

// A coder that stays late gets fewer bits, then a smaller picture, and both back when it has time.
func TestPaceOfALateCoder(t *testing.T) {
	p := newPace(30)
	const late, quick = 40 * time.Millisecond, 5 * time.Millisecond
	feed := func(took time.Duration, pictures int) (all []paceStep) {
		for range pictures {
			before := p.step()
			p.changes(took)
			if p.step() != before {
				all = append(all, p.step())
			}
		}
		return all
	}
	if got := feed(late, 1000); !slices.Equal(got, paceSteps[1:]) {
		t.Errorf("late: %v", got)
	}
	for i := 1; i < len(paceSteps); i++ {
		last, step := paceSteps[i-1], paceSteps[i]
		if step.bits > last.bits || step.smaller > last.smaller && step.bits == last.bits && last.bits == 1 {
			t.Errorf("step %d: fewer bits come before a smaller picture", i)
		}
	}
	if got := feed(quick, 3700); len(got) != len(paceSteps)-1 || got[len(got)-1] != paceSteps[0] {
		t.Errorf("quick again: %v", got)
	}
}

// Steps shrink large pictures at once and give the reason. 640x360 pictures keep their size.
func TestSizingOfTheLate(t *testing.T) {
	const ample = 1e9
	for _, c := range []struct {
		w, h  int
		bits  int64
		by    steps
		scale float64
		why   Smaller
	}{
		{1920, 1080, ample, steps{}, 1, ""}, {1920, 1080, ample, steps{coder: 1}, 1.5, ForCoder},
		{1920, 1080, ample, steps{viewer: 1}, 1.5, ForViewer}, {1920, 1080, ample, steps{1, 1}, 2, ForViewer},
		{1920, 1080, ample, steps{2, 2}, 3, ForViewer}, {1920, 1080, 2e6, steps{}, 1.5, ForRate}, {1920, 1080, 2e6, steps{coder: 1}, 2, ForCoder},
		{1280, 720, ample, steps{coder: 2}, 2, ForCoder}, {1280, 720, ample, steps{2, 2}, 2, ForCoder},
		{640, 360, ample, steps{2, 2}, 1, ""}, {9000, 16, ample, steps{}, 1.5, ""},
	} {
		z := newSizing(ViewStack, 30)
		z.begin(c.w, c.h, c.bits, steps{})
		if before := z.scale; z.unfit(c.w, c.h, c.bits, c.by) != (before != c.scale) {
			t.Errorf("%+v: from scale %g", c, before)
		}
		if s := z.begin(c.w, c.h, c.bits, c.by); s.scale != c.scale || s.smaller != c.why {
			t.Errorf("%+v: scale %g for %q", c, s.scale, s.smaller)
		}
	}
}
