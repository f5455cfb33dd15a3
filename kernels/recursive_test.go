package kernels

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// smooth filters one line of greys by a pass of that sigma.
func smooth(p Params, a Approximation, sigma float64, line []float64) []float64 {
	now := make([][3]float64, len(line))
	for k, x := range line {
		now[k] = [3]float64{x, x, x}
	}
	l := liner{recursion: newRecursion(p, sigma), Approximation: a, reach: a.Kappa * p.SigmaS}
	l.filter(now, 0, 1, len(line))
	out := make([]float64, len(line))
	for k := range out {
		out[k] = now[k][0]
	}
	return out
}

// far is a range sigma beside which no colour counts: distances are those of pixels.
var far = Params{Filter: Recursive, SigmaS: 8, SigmaR: 10000, Iterations: 1}

// TestDeriche: what comes of an impulse at equal distances is a Gaussian, within the error of Deriche's approximation (0.9 thousandths
// of its height). With the plus sign that the paper prints in alpha_1 the error is a hundred times as large.
func TestDeriche(t *testing.T) {
	for _, sigma := range []float64{2, 8, 30} {
		line := make([]float64, 601)
		line[300] = 1
		out := smooth(far, exact, sigma, line)
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

// TestRecursiveFlat: flat stays flat, however the samples lie.
func TestRecursiveFlat(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.3, 3, 50, 10000} {
		for _, level := range []float64{0, 7, 255} {
			for _, got := range smooth(far, exact, sigma, []float64{level, level, level, level, level}) {
				if math.Abs(got-level) > 1e-6 {
					t.Errorf("sigma %g, level %g: got %g", sigma, level, got)
				}
			}
		}
	}
}

// TestDriven: the recursion of equation 4 is the one in h that the fast paths compute; see recursive.go.
func TestDriven(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, sigma := range []float64{0.2, 1, 7, 90, 2000} {
		line := make([]float64, 200)
		for k := range line {
			line[k] = float64(rng.IntN(256))
		}
		p := Params{Filter: Recursive, SigmaS: sigma, SigmaR: 40, Iterations: 1}
		want := smooth(p, exact, sigma, line)
		for k, got := range driven(p, sigma, line) {
			if math.Abs(got-want[k]) > 1e-6 {
				t.Fatalf("sigma %g, pixel %d: got %g, want %g", sigma, k, got, want[k])
			}
		}
	}
}

func driven(p Params, sigma float64, f []float64) []float64 {
	r := newRecursion(p, sigma)
	out := append([]float64(nil), f...)
	for i := range r.b {
		h := 0i
		for k := 1; k < len(f); k++ {
			power, c := r.link(i, f[k], f[k-1])
			h = power*h + c*complex(f[k]-f[k-1], 0)
			out[k] += real(h)
		}
		h = 0
		for k := len(f) - 2; k >= 0; k-- {
			power, c := r.link(i, f[k], f[k+1])
			h = power*h + c*complex(f[k]-f[k+1], 0)
			out[k] += real(h)
		}
	}
	return out
}

// TestMirror: a mirrored line gives the mirrored result.
func TestMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	line, back := make([]float64, 100), make([]float64, 100)
	for k := range line {
		line[k] = float64(rng.IntN(256))
		back[99-k] = line[k]
	}
	p := Params{Filter: Recursive, SigmaS: 20, SigmaR: 30, Iterations: 1}
	want, got := smooth(p, exact, 20, line), smooth(p, exact, 20, back)
	for k := range line {
		if math.Abs(got[99-k]-want[k]) > 1e-8 {
			t.Errorf("pixel %d: %g, mirrored %g", k, want[k], got[99-k])
		}
	}
}

// TestEdge: a step much higher than sigma_r stays but for the ramp that the filter sees between the two samples; one much lower goes.
func TestEdge(t *testing.T) {
	line := make([]float64, 100)
	for k := 50; k < 100; k++ {
		line[k] = 100
	}
	p := Params{Filter: Recursive, SigmaS: 20, SigmaR: 2, Iterations: 1}
	if out := smooth(p, exact, 20, line); out[49] > 0.5 || out[50] < 99.5 {
		t.Errorf("a high step: %g and %g beside it", out[49], out[50])
	}
	p.SigmaR = 10000
	if out := smooth(p, exact, 20, line); out[49] < 45 || out[50] > 55 {
		t.Errorf("a low step: %g and %g beside it", out[49], out[50])
	}
}

// TestSigmas: the variances of the iterations add up to the person's, each half as wide as the one before.
func TestSigmas(t *testing.T) {
	for n := 1; n <= MaxIterations; n++ {
		all := Params{SigmaS: 50, Iterations: n}.sigmas()
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

// TestRecursivePicture: rows and columns are filtered alike where all differences are small; alpha stays.
func TestRecursivePicture(t *testing.T) {
	f := grey([]byte{100, 100, 100, 100, 160}, []byte{100, 100, 100, 100, 100}, []byte{100, 100, 100, 100, 100})
	out := greyOf(t, reference(t, f, Params{Filter: Recursive, SigmaS: 1, SigmaR: 10000, Iterations: 1}))
	// The weights of a Gaussian of sigma 1 by distance: 0.399 at 0, 0.242 at 1, 0.054 at 2. Beyond the corner its level goes on, so that
	// along either axis it has the weight of all that lies there: 0.699, 0.301 and 0.059 in 0, 1 and 2 pixels from it.
	along := []float64{0.699, 0.301, 0.059}
	for y, row := range out {
		for x := 2; x < 5; x++ {
			if want := 100 + 60*along[y]*along[4-x]; math.Abs(float64(row[x])-want) > 0.8 {
				t.Errorf("%d, %d: got %d, want %.1f", x, y, row[x], want)
			}
		}
	}
}

// TestApproximation: any cuts give A where kappa reaches the ends; errors fall with kappa; C, with fewer cuts, errs hardly more than D.
func TestApproximation(t *testing.T) {
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 150, Height: 70})
	kerneltest.Scene(src, rand.New(rand.NewPCG(25, 26)))
	p := Params{Filter: Recursive, SigmaS: 10, SigmaR: 50, Iterations: 2}
	want := reference(t, src, p)
	mse := func(a Approximation) (sum float64) {
		got := kerneltest.Frame(src.Format)
		if err := RecursiveApprox(got, src, p, a); err != nil {
			t.Fatal(err)
		}
		for y := range src.Height {
			for x, v := range got.Row(0, y) {
				d := float64(v) - float64(want.Row(0, y)[x])
				sum += d * d
			}
		}
		return sum / float64(3*src.Width*src.Height)
	}
	last := math.Inf(1)
	for _, kappa := range []float64{0, 0.5, 1, 2, 3} {
		c, d := mse(Approximation{AlgorithmC, kappa, 0, 3}), mse(Approximation{AlgorithmD, kappa, 24, 0})
		if d > last || c > 1.2*d {
			t.Errorf("kappa %g: mean squared error %g of C, %g of D, %g of D with less", kappa, c, d, last)
		}
		last = d
		t.Logf("kappa %g: mean squared error %g of C, %g of D", kappa, c, d)
	}
	for _, a := range []Approximation{{}, {AlgorithmC, 0, 0, 1}, {AlgorithmD, 1e9, 24, 0}, {AlgorithmC, 1e9, 0, 4}} {
		if e := mse(a); e != 0 {
			t.Errorf("%+v: mean squared error %g", a, e)
		}
	}
}

func TestRecursiveErrors(t *testing.T) {
	f := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 3, Height: 3})
	p := DefaultRecursive()
	tests := []struct {
		p    Params
		a    Approximation
		text string
	}{
		{DefaultParams(1), exact, "bilateral"},
		{Params{Filter: Recursive, SigmaS: 20000, SigmaR: 1, Iterations: 1}, exact, "out of range 0.01 to 10000"},
		{Params{Filter: Recursive, SigmaS: 20, SigmaR: 1e-3, Iterations: 1}, exact, "sigma-r 0.001"},
		{Params{Filter: Recursive, SigmaS: 20, SigmaR: 1, Iterations: 4}, exact, "4 iterations"},
		{Params{Filter: 7, SigmaS: 20, SigmaR: 1}, exact, "no algorithm"},
		{p, Approximation{Algorithm: AlgorithmC}, "1 block or more"},
		{p, Approximation{Algorithm: AlgorithmD}, "1 pixel or more"},
		{p, Approximation{Algorithm: AlgorithmD, Block: 24, Kappa: math.NaN()}, "kappa"},
		{p, Approximation{Algorithm: 9}, "unknown algorithm"},
	}
	for _, test := range tests {
		if err := RecursiveApprox(f, f, test.p, test.a); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%+v, %+v: error %v, want %q", test.p, test.a, err, test.text)
		}
	}
}
