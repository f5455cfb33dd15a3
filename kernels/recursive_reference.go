package kernels

import (
	"fmt"
	"math"
	"math/cmplx"

	"vidfilter/pipeline"
)

// Approximation says where lines are cut into blocks whose start is guessed, so that they can be filtered side by side (002, IV.B). Of
// every block but those at a picture's edge, algorithm B makes the start: it goes back from the block's first pixel until the distances
// add up to Kappa sigma_s, or the line ends, and filters from there as if the line were flat before.
type Approximation struct {
	Algorithm Algorithm
	Kappa     float64 // 0 and more; 0 filters each block as if it were all there is
	Block     int     // pixels of a block along the line, of algorithm D: 24 in the paper
	Blocks    int     // blocks of a line, of algorithm C: 2 to 6 in the paper
}

// Algorithm is one of the paper's.
type Algorithm uint8

// The algorithms. A is exact.
const (
	AlgorithmA Algorithm = iota
	AlgorithmC           // a line in Blocks blocks of one length
	AlgorithmD           // a line in blocks of Block pixels: the worst case
)

var exact = Approximation{}

func (a Algorithm) String() string { return name([]string{"A", "C", "D"}, uint8(a)) }

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

// blocks returns where the blocks of a line of n pixels begin, and n. Blocks of C beyond the line's length are not there; its last
// takes what does not divide.
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

// RecursiveApprox is Reference for the recursive filter by an algorithm that approximates: it says what algorithms C and D lose.
func RecursiveApprox(dst, src *pipeline.Frame, p Params, a Approximation) error {
	if p.Filter != Recursive {
		return fmt.Errorf("kernels: the %s filter has no algorithm %s", p.Filter, a.Algorithm)
	}
	if err := p.Validate(); err != nil {
		return err
	}
	if err := a.validate(); err != nil {
		return fmt.Errorf("kernels: %w", err)
	}
	return eachField(dst, src, func(in picture, _ transform) picture { return recursiveWords(in, p, a) })
}

// recursiveWords is the recursive filter itself. Alpha stays.
func recursiveWords(in picture, p Params, a Approximation) picture {
	out := picture{in.width, in.height, make([]uint32, len(in.words))}
	now := make([][3]float64, len(in.words))
	for i, w := range in.words {
		now[i] = channels(w)
	}
	for _, sigma := range p.sigmas() {
		r := newRecursion(p, sigma)
		line := func(first, step, n int) {
			l := liner{recursion: r, Approximation: a, reach: a.Kappa * p.SigmaS}
			l.filter(now, first, step, n)
		}
		eachRow(in.height, func(y int) { line(y*in.width, 1, in.width) })
		eachRow(in.width, func(x int) { line(x, in.width, in.height) })
	}
	for i, w := range in.words {
		out.words[i] = pack(level(now[i][0]), level(now[i][1]), level(now[i][2]), uint8(w>>24))
	}
	return out
}

// liner filters a line.
type liner struct {
	recursion
	Approximation
	reach  float64      // how far back algorithm B goes
	f, out [][3]float64 // of one line
}

// filter filters n pixels from first on, step apart.
func (l *liner) filter(now [][3]float64, first, step, n int) {
	l.out = make([][3]float64, n)
	for k := range n {
		l.f = append(l.f, now[first+k*step])
	}
	cuts := l.blocks(n)
	for i, from := range cuts[:len(cuts)-1] {
		l.causal(from, cuts[i+1])
		l.anticausal(from, cuts[i+1])
	}
	for k := range n {
		now[first+k*step] = l.out[k]
	}
}

// before returns where algorithm B starts for a block that begins at k, one step being -1 or, backwards, 1.
func (l *liner) before(k, step int) int {
	if l.Algorithm == AlgorithmA {
		return k // a line's end
	}
	for sum := 0.0; sum < l.reach && k+step >= 0 && k+step < len(l.f); k += step {
		sum += l.distance(l.f[k], l.f[k+step])
	}
	return k
}

// causal adds the forward half to pixels from to to-1.
func (l *liner) causal(from, to int) {
	start := l.before(from, -1)
	last := l.f[start]
	var g [2][3]complex128
	for i := range g {
		for c := range last {
			g[i][c] = l.a[i] / (1 - l.b[i]) * complex(last[c], 0)
		}
	}
	for k := start; k < to; k++ {
		f, d := l.f[k], l.distance(l.f[k], last)
		for i := range g {
			power := cmplx.Exp(l.rate[i] * complex(d, 0))
			for c := range f {
				g[i][c] = l.a[i]*complex(f[c], 0) + power*g[i][c] + l.phi(i, f[c], last[c], d, power)
			}
		}
		last = f
		l.add(k, from, to, g)
	}
}

// anticausal adds the backward half.
func (l *liner) anticausal(from, to int) {
	start := l.before(to-1, 1)
	last := l.f[start]
	var g [2][3]complex128
	for i := range g {
		for c := range last {
			g[i][c] = l.a[i] * l.b[i] / (1 - l.b[i]) * complex(last[c], 0)
		}
	}
	for k := start; k >= from; k-- {
		f, d := l.f[k], l.distance(l.f[k], last)
		for i := range g {
			power := cmplx.Exp(l.rate[i] * complex(d, 0))
			for c := range f {
				g[i][c] = l.a[i]*power*complex(last[c], 0) + power*g[i][c] + l.phi(i, f[c], last[c], d, power)
			}
		}
		last = f
		l.add(k, from, to, g)
	}
}

func (l *liner) add(k, from, to int, g [2][3]complex128) {
	if k < from || k >= to {
		return
	}
	for c := range l.out[k] {
		l.out[k][c] += real(g[0][c] + g[1][c])
	}
}

// phi is Phi of one channel, with r0 and r1 written out: 1/r0 is drive, and -r1 b is a b / (1-b), which stay finite where sigma is so
// small that b is 0.
func (r *recursion) phi(i int, f, last, d float64, power complex128) complex128 {
	ramp := r.drive[i] * (power - 1) / complex(d, 0)
	r1 := r.a[i] / (r.b[i] - 1)
	return (ramp-r1*r.b[i])*complex(f, 0) - (ramp-r1*power)*complex(last, 0)
}
