package noise

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Frames of a scene that flickers as a whole get one brightness. Other frames stay unchanged.
func TestLights(t *testing.T) {
	const w, h = 32, 24
	for _, c := range []struct {
		name     string
		light    func(n, x int, by float64) float64 // by is random
		flickers bool
	}{
		{"film", func(_, _ int, by float64) float64 { return 1 + 0.05*by }, true},
		{"steady", func(_, _ int, by float64) float64 { return 1 + 0.002*by }, false},
		{"fade", func(n, _ int, _ float64) float64 { return 1 - 0.02*float64(n) }, false},
		{"a lamp in a corner", func(_, x int, by float64) float64 {
			if x < w/4 {
				return 1 + 0.3*by
			}
			return 1
		}, false},
		{"a flash", func(n, _ int, _ float64) float64 {
			if n == 20 {
				return 1.5
			}
			return 1
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			l := Lights{Black: 16}
			flickered := 0.0
			var means []float64
			for n := range 40 {
				done := make(chan struct{})
				close(done)
				cut := n == 0 || n == 30
				r := &Reading{pair: &Pair{cut: cut}, done: done, thumb: level{w, h, make([]byte, w*h)}}
				by, sum := rng.NormFloat64(), 0.0
				for i := range r.thumb.pix {
					v := float64(30 + (i*37)%90)
					if n >= 30 {
						v += 60 // another scene
					}
					v *= c.light(n, i%w, by)
					r.thumb.pix[i] = byte(16.5 + v)
					sum += float64(r.thumb.pix[i]) - 16
				}
				f := l.Flicker(r)
				if n >= 30 && n < 30+fewestLit && f.Gain != 1 || n < fewestLit && f.Gain != 1 {
					t.Errorf("frame %d of a new scene has gain %.3f", n, f.Gain)
				}
				flickered = max(flickered, f.Part)
				if n >= 10 && n < 30 {
					means = append(means, sum/(w*h)*f.Gain)
				}
			}
			if (flickered > 0) != c.flickers {
				t.Errorf("flickers by %.2f", flickered)
			}
			for i := 1; i < len(means) && c.flickers; i++ {
				if math.Abs(means[i]/means[i-1]-1) > 0.015 {
					t.Errorf("brightness goes from %.1f to %.1f", means[i-1], means[i])
				}
			}
		})
	}
}

// Still film that flickers by place gets one brightness everywhere. A moving scene with the same
// flicker gets one gain.
func TestShade(t *testing.T) {
	const w, h, last = 40, 30, 20
	for _, moves := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(3, 4))
		l := Lights{Black: 16}
		var left [2]float64 // by one gain, by place
		for n := range last + 1 {
			done := make(chan struct{})
			close(done)
			r := &Reading{pair: &Pair{cut: n == 0}, done: done, thumb: level{w, h, make([]byte, w*h)}}
			gain, across, offset := 1+0.04*rng.NormFloat64(), 0.05*rng.NormFloat64(), rng.NormFloat64()
			picture := func(i int) float64 {
				if moves {
					i += 7 * n
				}
				return float64(60 + (i*37)%90)
			}
			for i := range r.thumb.pix {
				r.thumb.pix[i] = byte(16.5 + offset + picture(i)*(gain+across*Place(i%w, w)))
			}
			f := l.Flicker(r)
			if n < last/2 || f.Shade == nil {
				continue
			}
			for i, v := range r.thumb.pix {
				row := f.Shade.Row(Place(i/w, h))
				is := (float64(v)-16)*row.At(Place(i%w, w)) + f.Shade.Offset
				left[0] += math.Abs((float64(v)-16)*f.Gain - picture(i))
				left[1] += math.Abs(is - picture(i))
			}
		}
		t.Logf("moves %v: by one gain %.0f, by place %.0f", moves, left[0], left[1])
		if moves && left[0] != left[1] || !moves && left[1] > left[0]/2 {
			t.Errorf("moves %v: %.0f left, by one gain %.0f", moves, left[1], left[0])
		}
	}
}
