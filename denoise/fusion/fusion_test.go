package fusion

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
)

const width, height = 96, 64

var (
	firstPass = FirstConstants{
		Constants: Constants{Stride: 4, PatchFade: 1, Frequency: 0.5, DCGate: true, WeightUnit: 8192},
		Threshold: 1.2, ThresholdFall: 0.15, LeastThreshold: 1,
	}
	secondPass = SecondConstants{
		Constants:  Constants{Stride: 6, PatchFade: 0.3, Frequency: 1, DCGate: true, WeightUnit: 4096},
		NoiseShare: 0.8,
	}
)

func whiteNoise(sigma float32) Noise {
	n := Noise{Sigma: sigma}
	for k := range n.Spectrum {
		n.Spectrum[k] = sigma * sigma
	}
	for i := range n.Curve {
		n.Curve[i] = 1
	}
	return n
}

// still is a neighbour without motion.
func still(p plane.Plane) Neighbour {
	w, h := (p.Width+7)/8, (p.Height+7)/8
	return Neighbour{
		Planes: motion.Between(p),
		Field:  motion.Field{Cell: 8, Width: w, Height: h, Vectors: make([]motion.Vector, w*h)},
	}
}

// repeated is a clean plane with noise, beside six neighbours with noise of their own.
func repeated(clean plane.Plane, sigma float64) Input {
	in := Input{
		Noisy:     denoisetest.Noisy(clean, sigma, 1),
		Noise:     whiteNoise(float32(sigma)),
		ClipCurve: true,
	}
	for i := range uint64(6) {
		in.Neighbours = append(in.Neighbours, still(denoisetest.Noisy(clean, sigma, 2+i)))
	}
	return in
}

// both runs both passes.
func both(in Input) plane.Plane {
	pilot := First(in, firstPass).Plane(in.Noisy.Depth)
	return Second(in, pilot, secondPass, 0).Plane(in.Noisy.Depth)
}

// TestBlend: the pilot has its share in a patch without matches, and no share where many frames
// agree.
func TestBlend(t *testing.T) {
	c := secondPass
	c.Blend = Blend{Base: 0.7, Fall: 0.04, Most: 0.5, From: 0.12, To: 0.17}
	in := repeated(denoisetest.Scene(rich).Draw(width, height, 8, 1, 1), 8)
	share := c.Blend.Share(8)
	if share < 0.37 || share > 0.39 {
		t.Fatalf("a share of %v at sigma 8", share)
	}
	for i := range uint64(8) {
		in.Neighbours = append(in.Neighbours, still(denoisetest.Noisy(denoisetest.Scene(rich).Draw(width, height, 8, 1, 1), 8, 8+i)))
	}
	pilot := First(in, firstPass).Plane(8)
	alone, many := in, in
	alone.Neighbours = nil
	pure, blended := Second(alone, pilot, c, 0), Second(alone, pilot, c, share)
	for i, q := range pilot.Pix {
		x, y := i%width, i/width
		want := (1-share)*pure.Mean(x, y) + share*float32(q)
		if got := blended.Mean(x, y); got < want-0.5 || got > want+0.5 { // at a corner weights are small
			t.Fatalf("(%d, %d): %v, not %v", x, y, got, want)
		}
	}
	if a, b := Second(many, pilot, c, 0).Plane(8), Second(many, pilot, c, share).Plane(8); !slices.Equal(a.Pix, b.Pix) {
		t.Error("fifteen frames agree, and the pilot counts")
	}
}

// rich has strong detail at all frequencies: shrinking has no effect.
func rich(x, y float64) float64 {
	h := math.Sin(x*12.9898+y*78.233) * 43758.5453
	return 60 + 136*math.Round(h-math.Floor(h))
}

// TestStill averages seven frames of a picture at rest. Without shrinking at least a seventh of the
// variance remains. The weights judge each difference by its noise, take some of it for motion and
// leave little more. Overlapping patches share their noise, so they do not help here. Rounding of
// the result adds 1/12.
func TestStill(t *testing.T) {
	clean := denoisetest.Scene(rich).Draw(width, height, 8, 1, 1)
	for _, sigma := range []float64{5, 10, 15} {
		least := sigma * sigma / 7
		in := repeated(clean, sigma)
		for name, got := range map[string]plane.Plane{
			"first": First(in, firstPass).Plane(8), "both": both(in),
		} {
			mse := denoisetest.MSE(clean, got, 0) - 1.0/12
			t.Logf("sigma %v, %s: %.2f of sigma²/7", sigma, name, mse/least)
			if mse < 0.9*least || mse > 1.25*least {
				t.Errorf("sigma %v, %s: variance %.2f, want about %.2f", sigma, name, mse, least)
			}
		}
	}
}

// TestFlat has no detail, so most of the seventh goes as well. The DC and the slopes of the patches
// remain, a few of 64 (256) coefficients.
func TestFlat(t *testing.T) {
	clean := denoisetest.Flat(120).Draw(width, height, 8, 1, 1)
	for _, sigma := range []float64{5, 10, 25} {
		in := repeated(clean, sigma)
		for name, got := range map[string]plane.Plane{
			"first": First(in, firstPass).Plane(8), "both": both(in),
		} {
			share := denoisetest.MSE(clean, got, 0) / (sigma * sigma / 7)
			t.Logf("sigma %v, %s: %.3f of sigma²/7", sigma, name, share)
			if share > 0.25 {
				t.Errorf("sigma %v, %s: %.3f of sigma²/7 is left", sigma, name, share)
			}
		}
	}
}

// TestNoMatch gives neighbours of another scene: the result is as good as from the frame alone.
func TestNoMatch(t *testing.T) {
	clean := denoisetest.Texture(1).Draw(width, height, 8, 1, 1)
	for _, sigma := range []float64{5, 10, 25} {
		in := repeated(denoisetest.Texture(2).Draw(width, height, 8, 1, 1), sigma)
		in.Noisy = denoisetest.Noisy(clean, sigma, 1)
		alone := in
		alone.Neighbours = nil
		for name, filter := range map[string]func(Input) plane.Plane{
			"first": func(in Input) plane.Plane { return First(in, firstPass).Plane(8) },
			"both":  both,
		} {
			want, got := denoisetest.PSNR(clean, filter(alone)), denoisetest.PSNR(clean, filter(in))
			t.Logf("sigma %v, %s: alone %.2f dB, beside other scenes %.2f", sigma, name, want, got)
			if got < want-0.1 {
				t.Errorf("sigma %v, %s: alone %.2f dB, beside other scenes %.2f", sigma, name, want, got)
			}
		}
	}
}

func TestReach(t *testing.T) {
	in := repeated(denoisetest.Texture(3).Draw(width, height, 8, 1, 1), 10)
	alone := in
	alone.Neighbours = nil
	for i, n := range in.Neighbours {
		for j := range n.Field.Vectors {
			n.Field.Vectors[j] = motion.Vector{X: 3, Y: -2}
		}
		in.Neighbours[i].Reach = 4
	}
	if !First(in, firstPass).equal(First(alone, firstPass)) {
		t.Error("patches out of reach were used")
	}
	for i := range in.Neighbours {
		in.Neighbours[i].Reach = 5
	}
	if First(in, firstPass).equal(First(alone, firstPass)) {
		t.Error("patches in reach were not used")
	}
}

func (s *Sums) equal(o *Sums) bool {
	return slices.Equal(s.weights, o.weights) && slices.Equal(s.values, o.values)
}

// TestMotion moves the neighbours by half-pels: except for the interpolation they are as good as at
// rest.
func TestMotion(t *testing.T) {
	scene := denoisetest.Texture(4)
	clean := scene.Draw(width, height, 8, 1, 1)
	const sigma = 10
	for _, shift := range []int{0, 1} {
		at := func(s denoisetest.Scene) plane.Plane {
			return s.Draw(width, height, 8, 1<<shift, 1<<shift)
		}
		in := Input{
			Noisy:  denoisetest.Noisy(at(scene), sigma, 1),
			Noise:  whiteNoise(sigma),
			ShiftX: shift, ShiftY: shift,
		}
		for i := range uint64(6) {
			v := motion.Vector{X: 3 << shift, Y: -int(i) << shift}
			moved := scene.Moved(float64(v.X)/2, float64(v.Y)/2)
			n := still(denoisetest.Noisy(at(moved), sigma, 2+i))
			n.Field = still(clean).Field
			for j := range n.Field.Vectors {
				n.Field.Vectors[j] = v
			}
			in.Neighbours = append(in.Neighbours, n)
		}
		atRest := denoisetest.MSE(at(scene), both(repeated(at(scene), sigma)), 8)
		moving := denoisetest.MSE(at(scene), both(in), 8)
		t.Logf("shift %d: at rest %.2f, moving %.2f", shift, atRest, moving)
		if moving > 1.3*atRest {
			t.Errorf("shift %d: variance %.2f, at rest %.2f", shift, moving, atRest)
		}
	}
}

func TestSameAtAnyDepth(t *testing.T) {
	in := repeated(denoisetest.Texture(5).Draw(width, height, 8, 1, 1), 10)
	want := First(in, firstPass)
	in.Noisy = denoisetest.Deeper(in.Noisy, 4)
	for i, n := range in.Neighbours {
		in.Neighbours[i].Planes[0] = denoisetest.Deeper(n.Planes[0], 4)
	}
	if !First(in, firstPass).equal(want) {
		t.Error("12 bits give other sums than 8")
	}
}

func TestSameOnAnyNumberOfCores(t *testing.T) {
	in := repeated(denoisetest.Texture(6).Draw(width, height, 8, 1, 1), 10)
	pilot := in.Noisy
	first, second := First(in, firstPass), Second(in, pilot, secondPass, 0)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !First(in, firstPass).equal(first) || !Second(in, pilot, secondPass, 0).equal(second) {
		t.Error("other sums on one core")
	}
}

// TestFlash brightens the neighbours by half the noise's sigma, flat: without the DC gate that
// passes for noise.
func TestFlash(t *testing.T) {
	clean := denoisetest.Flat(120).Draw(width, height, 8, 1, 1)
	const sigma = 20
	in := repeated(denoisetest.Flat(135).Draw(width, height, 8, 1, 1), sigma)
	in.Noisy = denoisetest.Noisy(clean, sigma, 1)
	open := firstPass
	open.DCGate = false
	with := denoisetest.MSE(clean, First(in, firstPass).Plane(8), 0)
	without := denoisetest.MSE(clean, First(in, open).Plane(8), 0)
	t.Logf("with the gate %.1f, without %.1f", with, without)
	if with > without/2 {
		t.Errorf("with the gate %.1f, without %.1f", with, without)
	}
}

func TestSmallestPlanes(t *testing.T) {
	for _, size := range [][2]int{{16, 16}, {17, 16}, {16, 31}, {33, 18}} {
		clean := denoisetest.Flat(77).Draw(size[0], size[1], 8, 1, 1)
		got := both(repeated(clean, 3))
		if d := denoisetest.MSE(clean, got, 0); d > 2 {
			t.Errorf("%v: off by %.1f", size, d)
		}
	}
}
