package papers

import (
	"fmt"
	"math"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Approximation describes how lines are cut into blocks that can be filtered side by side from an
// estimated state (002, IV.B). Algorithm B estimates the state for every block but those at a
// picture's edge: it goes back from the block's first pixel until the distances add up to Kappa
// sigma_s, or the line ends, and filters from there as if the line were flat before.
type Approximation struct {
	Algorithm Algorithm
	Kappa     float64 // at least 0; 0 filters each block without its surroundings
	Block     int     // pixels of a block along the line, for algorithm D: 24 in the paper
	Blocks    int     // blocks of a line, for algorithm C: 2 to 6 in the paper
}

// Algorithm is one of 002's.
type Algorithm uint8

// The algorithms. A is exact.
const (
	AlgorithmA Algorithm = iota
	AlgorithmC           // a line in Blocks blocks of equal length
	AlgorithmD           // a line in blocks of Block pixels: the worst case
)

func (a Algorithm) String() string {
	if a > AlgorithmD {
		return fmt.Sprintf("unknown(%d)", uint8(a))
	}
	return "ACD"[a : a+1]
}

func (a Approximation) validate() error {
	switch {
	case a.Algorithm > AlgorithmD:
		return fmt.Errorf("unknown algorithm %s", a.Algorithm)
	case a.Algorithm == AlgorithmC && a.Blocks < 1:
		return fmt.Errorf("algorithm C needs 1 block or more a line, not %d", a.Blocks)
	case a.Algorithm == AlgorithmD && a.Block < 1:
		return fmt.Errorf("algorithm D needs blocks of 1 pixel or more, not %d", a.Block)
	case !(a.Kappa >= 0) || math.IsInf(a.Kappa, 0):
		return fmt.Errorf("kappa %g must be a number of 0 or more", a.Kappa)
	}
	return nil
}

// blocks returns where the blocks of a line of n pixels begin, followed by n. A line shorter than
// Blocks has fewer blocks of C; otherwise C's last block also takes the remainder.
func (a Approximation) blocks(n int) (cuts []int) {
	step := n
	switch a.Algorithm {
	case AlgorithmC:
		step = max(n/a.Blocks, 1)
	case AlgorithmD:
		step = a.Block
	}
	for at := 0; at < n; at += step {
		if a.Algorithm == AlgorithmC && len(cuts) == a.Blocks {
			break
		}
		cuts = append(cuts, at)
	}
	return append(cuts, n)
}

// RecursiveApprox is kernels.Reference for the recursive filter with an approximation. It shows
// the error of algorithms C and D.
func RecursiveApprox(dst, src *pipeline.Frame, p kernels.Recursive, a Approximation) error {
	if err := a.validate(); err != nil {
		return fmt.Errorf("papers: %w", err)
	}
	reach := a.Kappa * p.SigmaS
	return kernels.RecursiveReference(dst, src, p, func(r *kernels.Recursion, out, f [][3]float64) {
		cuts := a.blocks(len(f))
		for i, from := range cuts[:len(cuts)-1] {
			to := cuts[i+1]
			r.Forwards(out, f, a.start(r, f, from, -1, reach), from, to)
			r.Backwards(out, f, a.start(r, f, to-1, 1, reach), from, to)
		}
	})
}

// start returns where algorithm B starts for a block that begins at k. step is -1, or 1 when
// filtering backwards.
func (a Approximation) start(r *kernels.Recursion, f [][3]float64, k, step int, reach float64) int {
	if a.Algorithm == AlgorithmA {
		return k // an end of the line
	}
	for sum := 0.0; sum < reach && k+step >= 0 && k+step < len(f); k += step {
		sum += r.Distance(f[k], f[k+step])
	}
	return k
}
