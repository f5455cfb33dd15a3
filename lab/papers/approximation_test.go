package papers

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestApproximation: if kappa reaches the ends, any cuts give A; errors fall with kappa; C, with
// fewer cuts, errs hardly more than D.
func TestApproximation(t *testing.T) {
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 150, Height: 70})
	kerneltest.Scene(src, rand.New(rand.NewPCG(25, 26)))
	p := kernels.Recursive{SigmaS: 10, SigmaR: 50, Iterations: 2}
	want := kerneltest.Frame(src.Format)
	e2e.Must(t, kernels.Reference(want, src, p))
	mse := func(a Approximation) (sum float64) {
		got := kerneltest.Frame(src.Format)
		e2e.Must(t, RecursiveApprox(got, src, p, a))
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

func TestApproximationErrors(t *testing.T) {
	f := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 3, Height: 3})
	p := kernels.DefaultRecursive()
	tests := []struct {
		p    kernels.Recursive
		a    Approximation
		text string
	}{
		{kernels.Recursive{SigmaS: 20000, SigmaR: 1, Iterations: 1}, Approximation{}, "must be a number, 0.01 to 10000"},
		{kernels.Recursive{SigmaS: 20, SigmaR: 1e-3, Iterations: 1}, Approximation{}, "sigma-r 0.001"},
		{kernels.Recursive{SigmaS: 20, SigmaR: 1, Iterations: 4}, Approximation{}, "iterations 4 must be"},
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
