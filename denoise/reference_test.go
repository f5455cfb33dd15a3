package denoise

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
)

const width, height = 96, 64

var tiers = map[Tier]string{Fast: "fast", Good: "good", Best: "best"}

// clip is a window of pictures, as they are and with noise.
type clip struct{ clean, noisy []plane.Picture }

// draw makes a clip of frames of 4:2:0; scene gives each.
func draw(frames int, sigma float64, scene func(t int) denoisetest.Scene) clip {
	return drawAs(frames, sigma, 8, 1, 1, scene)
}

// drawAs draws other samples and another chroma.
func drawAs(frames int, sigma float64, depth, sx, sy int, scene func(int) denoisetest.Scene) (c clip) {
	for t := range frames {
		p := scene(t).Picture(width, height, depth, sx, sy)
		c.clean = append(c.clean, p)
		c.noisy = append(c.noisy, denoisetest.NoisyPicture(p, sigma, uint64(t)))
	}
	return c
}

func still(seed uint64) func(int) denoisetest.Scene {
	return func(int) denoisetest.Scene { return denoisetest.Texture(seed) }
}

// pan moves by half-pels, the more the later.
func pan(seed uint64) func(int) denoisetest.Scene {
	return func(t int) denoisetest.Scene {
		return denoisetest.Texture(seed).Moved(1.5*float64(t), -0.5*float64(t))
	}
}

// alone is the result without neighbours: spatial only.
func alone(c clip, centre int, sigma float64, s Settings) plane.Picture {
	return Reference(c.noisy[centre:centre+1], 0, noise.Flat(sigma), s)
}

func equal(a, b plane.Picture) bool {
	return slices.EqualFunc(a.Planes, b.Planes, func(p, q plane.Plane) bool {
		return p.Width == q.Width && p.Depth == q.Depth && slices.Equal(p.Pix, q.Pix)
	})
}

// TestStill averages frames at rest. A mean of n frames leaves sigma²/n of white noise, and
// shrinking can only remove more. The weights take some noise for motion and leave up to a seventh
// more (fusion's TestStill). Rounding to samples adds 1/12.
func TestStill(t *testing.T) {
	const sigma = 10
	c := draw(13, sigma, still(1))
	var last float64
	for _, tier := range []Tier{Fast, Good, Best} {
		got := Reference(c.noisy, 6, noise.Flat(sigma), Default(tier))
		for i, p := range got.Planes {
			mse := denoisetest.MSE(c.clean[6].Planes[i], p, 0)
			t.Logf("%s, plane %d: %.2f of sigma²/7", tiers[tier], i, mse*7/(sigma*sigma))
			if bound := 1.15*sigma*sigma/7 + 1.0/12; mse > bound {
				t.Errorf("%s, plane %d: variance %.2f, want at most %.2f", tiers[tier], i, mse, bound)
			}
		}
		mse := denoisetest.MSE(c.clean[6].Planes[0], got.Planes[0], 0)
		if tier != Fast && mse > last {
			t.Errorf("%s: variance %.2f, that of the tier below is %.2f", tiers[tier], mse, last)
		}
		last = mse
	}
}

func TestMotionIsFollowed(t *testing.T) {
	const sigma = 10
	for _, sub := range [][2]int{{1, 1}, {1, 0}, {0, 0}} {
		c := drawAs(7, sigma, 8, sub[0], sub[1], pan(2))
		for tier, name := range tiers {
			s := Default(tier)
			got, spatial := Reference(c.noisy, 3, noise.Flat(sigma), s), alone(c, 3, sigma, s)
			for i, clean := range c.clean[3].Planes {
				with := denoisetest.PSNR(clean, got.Planes[i])
				without := denoisetest.PSNR(clean, spatial.Planes[i])
				if with < without+2 {
					t.Errorf("%v, %s, plane %d: %.2f dB, %.2f without neighbours",
						sub, name, i, with, without)
				}
			}
		}
	}
}

// noWorse compares luma with the result of the same settings on other frames. It may be worse by
// the given dB.
func noWorse(t *testing.T, what string, by float64, clean, got, than plane.Picture) {
	t.Helper()
	a := denoisetest.PSNR(clean.Planes[0], got.Planes[0])
	b := denoisetest.PSNR(clean.Planes[0], than.Planes[0])
	t.Logf("%s: %.2f dB, against %.2f", what, a, b)
	if a < b-by {
		t.Errorf("%s: %.2f dB, against %.2f", what, a, b)
	}
}

func TestCut(t *testing.T) {
	const sigma = 25
	c := draw(13, sigma, func(i int) denoisetest.Scene {
		if i == 6 {
			return denoisetest.Texture(3)
		}
		return denoisetest.Texture(4+uint64(i)/6).Moved(float64(i), 0)
	})
	for tier, name := range tiers {
		s, m := Default(tier), noise.Flat(sigma)
		got := Reference(c.noisy, 6, m, s)
		noWorse(t, name+", a frame by itself", 0.1, c.clean[6], got, alone(c, 6, sigma, s))
		for _, i := range []int{2, 5} { // far and near before the cut
			got, cut := Reference(c.noisy, i, m, s), Reference(c.noisy[:6], i, m, s)
			noWorse(t, fmt.Sprint(name, ", frame ", i, " before a cut"), 0.1, c.clean[i], got, cut)
		}
		s.FrameGate = false // patches detect the cut as well, but at sigma 25 some match by chance
		got = Reference(c.noisy, 6, m, s)
		noWorse(t, name+", without the gate", 0.25, c.clean[6], got, alone(c, 6, sigma, s))
	}
}

// TestFlash brightens one frame, up to white in parts.
func TestFlash(t *testing.T) {
	for _, sigma := range []float64{10, 25} {
		c := draw(7, sigma, func(i int) denoisetest.Scene {
			if i == 3 {
				return denoisetest.Texture(6).Plus(70)
			}
			return denoisetest.Texture(6)
		})
		for tier, name := range tiers {
			s, m := Default(tier), noise.Flat(sigma)
			noWorse(t, fmt.Sprint(name, ", flash, sigma ", sigma), 0.1,
				c.clean[3], Reference(c.noisy, 3, m, s), alone(c, 3, sigma, s))
			noWorse(t, fmt.Sprint(name, ", beside it, sigma ", sigma), 0.1,
				c.clean[2], Reference(c.noisy, 2, m, s), alone(c, 2, sigma, s))
		}
	}
}

func TestCleanIsCopied(t *testing.T) {
	c := draw(3, 0.5, still(7))
	for tier, name := range tiers {
		got := Reference(c.noisy, 1, noise.Flat(0.79), Default(tier))
		if !equal(got, c.noisy[1]) {
			t.Errorf("%s: clean samples changed", name)
		}
		got.Planes[0].Pix[0]++
		if equal(got, c.noisy[1]) {
			t.Errorf("%s: the result is the input itself", name)
		}
	}
}

func TestSameOnAnyNumberOfCores(t *testing.T) {
	c := draw(9, 10, pan(8))
	for tier, name := range tiers {
		want := Reference(c.noisy, 4, noise.Flat(10), Default(tier))
		if !equal(Reference(c.noisy, 4, noise.Flat(10), Default(tier)), want) {
			t.Errorf("%s: two runs differ", name)
		}
		cores := runtime.GOMAXPROCS(1)
		if !equal(Reference(c.noisy, 4, noise.Flat(10), Default(tier)), want) {
			t.Errorf("%s: one core gives another result", name)
		}
		runtime.GOMAXPROCS(cores)
	}
}

// TestDepth filters the same samples as 8 and as 10 bits. The planes that the search and the
// pilot are rounded to are finer then, so that the results are not quite the same, and here and
// there a cell finds another vector.
func TestDepth(t *testing.T) {
	c := draw(7, 10, pan(9))
	var deeper []plane.Picture
	for _, p := range c.noisy {
		deeper = append(deeper, p.Deeper(p.Planes[0].Depth+2))
	}
	for tier, name := range tiers {
		want := Reference(c.noisy, 3, noise.Flat(10), Default(tier))
		got := Reference(deeper, 3, noise.Flat(10), Default(tier))
		for i, p := range want.Planes {
			far := 0
			for k, v := range got.Planes[i].Pix {
				if d := int(v) - 4*int(p.Pix[k]); max(d, -d) > 4 {
					far++
				}
			}
			if psnr := denoisetest.PSNR(p, got.Planes[i]); psnr < 55 || far > len(p.Pix)/50 {
				t.Errorf("%s, plane %d: %.1f dB, %d of %d samples more than a level apart",
					name, i, psnr, far, len(p.Pix))
			}
		}
	}
}

// TestGradient has noise on a slope that takes 16 samples a level. Results of 10 bits have no steps
// of 8, and results of 8 no bands.
func TestGradient(t *testing.T) {
	slope := denoisetest.Scene(func(x, y float64) float64 { return 100 + x/16 })
	c := draw(7, 3, func(int) denoisetest.Scene { return slope })
	truth := slope.Draw(width, height, 16, 1, 1)
	for tier, name := range tiers {
		var mse [2]float64
		for i, depth := range []int{8, 10} {
			p := ReferenceAt(depth, c.noisy, 3, noise.Flat(3), Default(tier)).Planes[0]
			mse[i] = denoisetest.MSE(truth, p, 0)
			runs, whole := 0, 0
			for k, v := range p.Pix {
				if k%width == 0 || v != p.Pix[k-1] {
					runs++
				}
				if int(v)%p.Unit() == 0 {
					whole++
				}
			}
			length, share := float64(len(p.Pix))/float64(runs), float64(whole)/float64(len(p.Pix))
			t.Logf("%s, %d bits: squared error %.3f, runs of %.1f, %.2f are whole levels", name, depth, mse[i], length, share)
			if length > 5 || depth > 8 && (length > 3 || share > 0.5) {
				t.Errorf("%s, %d bits: runs of %.1f, %.2f are whole levels", name, depth, length, share)
			}
		}
		if mse[1] > 0.6*mse[0] {
			t.Errorf("%s: squared error %.3f in 8 bits, %.3f in 10", name, mse[0], mse[1])
		}
	}
}

// TestDepthQuality draws a scene and its noise at each depth. Finer samples lose less to rounding,
// so the result is at least as near to the scene, except for a few chroma cells that find another
// vector.
func TestDepthQuality(t *testing.T) {
	for _, sigma := range []float64{1.5, 12} {
		scene := drawAs(13, sigma, 16, 1, 1, pan(16)).clean[6]
		coarse := draw(13, sigma, pan(16)).noisy
		for tier, name := range tiers {
			want := Reference(coarse, 6, noise.Flat(sigma), Default(tier))
			for _, depth := range []int{9, 10, 12, 16} {
				noisy := drawAs(13, sigma, depth, 1, 1, pan(16)).noisy
				got := Reference(noisy, 6, noise.Flat(sigma), Default(tier))
				for i, p := range scene.Planes {
					a, b := denoisetest.PSNR(p, got.Planes[i]), denoisetest.PSNR(p, want.Planes[i])
					if a < b-0.05*float64(min(i, 1)) {
						t.Errorf("%s, sigma %v, %d bits, plane %d: %.3f dB, 8 bits %.3f", name, sigma, depth, i, a, b)
					}
				}
			}
		}
	}
}

// TestCleanChroma has noise in luma only, and white chroma.
func TestCleanChroma(t *testing.T) {
	c := draw(3, 10, still(15))
	m := noise.Flat(10)
	for i := 1; i < 3; i++ {
		m.Sigma[i], m.Spectrum[i] = 0, [64]float32{}
		for _, p := range c.noisy {
			copy(p.Planes[i].Pix, c.clean[0].Planes[i].Pix)
			for x := range p.Planes[i].Row(20) {
				p.Planes[i].Row(20)[x] = 255
			}
		}
	}
	for tier, name := range tiers {
		got := Reference(c.noisy, 1, m, Default(tier))
		for i := 1; i < 3; i++ {
			if !slices.Equal(got.Planes[i].Pix, c.noisy[1].Planes[i].Pix) {
				t.Errorf("%s: plane %d has no noise and changed", name, i)
			}
		}
	}
}

func TestTinyPictures(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 5}, {16, 16}, {17, 33}, {90, 3}} {
		for _, sub := range [][2]int{{1, 1}, {1, 0}, {0, 0}} {
			for tier, name := range tiers {
				pic := denoisetest.Flat(100).Picture(size[0], size[1], 8, sub[0], sub[1])
				got := Reference([]plane.Picture{pic, pic, pic}, 1, noise.Flat(5), Default(tier))
				if !equal(got, pic) {
					t.Errorf("%s, %v of %v: a flat picture changed", name, size, sub)
				}
				gray := plane.Picture{Planes: pic.Planes[:1]}
				got = Reference([]plane.Picture{gray}, 0, noise.Flat(5), Default(tier))
				if !equal(got, gray) {
					t.Errorf("%s, %v: a flat gray picture changed", name, size)
				}
			}
		}
	}
}

// TestWindow changes the nearest frames that a result must not depend on.
func TestWindow(t *testing.T) {
	const centre = 7
	c, other := draw(15, 10, pan(10)), draw(15, 10, pan(11))
	for tier, name := range tiers {
		for _, ahead := range []int{0, 6} {
			s := Default(tier)
			s.Ahead = ahead
			before, after := s.Window()
			first, last := centre-before, centre+after
			want := Reference(c.noisy[first:last+1], before, noise.Flat(10), s)
			window := slices.Clone(c.noisy)
			window[first-1], window[last+1] = other.noisy[first-1], other.noisy[last+1]
			if !equal(Reference(window, centre, noise.Flat(10), s), want) {
				t.Errorf("%s, %d ahead: frames beyond the window count", name, ahead)
			}
		}
	}
}

func TestGrain(t *testing.T) {
	c := draw(3, 10, still(12))
	s, m := Default(Good), noise.Flat(10)
	clean := Reference(c.noisy, 1, m, s)
	s.Grain = 1
	if !equal(Reference(c.noisy, 1, m, s), c.noisy[1]) {
		t.Error("all grain put back does not make the frame")
	}
	s.Grain = 0.25
	got := Reference(c.noisy, 1, m, s)
	for i, p := range got.Planes {
		for k, v := range p.Pix {
			want := 0.75*float64(clean.Planes[i].Pix[k]) + 0.25*float64(c.noisy[1].Planes[i].Pix[k])
			if d := float64(v) - want; max(d, -d) > 0.9 { // clean and v are rounded
				t.Fatalf("plane %d, sample %d: %d, want %v", i, k, v, want)
			}
		}
	}
}

// TestPlanes: planes of strength 0 keep their bits, and the strength of one plane does not affect
// the other, unless it changes the pilot of luma.
func TestPlanes(t *testing.T) {
	c := draw(3, 10, still(13))
	for tier, name := range tiers {
		both := Reference(c.noisy, 1, noise.Flat(10), Default(tier))
		for _, luma := range []float64{0, 1, 2} {
			for _, chroma := range []float64{0, 1, 2} {
				s := Default(tier)
				s.Luma, s.Chroma = luma, chroma
				got := Reference(c.noisy, 1, noise.Flat(10), s)
				for i, p := range got.Planes {
					strength, other := luma, chroma
					if i > 0 {
						strength, other = chroma, luma
					}
					left, usual := slices.Equal(p.Pix, c.noisy[1].Planes[i].Pix), slices.Equal(p.Pix, both.Planes[i].Pix)
					if left != (strength == 0) || strength == 1 && (i == 0 || other < 2) && !usual || strength == 2 && usual {
						t.Errorf("%s, luma %g, chroma %g: plane %d is left: %v, as without options: %v", name, luma, chroma, i, left, usual)
					}
				}
			}
		}
	}
}

// TestOneWay: without others, frames that are only averaged stay, and frames that are filtered by
// themselves do not depend on others.
func TestOneWay(t *testing.T) {
	c := draw(7, 10, still(13))
	m := noise.Flat(10)
	for tier, name := range tiers {
		s := Default(tier)
		if !equal(Reference(c.noisy[3:4], 0, m, s.TemporalOnly()), c.noisy[3]) {
			t.Errorf("%s: a frame is smoothed within itself", name)
		}
		if !equal(Reference(c.noisy, 3, m, s.SpatialOnly()), Reference(c.noisy[3:4], 0, m, s)) {
			t.Errorf("%s: a frame depends on others", name)
		}
		averaged := Reference(c.noisy, 3, m, s.TemporalOnly())
		if mse := denoisetest.MSE(c.clean[3].Planes[0], averaged.Planes[0], 0); mse > 1.3*100/7+1.0/12 {
			t.Errorf("%s: the mean of 7 frames has a variance of %.2f", name, mse)
		}
	}
}

func TestStrength(t *testing.T) {
	c := draw(3, 10, still(14))
	s := Default(Good)
	s.Strength = 2
	want := Reference(c.noisy, 1, noise.Flat(10), Default(Good))
	if !equal(Reference(c.noisy, 1, noise.Flat(5), s), want) {
		t.Error("twice the strength at sigma 5 is not sigma 10")
	}
	s.Strength = 0
	if !equal(Reference(c.noisy, 1, noise.Flat(10), s), c.noisy[1]) {
		t.Error("strength 0 changes the frame")
	}
}

func BenchmarkReference(b *testing.B) {
	c := draw(13, 10, pan(1))
	for tier, name := range tiers {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Reference(c.noisy, 6, noise.Flat(10), Default(tier))
			}
		})
	}
}
