package kernels

import (
	"math/cmplx"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// RecursiveReference is Reference for the recursive filter with its own function to filter a line:
// line adds the result of f to out, which is zero. It is called for several lines concurrently.
func RecursiveReference(dst, src *pipeline.Frame, p Recursive, line func(r *Recursion, out, f [][3]float64)) error {
	if err := Validate(p); err != nil {
		return err
	}
	p = p.inLevels(src.Layout.Info().Depth)
	return eachField(dst, src, func(in picture, t transform) picture { return recursiveWords(in, p, t, line) })
}

// wholeLine filters a line without approximation.
func wholeLine(r *Recursion, out, f [][3]float64) {
	r.Forwards(out, f, 0, 0, len(f))
	r.Backwards(out, f, len(f)-1, 0, len(f))
}

// recursiveWords is the recursive filter itself. Alpha stays unchanged.
func recursiveWords(in picture, p Recursive, t transform, line func(r *Recursion, out, f [][3]float64)) picture {
	out := newPicture(in.width, in.height)
	now := make([][3]float64, len(in.words))
	for i, w := range in.words {
		now[i] = channels(w)
	}
	for _, r := range p.Recursions() {
		along := func(first, step, n int) {
			f, sum := make([][3]float64, n), make([][3]float64, n)
			for k := range n {
				f[k] = now[first+k*step]
			}
			line(&r, sum, f)
			for k := range n {
				now[first+k*step] = sum[k]
			}
		}
		plane.Rows(in.height, func(y int) { along(y*in.width, 1, in.width) })
		plane.Rows(in.width, func(x int) { along(x, in.width, in.height) })
	}
	for i, w := range in.words {
		out.words[i] = t.wordOf(now[i], w[3])
	}
	return out
}

// Forwards adds the causal half of the filter to out[from:to]. It starts at f[start], start <=
// from, as if the line had been of that colour before.
func (r *Recursion) Forwards(out, f [][3]float64, start, from, to int) {
	last := f[start]
	var g [2][3]complex128
	for i := range g {
		for c := range last {
			g[i][c] = r.A[i] / (1 - r.B[i]) * complex(last[c], 0)
		}
	}
	for k := start; k < to; k++ {
		f, d := f[k], r.Distance(f[k], last)
		for i := range g {
			power := cmplx.Exp(r.Rate[i] * complex(d, 0))
			for c := range f {
				g[i][c] = r.A[i]*complex(f[c], 0) + power*g[i][c] + r.phi(i, f[c], last[c], d, power)
			}
		}
		last = f
		if k >= from {
			addReal(&out[k], g)
		}
	}
}

// Backwards adds the other half. It starts at f[start], start >= to-1.
func (r *Recursion) Backwards(out, f [][3]float64, start, from, to int) {
	last := f[start]
	var g [2][3]complex128
	for i := range g {
		for c := range last {
			g[i][c] = r.A[i] * r.B[i] / (1 - r.B[i]) * complex(last[c], 0)
		}
	}
	for k := start; k >= from; k-- {
		f, d := f[k], r.Distance(f[k], last)
		for i := range g {
			power := cmplx.Exp(r.Rate[i] * complex(d, 0))
			for c := range f {
				g[i][c] = r.A[i]*power*complex(last[c], 0) + power*g[i][c] + r.phi(i, f[c], last[c], d, power)
			}
		}
		last = f
		if k < to {
			addReal(&out[k], g)
		}
	}
}

func addReal(out *[3]float64, g [2][3]complex128) {
	for c := range out {
		out[c] += real(g[0][c] + g[1][c])
	}
}

// phi is Phi of one channel, with r0 and r1 written out: 1/r0 is Drive, and -r1 b is a b / (1-b),
// which stay finite even if sigma is so small that b is 0.
func (r *Recursion) phi(i int, f, last, d float64, power complex128) complex128 {
	ramp := r.Drive[i] * (power - 1) / complex(d, 0)
	r1 := r.A[i] / (r.B[i] - 1)
	return (ramp-r1*r.B[i])*complex(f, 0) - (ramp-r1*power)*complex(last, 0)
}
