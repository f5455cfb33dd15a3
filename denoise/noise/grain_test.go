package noise

import (
	"fmt"
	"math"
	"testing"

	"vidfilter/denoise/plane"
)

// coarse adds grain of a blur to each plane: of sigma[0] to luma, sigma[1] to chroma.
func coarse(clip []plane.Picture, blur, sigma [2]float64) []plane.Picture {
	out := noisy(clip, 1, white(0))
	for t, pic := range out {
		for c, p := range pic.Planes {
			s, b := sigma[min(c, 1)], blur[min(c, 1)]
			if s == 0 {
				continue
			}
			field := newGrain(b, s).field(p.Width, p.Height, uint64(3*t+c))
			for i, v := range p.Pix {
				p.Pix[i] = round(float64(v)+s*field[i], p.Max())
			}
		}
	}
	return out
}

// quantised cuts the DCT of 8x8 blocks of each plane to multiples of a step, coarser towards high
// frequencies, with a zone about zero: as a codec does.
func quantised(clip []plane.Picture, step float64) []plane.Picture {
	out := noisy(clip, 1, white(0))
	for _, pic := range out {
		for _, p := range pic.Planes {
			for at := range p.Width / 8 * (p.Height / 8) {
				quantise(p, at%(p.Width/8)*8, at/(p.Width/8)*8, step)
			}
		}
	}
	return out
}

func quantise(p plane.Plane, x, y int, step float64) {
	var b block
	for i := range b {
		b[i] = float32(p.At(x+i%8, y+i/8))
	}
	b.dct()
	for k, v := range b {
		q := step * (1 + float64(k%8+k/8)/4)
		b[k] = float32(math.Copysign(math.Floor(math.Abs(float64(v))/q+1.0/3)*q, float64(v)))
	}
	for i := range b {
		sum := 0.0
		for k, v := range b {
			if v != 0 {
				sum += float64(v) * cosine(k%8, i%8) * cosine(k/8, i/8)
			}
		}
		p.Row(y + i/8)[x+i%8] = round(sum, p.Max())
	}
}

// trueSigma returns the mean level of the spectrum of grain with a blur and sigma 1.
func trueSigma(blur float64) float64 {
	s := newGrain(blur, 1).spectrum()
	return math.Sqrt(s.band(1, 14))
}

// TestChromaGrain: the chroma level covers all frequencies, not only the highest.
func TestChromaGrain(t *testing.T) {
	clip := draw(320, 192, 9, pan(1.7, 0.6))
	for _, blur := range []float64{0.7, 1, 2} {
		for _, sigma := range []float64{2, 5} {
			list := models(coarse(clip, [2]float64{0.3, blur}, [2]float64{5, sigma}))
			m := list[len(list)-1]
			led := m.Led()
			for c := 1; c < 3; c++ {
				near(t, fmt.Sprintf("blur %.1f, plane %d", blur, c), m.Sigma[c], sigma*trueSigma(blur), 0.15)
				if blur == 1 && sigma == 2 {
					near(t, "what the filter goes by", led.Sigma[c], grainLead*m.Sigma[c], 0.05)
				}
			}
			if led.Led().Sigma != led.Sigma {
				t.Error("the filter goes by more each time")
			}
			near(t, "luma", m.Sigma[0], 5, 0.1)
		}
	}
}

// TestFilmCurve: film has most grain in the middle tones.
func TestFilmCurve(t *testing.T) {
	bands := func(c, t int, x, y float64) float64 {
		if c > 0 {
			return 128
		}
		return 30 + 25*math.Floor(math.Mod(y, 192)/24) + 2*texture(x+1.7*float64(t), y, 30, 2)
	}
	middle := func(brightness float64) float64 {
		x := (brightness - 128) / 50
		return 0.1 + math.Exp(-x*x)
	}
	clip := draw(320, 192, 14, bands)
	field := newGrain(1.5, 1)
	for n, pic := range clip {
		p := pic.Planes[0]
		grain := field.field(p.Width, p.Height, uint64(n))
		for i, v := range p.Pix {
			p.Pix[i] = round(float64(v)+4*math.Sqrt(middle(float64(v)))*grain[i], p.Max())
		}
	}
	for n, m := range models(clip)[6:] {
		for b := 36; b <= 200; b += 4 {
			got, want := m.Sigma[0]*m.Sigma[0]*float64(m.Curve[b]), 16*middle(float64(b))*trueSigma(1.5)*trueSigma(1.5)
			if got < want/2-0.3 || got > want*2+0.3 {
				t.Errorf("frame %d: at brightness %d variance %.2f, want %.2f", n+6, b, got, want)
			}
		}
	}
}

// TestQuantisedGrain: after a codec, grain remains at low frequencies only.
func TestQuantisedGrain(t *testing.T) {
	clip := draw(320, 192, 12, pan(1.7, 0.6))
	for name, c := range map[string]struct {
		clip        []plane.Picture
		least, most float64
	}{
		"faint":  {coarse(clip, [2]float64{1.5, 1}, [2]float64{3, 0}), 1.5, 4},
		"strong": {coarse(clip, [2]float64{1, 1}, [2]float64{8, 0}), 5, 10},
		"none":   {clip, 0, 0.79},
	} {
		t.Run(name, func(t *testing.T) {
			list := models(quantised(c.clip, 6))
			for n, m := range list[5:] {
				if s := m.Sigma[0]; s < c.least || s > c.most || m.Clean() != (c.least == 0) {
					t.Errorf("frame %d: sigma %.2f, clean %v", n+5, s, m.Clean())
				}
			}
			if c.least > 0 {
				steady(t, list[5:], 0.15)
			}
		})
	}
}

// TestMeansOfGrain: the grain of blocks' means is measured, and changes of light add little to it.
func TestMeansOfGrain(t *testing.T) {
	const blur, sigma = 2, 4
	light := func(level func(t int) float64) painter {
		return func(c, t int, x, y float64) float64 {
			if c > 0 {
				return 128
			}
			return land(c, x, y) - level(t)
		}
	}
	truth := newGrain(blur, 1).spectrum()
	for name, c := range map[string]struct {
		painter
		least, most float64 // of the true ratio of the mean's variance to the lowest frequency's
	}{
		"pan":     {pan(1.7, 0.6), 0.8, 1.2},
		"fade":    {light(func(t int) float64 { return 1.5 * float64(t) }), 0.4, 1.2},
		"flicker": {light(func(t int) float64 { return float64(t * 7 % 5) }), 0.8, 1.9},
	} {
		t.Run(name, func(t *testing.T) {
			list := models(coarse(draw(320, 192, 10, c.painter), [2]float64{blur, blur}, [2]float64{sigma, sigma}))
			s := &list[len(list)-1].Spectrum[0]
			ratio := float64(s[0] / s[1] / float32(truth[0]/truth[1]))
			if ratio < c.least || ratio > c.most {
				t.Errorf("%.2f times the true ratio, want %.1f to %.1f", ratio, c.least, c.most)
			}
		})
	}
}

// TestPyramidOfGrain: a codec that keeps more of some frames does not hide that there is grain.
func TestPyramidOfGrain(t *testing.T) {
	clip := coarse(draw(320, 192, 17, pan(1.7, 0.6)), [2]float64{0.5, 1}, [2]float64{5, 0})
	steps := [4]float64{4, 17, 11, 17}
	for n := range clip {
		clip[n] = quantised(clip[n:n+1], steps[n%len(steps)])[0]
	}
	for n, m := range models(clip)[8:] {
		if m.Sigma[0] < 1.5 || m.Sigma[0] > 5 {
			t.Errorf("frame %d: sigma %.2f", n+8, m.Sigma[0])
		}
	}
}

// TestMotionIsNoGrain: uneven motion and local changes measure as almost no noise.
func TestMotionIsNoGrain(t *testing.T) {
	jumps := func(c, t int, x, y float64) float64 {
		u := float64(t + t/3*2 + t/7*4)
		return walls(c, 0, x+1.1*u+9000, y-0.3*u+9000) + 9*texture(x+1.1*u, y-0.3*u, 30, 2)
	}
	water := func(c, t int, x, y float64) float64 { // in places, anew in each frame
		rough := max(0, texture(x+5000, y, 90, 1))
		return land(c, x, y) + 60*rough*rough*texture(x+float64(3000*t), y, 20, 2)
	}
	flicker := func(c, t int, x, y float64) float64 {
		v := land(c, x+1.3*float64(t), y)
		if c == 0 {
			v = 16 + (v-16)*(1-0.06*float64(t*7%5))
		}
		return v
	}
	for name, p := range map[string]painter{
		"jumps": jumps, "water": water, "flicker": flicker,
		"letterbox": letterbox(detailed(2.3, -1.1), 32),
		"telecine":  func(c, t int, x, y float64) float64 { return detailed(2.3, 0.4)(c, t*4/5, x, y) },
	} {
		for n, m := range models(draw(width, height, 14, p)) {
			if !m.Clean() && (name != "water" || m.Sigma[0] > 1.5) {
				t.Errorf("%s: frame %d has sigma %.2f", name, n, m.Sigma[0])
			}
		}
	}
}
