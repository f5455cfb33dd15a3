package noise

import (
	"fmt"
	"math"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

const (
	width, height = 416, 240
	frames        = 8
)

// sample draws frames of the project's own sample clip.
func sample(n int) []plane.Picture {
	cfg := scene.Config{Width: width, Height: height, RateNum: 25, RateDen: 1}
	f := pipeline.Blank(cfg.Format())
	clip := make([]plane.Picture, n)
	for i := range clip {
		cfg.Draw(f, i)
		clip[i] = plane.Of(f, plane.Whole)
	}
	return clip
}

// clips have no noise except rounding.
func clips() map[string][]plane.Picture {
	return map[string][]plane.Picture{
		"sample":   sample(frames),
		"still":    draw(width, height, frames, pan(0, 0)),
		"pan":      draw(width, height, frames, pan(1.7, 0.6)),
		"fast":     draw(width, height, frames, pan(13.3, 4.1)),
		"zoom":     draw(width, height, frames, zoom(0.012)),
		"detailed": draw(width, height, frames, detailed(2.3, -1.1)),
		"walls":    draw(width, height, frames, walls),
	}
}

func TestCleanClips(t *testing.T) {
	for name, clip := range clips() {
		for n, m := range models(clip) {
			if !m.Clean() {
				t.Errorf("%s: frame %d has sigma %.2f", name, n, m.Sigma[0])
			}
		}
	}
}

func TestWhiteNoise(t *testing.T) {
	for name, clip := range clips() {
		for _, sigma := range []float64{3, 5, 10, 20, 30} {
			t.Run(fmt.Sprint(name, sigma), func(t *testing.T) {
				all := models(noisy(clip, 1, white(sigma)))
				for n, m := range all {
					for c, got := range m.Sigma {
						// Chroma moves by half-pels: where all is texture, no block matches.
						near(t, fmt.Sprintf("frame %d, plane %d", n, c), got, sigma, 0.12)
					}
					near(t, "luma", m.Sigma[0], sigma, 0.10)
					near(t, "what the filter goes by", m.Led().Sigma[0], m.Sigma[0], 0.001)
				}
				steady(t, all, 0.02)
			})
		}
	}
}

// near fails unless a value is that wanted, within a relative error.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got/want-1) > within {
		t.Errorf("%s: %.3f, want %.3f within %.0f %%", what, got, want, 100*within)
	}
}

// steady fails if sigma jumps from frame to frame.
func steady(t *testing.T, all []Model, within float64) {
	t.Helper()
	for n := 1; n < len(all); n++ {
		near(t, fmt.Sprintf("frame %d beside the one before", n), all[n].Sigma[0], all[n-1].Sigma[0],
			within)
	}
}

// walls stand still, and have hard edges everywhere.
func walls(c, _ int, x, y float64) float64 {
	if c > 0 {
		return 128
	}
	return 60 + 14*float64((int(x)/5+int(y)/7)%11)
}

// ridge is a bright sky that darkens towards the top, over a sixth of dark hills.
func ridge(c, t int, x, y float64) float64 {
	switch {
	case c > 0:
		return 128
	case y > 5*height/6+8*texture(x+float64(t), 0, 60, 2):
		return 42
	default:
		return 130 + 80*y/height
	}
}

func TestPoissonNoise(t *testing.T) {
	// Sigma is 15 at 128. Except for a small constant, the variance is proportional to brightness.
	variance := func(v float64) float64 { return 225 * (0.1225 + 0.8775*v/128) }
	for name, c := range map[string]struct {
		painter
		at []int // brightness
	}{
		"pan":   {pan(1.7, 0.6), []int{64, 128, 192}},
		"ridge": {ridge, []int{42, 140, 180}},
	} {
		clip := noisy(draw(width, height, frames, c.painter), 1, func(c int, v float64) float64 {
			if c > 0 {
				v = 128
			}
			return math.Sqrt(variance(v))
		})
		for _, m := range models(clip) {
			for _, b := range c.at {
				got := m.Sigma[0] * m.Sigma[0] * float64(m.Curve[b])
				near(t, fmt.Sprintf("%s: sigma at %d", name, b), math.Sqrt(got), math.Sqrt(variance(float64(b))), 0.1)
			}
			near(t, "chroma", m.Sigma[1]*math.Sqrt(float64(m.CurveOf(1)[128])), 15, 0.05)
		}
	}
}

func TestCurveIsFlatForWhiteNoise(t *testing.T) {
	for _, m := range models(noisy(draw(width, height, frames, pan(1.7, 0.6)), 1, white(8))) {
		for b := 32; b < 224; b++ {
			near(t, fmt.Sprintf("curve at %d", b), float64(m.Curve[b]), 1, 0.1)
		}
	}
}

func TestGrain(t *testing.T) {
	grain := newGrain(1, 10)
	clean := draw(width, height, frames, pan(1.7, 0.6))
	want := grain.spectrum()
	for _, m := range models(grain.add(clean)) {
		// The match hides a part of grain as coarse as this: as much as is in the tolerances.
		near(t, "sigma", m.Sigma[0], math.Sqrt(want.band(1, 14)), 0.15)
		got := m.lumaShape()
		for f, within := range []float64{0: 1, 1: 0.45, 2: 0.4, 3: 0.25, 4: 0.25} {
			near(t, fmt.Sprintf("variance at u+v=%d", f), got.band(f, f), want.band(f, f), within)
		}
		if g := m.grain(); math.Abs(g-2.35) > 0.4 {
			t.Errorf("grain of %.2f pixels, want 2.35", g)
		}
		if c := m.correlation(); c < 5 {
			t.Errorf("correlation %.1f", c)
		}
	}
	m := models(noisy(clean, 1, white(10)))[4]
	if g, c := m.grain(), m.correlation(); g > 0.5 || math.Abs(c-1) > 0.1 {
		t.Errorf("white noise: grain of %.2f pixels, correlation %.2f", g, c)
	}
}

func TestDepths(t *testing.T) {
	clip := noisy(draw(width, height, frames, pan(1.7, 0.6)), 1, white(6))
	want := models(clip)
	for _, depth := range []int{10, 12} {
		for n, m := range models(deepened(clip, depth)) {
			if m != want[n] {
				t.Errorf("%d bits, frame %d: sigma %v, 8 bits: %v", depth, n, m.Sigma, want[n].Sigma)
			}
		}
	}
	// Finer samples: noise of the depth, and some far below a level of 8 bits.
	for _, depth := range []int{9, 10, 12, 14, 16} {
		for _, sigma := range []float64{1.2, 4, 15} {
			fine := noisy(deepened(draw(width, height, frames, pan(0, 0)), depth), 1, white(sigma))
			for n, m := range models(fine) {
				for c, got := range m.Sigma {
					near(t, fmt.Sprintf("%d bits, frame %d, plane %d", depth, n, c), got, sigma, 0.05)
				}
			}
		}
	}
}

func TestOtherLayouts(t *testing.T) {
	clip := noisy(draw(width, height, frames, pan(1.7, 0.6)), 1, white(6))
	gray, full := make([]plane.Picture, frames), make([]plane.Picture, frames)
	for i, pic := range clip {
		gray[i] = plane.Picture{Planes: pic.Planes[:1]}
		y := pic.Planes[0]
		full[i] = plane.Picture{Planes: []plane.Plane{y, y, y}}
	}
	for n, m := range models(gray) {
		near(t, "gray", m.Sigma[0], 6, 0.1)
		if m.Sigma[1] != 0 || m.Sigma[2] != 0 {
			t.Errorf("frame %d of a gray clip has chroma noise %v", n, m.Sigma)
		}
		if m.Spectrum[1][5] <= 0 {
			t.Error("the filter would divide by zero")
		}
	}
	for _, m := range models(full) {
		near(t, "4:4:4", m.Sigma[1], 6, 0.1)
	}
}

func TestTiny(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 5}, {16, 16}, {31, 200}, {200, 9}} {
		clip := noisy(draw(size[0], size[1], 4, pan(0, 0)), 1, white(10))
		for _, m := range models(clip) {
			if !m.Clean() {
				t.Errorf("%v: %v", size, m.Sigma)
			}
		}
	}
	for _, size := range [][2]int{{32, 32}, {33, 47}, {64, 48}, {100, 35}} {
		clip := noisy(draw(size[0], size[1], frames, pan(0.4, 0.2)), 1, white(10))
		for _, m := range models(clip) {
			near(t, fmt.Sprint(size), m.Sigma[0], 10, 0.25)
		}
	}
}
