package kernels

import (
	"math"
	"math/cmplx"
)

// The recursive edge-aware Gaussian of Ferreira et al. (002): rows, then columns, once an iteration.
//
// A line of a pass is the signal f[k], a colour each. Its samples lie apart by the distances of equation 2,
//
//	D[k] = sqrt(1 + (sigma_s/sigma_r)^2 |f[k] - f[k-1]|^2)      |.|: Euclidean over R, G, B
//
// and are smoothed by a Gaussian of the pass's sigma in those distances, as the sum of two complex one-pole filters
// forwards and two backwards (equation 4; i is 0 and 1, b^D is exp(-lambda D / sigma)):
//
//	g+[k] = a f[k]           + b^D[k]   g+[k-1] + Phi(f[k], f[k-1], D[k])
//	g-[k] = a b^D[k+1] f[k+1] + b^D[k+1] g-[k+1] + Phi(f[k], f[k+1], D[k+1])
//	Phi(x, y, D) = ((b^D - 1)/(r0 D) - r1 b) x - ((b^D - 1)/(r0 D) - r1 b^D) y
//	out[k] = Re sum_i (g+[k] + g-[k])
//
// What the text leaves open, and what is taken from the authors' program where it shows:
//
//   - Distances are taken anew from what each pass filters, columns from the rows' result and the second iteration from the first's:
//     equations 2 and 4 have one f. (Gastal and Oliveira's domain transform keeps the first picture's.) The quotient of sigmas in them is the
//     person's in all passes.
//   - The sigma that b is made with shrinks by half from iteration to iteration, so that the variances add up to sigma_s^2 (IV.A): see sigmas.
//     A row pass and the column pass after it have the same. (The program halves at every pass.)
//   - Beyond its ends a line goes on with its last colour, at distances of 1: g+[-1] = a/(1-b) f[0], g-[n] = a b/(1-b) f[n-1].
//   - Between passes nothing is rounded; after the last, words are. (The program keeps bytes, cut off, and each direction apart.)
//
// Slips of the text, which are not followed: the second line of equation 4 has g+[k+1] for g-[k+1]; the channels of equations 1 and 2 are
// counted from 0 to d, one too many; alpha_1 of the appendix has +0.2598j, where Deriche's Gaussian has -0.2598 (with the plus it is off by
// 0.09 of its height, else by 0.0009: see the test); algorithm B starts at f[-L+1] where section III.C says f[-L].
//
// The same filter with half the work, which the fast paths compute: let h+ = g+ - a/(1-b) f and h- = g- - a b/(1-b) f, which are what the
// recursions are away from where they would rest in a flat picture. All else falls out:
//
//	h+[k] = b^D[k]   h+[k-1] + c[k]   (f[k] - f[k-1])      h+[0]   = 0
//	h-[k] = b^D[k+1] h-[k+1] + c[k+1] (f[k] - f[k+1])      h-[n-1] = 0
//	c[k]  = p (b^D[k] - 1) / D[k],   p = a b / (1-b)^2
//	out[k] = f[k] + Re sum_i (h+[k] + h-[k])
//
// Flat stays flat to the bit, in any precision; a link's b^D and c serve both ways and all channels.

// Deriche's Gaussian for x > 0: Re sum alpha exp(-lambda x / sigma).
var (
	dericheAlpha  = [2]complex128{1.6800 + 3.7350i, -0.6803 - 0.2598i}
	dericheLambda = [2]complex128{1.783 + 0.6318i, 1.723 + 1.9970i}
)

// sigmas returns the sigma of each iteration: sigma_s sqrt(3) 2^(N-i) / sqrt(4^N - 1) for i of 1 to N.
func (p Params) sigmas() []float64 {
	n := p.Iterations
	all := make([]float64, n)
	for i := range all {
		all[i] = p.SigmaS * math.Sqrt(3) * math.Exp2(float64(n-1-i)) / math.Sqrt(math.Exp2(2*float64(n))-1)
	}
	return all
}

// recursion is the constants of one pass. Each pair is of the two one-pole filters.
type recursion struct {
	slope float64       // (sigma_s/sigma_r)^2
	rate  [2]complex128 // -lambda/sigma: b^D is exp(rate D)
	a, b  [2]complex128
	drive [2]complex128 // p of the form in h
}

// newRecursion returns the constants for the sigma of one iteration.
func newRecursion(p Params, sigma float64) recursion {
	r := recursion{slope: (p.SigmaS / p.SigmaR) * (p.SigmaS / p.SigmaR)}
	gamma := 0.0
	for i, l := range dericheLambda {
		r.rate[i] = -l / complex(sigma, 0)
		r.b[i] = cmplx.Exp(r.rate[i])
		gamma += real(dericheAlpha[i] * (1 + r.b[i]) / (1 - r.b[i]))
	}
	for i, alpha := range dericheAlpha {
		r.a[i] = alpha / complex(gamma, 0)
		r.drive[i] = r.a[i] * r.b[i] / ((1 - r.b[i]) * (1 - r.b[i]))
	}
	return r
}

// distance is D of two neighbours.
func (r *recursion) distance(f, g [3]float64) float64 {
	sum := 0.0
	for c := range f {
		sum += (f[c] - g[c]) * (f[c] - g[c])
	}
	return math.Sqrt(1 + r.slope*sum)
}

// link returns b^D and c of two neighbours whose channels are all x and y.
func (r *recursion) link(i int, x, y float64) (power, c complex128) {
	d := r.distance([3]float64{x, x, x}, [3]float64{y, y, y})
	power = cmplx.Exp(r.rate[i] * complex(d, 0))
	return power, r.drive[i] * (power - 1) / complex(d, 0)
}
