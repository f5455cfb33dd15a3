package interlace_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/interlace"
	"vidfilter/pipeline"
)

// scene draws row y of a moving texture. time is in fields and speed in samples per field.
func scene(row []byte, y int, time, speed, noise float64, r *rand.Rand) {
	for x := range row {
		u, v := float64(x)+speed*time, float64(y)-speed*time/4
		s := 120 + 40*math.Sin(u/3) + 30*math.Sin(u/7+v/4) + 20*math.Sin(v/2.5)
		row[x] = byte(min(max(s+noise*r.NormFloat64(), 0), 255))
	}
}

// drawn returns frame n of a video. when returns the times of its fields.
func drawn(when func(n int) (top, bottom float64), n int, speed, noise float64, tagged interlace.Content) *pipeline.Frame {
	f := pipeline.Blank(pipeline.Format{Layout: pipeline.GRAY, Width: 96, Height: 64})
	r := rand.New(rand.NewPCG(3, uint64(n)))
	top, bottom := when(n)
	for y := range f.Height {
		t := top
		if y%2 > 0 {
			t = bottom
		}
		scene(f.Row(0, y), y, t, speed, noise, r)
	}
	f.Interlaced, f.TopFieldFirst = tagged != interlace.Progressive, tagged == interlace.TopFirst
	return f
}

// film returns the times of fields in 3:2 pulldown: film frames last two and three fields in turn.
func film(topFirst bool) func(n int) (top, bottom float64) {
	return func(n int) (top, bottom float64) {
		of := func(field int) float64 { return 2.5 * float64(field/5*2+[]int{0, 0, 1, 1, 1}[field%5]) }
		if topFirst {
			return of(2 * n), of(2*n + 1)
		}
		return of(2*n + 1), of(2 * n)
	}
}

// TestJudge checks the detected content and flags.
func TestJudge(t *testing.T) {
	const p, top, bottom, unclear = interlace.Progressive, interlace.TopFirst, interlace.BottomFirst, interlace.Unclear
	frames := func(n int) (float64, float64) { return float64(2 * n), float64(2 * n) }
	topFirst := func(n int) (float64, float64) { return float64(2 * n), float64(2*n + 1) }
	bottomFirst := func(n int) (float64, float64) { return float64(2*n + 1), float64(2 * n) }
	half := func(n int) (float64, float64) { // the field order changes halfway
		if n > 60 {
			return topFirst(n)
		}
		return bottomFirst(n)
	}
	for i, c := range []struct {
		when         func(n int) (top, bottom float64)
		speed, noise float64
		tags         interlace.Content
		want         interlace.Found
	}{
		{frames, 1, 0, p, interlace.Found{Content: p, Tags: p}},
		{frames, 3, 12, top, interlace.Found{Content: p, Tags: top}},
		{topFirst, 1, 4, top, interlace.Found{Content: top, Tags: top}},
		{topFirst, 0.3, 4, bottom, interlace.Found{Content: top, Tags: bottom}},
		{topFirst, 2, 12, p, interlace.Found{Content: top, Tags: p}},
		{bottomFirst, 2.6, 3, top, interlace.Found{Content: bottom, Tags: top}},
		{bottomFirst, 0.5, 0, bottom, interlace.Found{Content: bottom, Tags: bottom}},
		{topFirst, 0, 0, bottom, interlace.Found{Content: unclear, Tags: bottom}},
		{topFirst, 0, 12, bottom, interlace.Found{Content: unclear, Tags: bottom}},
		{half, 2, 2, bottom, interlace.Found{Content: unclear, Tags: bottom}},
		{film(true), 2, 0, top, interlace.Found{Tags: top, Telecine: true}},
		{film(true), 1, 6, p, interlace.Found{Tags: p, Telecine: true}},
		{film(false), 2, 3, bottom, interlace.Found{Tags: bottom, Telecine: true}},
	} {
		var j interlace.Judge
		for place := range 4 {
			for n := range 12 {
				j.Add(drawn(c.when, 37*place+n, c.speed, c.noise, c.tags))
			}
			j.Cut()
		}
		if got := j.Find(); got != c.want {
			t.Errorf("%d: %+v, not %+v", i, got, c.want)
		}
	}
	var none, small interlace.Judge
	small.Add(pipeline.Blank(pipeline.Format{Layout: pipeline.GRAY, Width: 2, Height: 2}))
	if f := fmt.Sprint(none.Find(), small.Find()); f != fmt.Sprint(interlace.Found{}, interlace.Found{}) {
		t.Error(f)
	}
}
