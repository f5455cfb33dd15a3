package kernels

import (
	"math"
	"math/cmplx"

	"vidfilter/pipeline"
)

// The recursive edge-aware Gaussian of Ferreira et al. (002): in each iteration rows, then
// columns.
//
// A line of a pass is a signal f[k] of colours. Its samples lie apart by the distances of equation
// 2,
//
// D[k] = sqrt(1 + (sigma_s/sigma_r)^2 |f[k] - f[k-1]|^2)      |.|: Euclidean over R, G, B
//
// and are smoothed by a Gaussian of the pass's sigma in those distances, as the sum of two complex
// one-pole filters forwards and two backwards (equation 4; i is 0 and 1, b^D is exp(-lambda D /
// sigma)):
//
// g+[k] = a f[k]           + b^D[k]   g+[k-1] + Phi(f[k], f[k-1], D[k])
// g-[k] = a b^D[k+1] f[k+1] + b^D[k+1] g-[k+1] + Phi(f[k], f[k+1], D[k+1])
// Phi(x, y, D) = ((b^D - 1)/(r0 D) - r1 b) x - ((b^D - 1)/(r0 D) - r1 b^D) y
// out[k] = Re sum_i (g+[k] + g-[k])
//
// Choices where the text is silent, some taken from the authors' program:
//
//   - Each pass computes distances from its own input: columns from the result of the rows, the
//     second iteration from the first one's result, since equations 2 and 4 have one f. (Gastal and
//     Oliveira's domain transform keeps the first picture's.) The quotient of sigmas in them is the
//     user's in all passes.
//   - The sigma behind b halves from iteration to iteration, so that the variances add up to
//     sigma_s^2 (IV.A): see sigmas. A row pass and the column pass after it share it. (The program
//     halves it at every pass.)
//   - Beyond its ends a line continues with its last colour, at distances of 1: g+[-1] = a/(1-b)
//     f[0], g-[n] = a b/(1-b) f[n-1].
//   - Words are rounded only after the last pass. (The program keeps truncated bytes, and each
//     direction separately.)
//
// Errors in the text, which are not followed: the second line of equation 4 has g+[k+1] for
// g-[k+1]; the channels of equations 1 and 2 are counted from 0 to d, one too many; alpha_1 of the
// appendix has +0.2598j, where Deriche's Gaussian has -0.2598 (with the plus it is off by 0.09 of
// its height, else by 0.0009: see the test); algorithm B starts at f[-L+1] where section III.C
// says f[-L].
//
// The fast paths compute the same filter with half the work. Let h+ = g+ - a/(1-b) f and h- = g- -
// a b/(1-b) f: the deviation of each recursion from its steady state in a flat picture. The rest
// follows:
//
// h+[k] = b^D[k]   h+[k-1] + c[k]   (f[k] - f[k-1])      h+[0]   = 0
// h-[k] = b^D[k+1] h-[k+1] + c[k+1] (f[k] - f[k+1])      h-[n-1] = 0
// c[k]  = p (b^D[k] - 1) / D[k],   p = a b / (1-b)^2
// out[k] = f[k] + Re sum_i (h+[k] + h-[k])
//
// Flat areas stay flat to the bit, in any precision; a link's b^D and c serve both directions and
// all channels.

// Recursive is the recursive Gaussian, at a cost independent of sigma. Its rows of the table give
// the unit, range and default of each field.
type Recursive struct {
	SigmaS, SigmaR float64
	Iterations     int
}

// MaxIterations is the limit of the recursive filter: 3 suffice, as Gastal and Oliveira found and
// 002 repeats.
const MaxIterations = 3

// RecursiveSigma is the range of both sigmas of the recursive filter. Values outside would have no
// effect.
var RecursiveSigma = [2]float64{0.01, 10000}

// recursiveFilter's defaults give samples/noisy.mp4 34.7 dB and an SSIM of 0.922. The sigmas of 50
// and 50 in the measurements of 002 give 28.6 dB: a painting, not less noise. A spatial sigma above
// 10 pixels has no gain, since noise itself adds to the distances.
var recursiveFilter = &FilterType{Name: "recursive", Place: PlaceMain, Zero: Recursive{}, Options: []Option{
	{
		Name: "sigma-s", Title: "Spatial sigma",
		Domain:  Domain{Min: RecursiveSigma[0], Max: RecursiveSigma[1], Slider: [2]float64{0.5, 200}, Default: 10, Main: true},
		Binding: Bind(func(p *Recursive) *float64 { return &p.SigmaS }),
	},
	{
		Name: "sigma-r", Title: "Range sigma",
		Domain:  Domain{Min: RecursiveSigma[0], Max: RecursiveSigma[1], Slider: [2]float64{1, 255}, Default: DefaultSigmaR},
		Binding: Bind(func(p *Recursive) *float64 { return &p.SigmaR }),
	},
	{
		Name: "iterations", Title: "Iterations", Kind: Whole, Help: "passes over rows and columns",
		Domain:  Domain{Min: 1, Max: MaxIterations, Default: 2},
		Binding: Bind(func(p *Recursive) *int { return &p.Iterations }),
	},
}}

// DefaultRecursive returns the defaults of the recursive filter.
func DefaultRecursive() Recursive { return recursiveFilter.New().(Recursive) }

func (Recursive) Filter() *FilterType          { return recursiveFilter }
func (Recursive) Takes(l pipeline.Layout) bool { return hasKernels(l) }
func (Recursive) Identity() bool               { return false }
func (Recursive) Window() pipeline.Window      { return pipeline.Window{} }

func (p Recursive) OnCPU(c *CPU, pool *pipeline.Pool) (pipeline.Filter, error) {
	return PerFrame(pool, newCPURecursive(c, p).run), nil
}

// inLevels returns the options with sigma_r in levels of a depth.
func (p Recursive) inLevels(depth int) Recursive {
	p.SigmaR *= mostOf(depth) / 255
	return p
}

func (p Recursive) words(in picture, t transform, depth int) picture {
	return recursiveWords(in, p.inLevels(depth), t, wholeLine)
}

// Every kernel supports all options.

func (Recursive) does(Variant) bool { return true }

func (Recursive) asked() string { return "the recursive filter" }

func (Recursive) supported(Variant) string { return "the recursive filter" }

func (Recursive) adapted(_ Variant, other Planned) Planned {
	if p, ok := other.(Recursive); ok {
		return p
	}
	return DefaultRecursive()
}

// Deriche's Gaussian for x > 0: Re sum alpha exp(-lambda x / sigma).
var (
	dericheAlpha  = [2]complex128{1.6800 + 3.7350i, -0.6803 - 0.2598i}
	dericheLambda = [2]complex128{1.783 + 0.6318i, 1.723 + 1.9970i}
)

// sigmas returns the sigma of each iteration: sigma_s sqrt(3) 2^(N-i) / sqrt(4^N - 1) for i of 1
// to N.
func (p Recursive) sigmas() []float64 {
	n := p.Iterations
	all := make([]float64, n)
	for i := range all {
		all[i] = p.SigmaS * math.Sqrt(3) * math.Exp2(float64(n-1-i)) / math.Sqrt(math.Exp2(2*float64(n))-1)
	}
	return all
}

// Recursion holds the constants of one pass along rows or columns. Each pair is for the two
// one-pole filters.
type Recursion struct {
	Sigma float64
	Slope float64       // (sigma_s/sigma_r)^2
	Rate  [2]complex128 // -lambda/sigma: b^D is exp(Rate D)
	A, B  [2]complex128
	Drive [2]complex128 // p of the form in h
}

// Recursions returns the constants of each iteration.
func (p Recursive) Recursions() (all []Recursion) {
	for _, sigma := range p.sigmas() {
		all = append(all, newRecursion(p, sigma))
	}
	return all
}

func newRecursion(p Recursive, sigma float64) Recursion {
	r := Recursion{Sigma: sigma, Slope: (p.SigmaS / p.SigmaR) * (p.SigmaS / p.SigmaR)}
	gamma := 0.0
	for i, l := range dericheLambda {
		r.Rate[i] = -l / complex(sigma, 0)
		r.B[i] = cmplx.Exp(r.Rate[i])
		gamma += real(dericheAlpha[i] * (1 + r.B[i]) / (1 - r.B[i]))
	}
	for i, alpha := range dericheAlpha {
		r.A[i] = alpha / complex(gamma, 0)
		r.Drive[i] = r.A[i] * r.B[i] / ((1 - r.B[i]) * (1 - r.B[i]))
	}
	return r
}

// Distance is D of two neighbours.
func (r *Recursion) Distance(f, g [3]float64) float64 {
	sum := 0.0
	for c := range f {
		sum += (f[c] - g[c]) * (f[c] - g[c])
	}
	return math.Sqrt(1 + r.Slope*sum)
}
