package fusion

import "vidfilter/denoise/plane"

// patch is one patch of the plane, with its matches. Slices have a value for each coefficient.
type patch struct {
	*pass
	frames  [][]float32 // coefficients: of the frame itself, then of its neighbours
	weights [][]float32 // of the same
	count   int         // frames in use
	pilot   []float32   // coefficients, in the second pass

	local    []float32 // variances of the noise here
	mean     []float32 // of the frames, weighted; then the result
	variance []float32 // of the mean, in variances of the noise
	excess   []float32 // scratch
	pooled   []float32 // scratch
	samples  []float32 // scratch
}

func newPatch(p *pass) *patch {
	b := &patch{pass: p}
	block := func() []float32 { return make([]float32, p.n*p.n) }
	for range 1 + max(len(p.Neighbours), 1) { // one for the past
		b.frames = append(b.frames, block())
		b.weights = append(b.weights, block())
	}
	for _, s := range []*[]float32{
		&b.pilot, &b.local, &b.mean, &b.variance, &b.excess, &b.pooled, &b.samples,
	} {
		*s = block()
	}
	return b
}

// process adds the patch at (x, y) to the sums of its strip.
func (b *patch) process(x, y int, strip *Sums) {
	b.load(b.frames[0], b.Noisy, x, y)
	for k := range b.weights[0] {
		b.weights[0][k] = 1
	}
	reference := b.frames[0]
	if b.pass.pilot != nil {
		b.load(b.pilot, *b.pass.pilot, x, y)
		reference = b.pilot
	}
	factor := b.Noise.Factor(reference[0]/float32(b.n), b.ClipCurve)
	for k, v := range b.spectrum {
		b.local[k] = v * factor
	}
	b.count = 1
	for i := range b.Neighbours {
		b.loadNeighbour(&b.Neighbours[i], x, y, reference)
	}
	b.average()
	if b.extend != nil {
		b.extend(b, x, y)
	}
	b.add(x, strip, b.shrink(b))
}

// load transforms the samples at (x, y).
func (b *patch) load(out []float32, p plane.Plane, x, y int) {
	unit := float32(p.Unit())
	for i := range b.n {
		for j, v := range p.Row(y + i)[x : x+b.n] {
			b.samples[i*b.n+j] = float32(v) / unit
		}
	}
	b.forward(out, b.samples)
}

// loadNeighbour transforms the matching patch of a neighbour, unless it is out of reach, and weighs
// it against the reference.
func (b *patch) loadNeighbour(n *Neighbour, x, y int, reference []float32) {
	v := n.Field.Of((x+b.n/2)<<b.ShiftX, (y+b.n/2)<<b.ShiftY)
	if n.Reach > 0 && v.Length() > n.Reach {
		return
	}
	phase, dx, dy := v.Scaled(b.ShiftX, b.ShiftY).Phase()
	p := n.Planes[phase]
	x = min(max(x+dx, 0), p.Width-b.n)
	y = min(max(y+dy, 0), p.Height-b.n)
	b.load(b.frames[b.count], p, x, y)
	b.weigh(b.weights[b.count], b.frames[b.count], reference)
	b.count++
}

// average sets mean and variance.
func (b *patch) average() {
	for k := range b.mean {
		var sum, weight, squares float32
		for i := range b.count {
			w := b.weights[i][k]
			sum += w * b.frames[i][k]
			weight += w
			squares += w * w
		}
		b.mean[k] = sum / weight
		b.variance[k] = squares / (weight * weight)
	}
}

const leastLeft = 0.1 // bounds the weight of a patch in which hardly any noise is left

// add transforms the result back and adds it to a strip, with the more weight the less noise is
// left.
func (b *patch) add(x int, strip *Sums, left float32) {
	b.inverse(b.samples, b.mean)
	weight := 1 / max(left, leastLeft)
	for i := range b.n {
		for j := range b.n {
			k := i*b.n + j
			g := rint(b.WeightUnit * (weight * b.window[k]))
			strip.add(x+j, i, int64(g), b.samples[k])
		}
	}
}
