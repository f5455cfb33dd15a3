package fusion

import (
	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
)

// Input is the input of a pass.
type Input struct {
	Noisy          plane.Plane
	Neighbours     []Neighbour
	ShiftX, ShiftY int // log2 of the subsampling of this plane against luma
	Noise          Noise
	ClipCurve      bool // count on less noise near white

	// For the second pass: frames further back, for patches whose vector in Still is short.
	Past  []Past
	Still motion.Field
}

// Past is the sum of a plane over Count frames, where they are.
type Past struct {
	plane.Plane
	Count int
}

// Neighbour is another frame, and the way to it.
type Neighbour struct {
	Planes motion.HalfPels // of the same component
	Field  motion.Field    // of luma
	Reach  int             // patches with longer vectors do without this frame; 0: no limit
}

// Constants are the choices that both passes have. Excess is the squared difference of two patches,
// in variances of the noise, less the noise's own.
type Constants struct {
	Stride     int     // between patches
	PatchFade  float32 // the excess, as the patch's mean, that makes its weight 1/e
	Frequency  float32 // how the weight of a frequency falls with its excess
	DCGate     bool    // watch the mean and the slopes by themselves
	WeightUnit float32 // of the weights in Sums, the inverse
}

// pass is a pass over one plane.
type pass struct {
	Input
	Constants
	*transform
	pilot    *plane.Plane // nil in the first pass
	spectrum []float32    // variances of the noise
	window   []float32
	expected float32 // squared difference from the reference that noise alone makes
	pool     func(out, in []float32, n int)
	extend   func(b *patch, x, y int) // takes the past into the mean; nil in the first pass
	// shrink takes noise out of the mean and returns how much is left: the sum over the
	// frequencies of its variance, in variances of the noise.
	shrink func(*patch) float32
}

// windowFall makes samples count exp(-windowFall*r²), r the distance from the centre in sides.
const windowFall = 4

func newPass(in Input, c Constants, t *transform) *pass {
	return &pass{
		Input: in, Constants: c, transform: t,
		spectrum: in.Noise.Variances(t.n),
		window:   Window(t.n),
	}
}

// Window is the weight of the samples of a patch of side n: less towards its edges.
func Window(n int) (weights []float32) {
	for y := range n {
		for x := range n {
			a := (float32(x)+0.5)/float32(n) - 0.5
			b := (float32(y)+0.5)/float32(n) - 0.5
			weights = append(weights, exp(-windowFall*(a*a+b*b)))
		}
	}
	return weights
}

// run adds up the patches of the plane, which must be no smaller than one.
func (p *pass) run() *Sums {
	sums := newSums(p.Noisy)
	columns, rows := Places(p.Noisy.Width, p.n, p.Stride), Places(p.Noisy.Height, p.n, p.Stride)
	plane.Rows(len(rows), func(i int) {
		strip := newSums(plane.Plane{Width: p.Noisy.Width, Height: p.n})
		b := newPatch(p)
		for _, x := range columns {
			b.process(x, rows[i], strip)
		}
		sums.addStrip(rows[i], strip)
	})
	return sums
}

// Places are the first samples of patches of side n: each stride, and one that ends at the edge.
func Places(size, n, stride int) (all []int) {
	for x := 0; x < size-n; x += stride {
		all = append(all, x)
	}
	return append(all, size-n)
}
