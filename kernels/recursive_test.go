package kernels

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// smooth filters one line of greys by a pass of the given sigma.
func smooth(p Recursive, sigma float64, line []float64) []float64 {
	now := make([][3]float64, len(line))
	for k, x := range line {
		now[k] = [3]float64{x, x, x}
	}
	r, sum := newRecursion(p, sigma), make([][3]float64, len(line))
	wholeLine(&r, sum, now)
	out := make([]float64, len(line))
	for k := range out {
		out[k] = sum[k][0]
	}
	return out
}

// far has a range sigma large enough to ignore colours: only pixel distances count.
var far = Recursive{SigmaS: 8, SigmaR: 10000, Iterations: 1}

// TestDeriche: the response to an impulse at equal distances is a Gaussian, within the error of
// Deriche's approximation (0.9 thousandths of its height). The plus sign printed in alpha_1 of the
// paper would make the error a hundred times as large.
func TestDeriche(t *testing.T) {
	for _, sigma := range []float64{2, 8, 30} {
		line := make([]float64, 601)
		line[300] = 1
		out := smooth(far, sigma, line)
		sum := 0.0
		for k, got := range out {
			sum += got
			x := float64(k-300) / sigma
			want := math.Exp(-x*x/2) / (sigma * math.Sqrt(2*math.Pi))
			if math.Abs(got-want)*sigma > 0.0009 {
				t.Errorf("sigma %g, %d from the impulse: got %.6f, want %.6f", sigma, k-300, got, want)
			}
		}
		if math.Abs(sum-1) > 1e-4 {
			t.Errorf("sigma %g: weights sum up to %g", sigma, sum)
		}
	}
}

// TestRecursiveFlat: flat lines stay flat at any sigma.
func TestRecursiveFlat(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.3, 3, 50, 10000} {
		for _, level := range []float64{0, 7, 255} {
			for _, got := range smooth(far, sigma, []float64{level, level, level, level, level}) {
				if math.Abs(got-level) > 1e-6 {
					t.Errorf("sigma %g, level %g: got %g", sigma, level, got)
				}
			}
		}
	}
}

// TestDriven: the recursion of equation 4 equals the one in h of the fast paths; see recursive.go.
func TestDriven(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, sigma := range []float64{0.2, 1, 7, 90, 2000} {
		line := make([]float64, 200)
		for k := range line {
			line[k] = float64(rng.IntN(256))
		}
		p := Recursive{SigmaS: sigma, SigmaR: 40, Iterations: 1}
		want := smooth(p, sigma, line)
		for k, got := range driven(p, sigma, line) {
			if math.Abs(got-want[k]) > 1e-6 {
				t.Fatalf("sigma %g, pixel %d: got %g, want %g", sigma, k, got, want[k])
			}
		}
	}
}

func driven(p Recursive, sigma float64, f []float64) []float64 {
	r := newRecursion(p, sigma)
	out := append([]float64(nil), f...)
	for i := range r.B {
		h := 0i
		for k := 1; k < len(f); k++ {
			power, c := link(&r, i, f[k], f[k-1])
			h = power*h + c*complex(f[k]-f[k-1], 0)
			out[k] += real(h)
		}
		h = 0
		for k := len(f) - 2; k >= 0; k-- {
			power, c := link(&r, i, f[k], f[k+1])
			h = power*h + c*complex(f[k]-f[k+1], 0)
			out[k] += real(h)
		}
	}
	return out
}

// link returns b^D and c of two neighbours with all channels x and y.
func link(r *Recursion, i int, x, y float64) (power, c complex128) {
	d := r.Distance([3]float64{x, x, x}, [3]float64{y, y, y})
	power = cmplx.Exp(r.Rate[i] * complex(d, 0))
	return power, r.Drive[i] * (power - 1) / complex(d, 0)
}

// TestMirror: a mirrored line gives the mirrored result.
func TestMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	line, back := make([]float64, 100), make([]float64, 100)
	for k := range line {
		line[k] = float64(rng.IntN(256))
		back[99-k] = line[k]
	}
	p := Recursive{SigmaS: 20, SigmaR: 30, Iterations: 1}
	want, got := smooth(p, 20, line), smooth(p, 20, back)
	for k := range line {
		if math.Abs(got[99-k]-want[k]) > 1e-8 {
			t.Errorf("pixel %d: %g, mirrored %g", k, want[k], got[99-k])
		}
	}
}

// TestEdge: a step much higher than sigma_r survives except for the ramp that the filter sees
// between the two samples; a much lower one is smoothed away.
func TestEdge(t *testing.T) {
	line := make([]float64, 100)
	for k := 50; k < 100; k++ {
		line[k] = 100
	}
	p := Recursive{SigmaS: 20, SigmaR: 2, Iterations: 1}
	if out := smooth(p, 20, line); out[49] > 0.5 || out[50] < 99.5 {
		t.Errorf("a high step: %g and %g beside it", out[49], out[50])
	}
	p.SigmaR = 10000
	if out := smooth(p, 20, line); out[49] < 45 || out[50] > 55 {
		t.Errorf("a low step: %g and %g beside it", out[49], out[50])
	}
}

// TestSigmas: the variances of the iterations add up to the user's, and each sigma is half the one
// before.
func TestSigmas(t *testing.T) {
	for n := 1; n <= MaxIterations; n++ {
		all := Recursive{SigmaS: 50, Iterations: n}.sigmas()
		sum := 0.0
		for i, s := range all {
			sum += s * s
			if i > 0 && math.Abs(all[i-1]/s-2) > 1e-12 {
				t.Errorf("%d iterations: %v", n, all)
			}
		}
		if len(all) != n || math.Abs(sum-2500) > 1e-9 {
			t.Errorf("%d iterations: %v, variances add up to %g", n, all, sum)
		}
	}
}

// TestRecursivePicture: rows and columns are filtered alike where all differences are small; alpha
// stays unchanged.
func TestRecursivePicture(t *testing.T) {
	f := grey([]byte{100, 100, 100, 100, 160}, []byte{100, 100, 100, 100, 100}, []byte{100, 100, 100, 100, 100})
	out := greyOf(t, reference(t, f, Recursive{SigmaS: 1, SigmaR: 10000, Iterations: 1}))
	// The weights of a Gaussian of sigma 1 by distance: 0.399 at 0, 0.242 at 1, 0.054 at 2. The
	// corner's level continues beyond it, so along either axis it has the weight of everything
	// outside: 0.699, 0.301 and 0.059 at 0, 1 and 2 pixels from it.
	along := []float64{0.699, 0.301, 0.059}
	for y, row := range out {
		for x := 2; x < 5; x++ {
			if want := 100 + 60*along[y]*along[4-x]; math.Abs(float64(row[x])-want) > 0.8 {
				t.Errorf("%d, %d: got %d, want %.1f", x, y, row[x], want)
			}
		}
	}
}

func TestRecursiveErrors(t *testing.T) {
	f := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 3, Height: 3})
	for _, test := range []struct {
		p    Planned
		text string
	}{
		{Recursive{SigmaS: 20000, SigmaR: 1, Iterations: 1}, "must be a number, 0.01 to 10000"},
		{Recursive{SigmaS: 20, SigmaR: 1e-3, Iterations: 1}, "sigma-r 0.001"},
		{Recursive{SigmaS: 20, SigmaR: 1, Iterations: 4}, "iterations 4 must be"},
	} {
		if err := Reference(f, f, test.p); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%+v: error %v, want %q", test.p, err, test.text)
		}
	}
}
