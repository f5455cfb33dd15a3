package cpu

// #include "cpu.h"
import "C"

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"vidfilter/denoise/fusion"
	"vidfilter/denoise/motion"
	"vidfilter/pipeline"
)

// pass is a pass over one plane.
type pass struct {
	job    *C.vd_pass
	strips []strip
	seams  []seam // between strip i and i+1
}

// strip is a number of patch rows, whose sums no other strip touches meanwhile.
type strip struct {
	rows     []int // the first rows of the patches
	end      int   // after the last row of the last patches
	from, to int   // rows that no other strip's patches reach
}

// seam holds the sums of both strips for the rows from..to-1, which both reach.
type seam struct {
	from, to     int
	above, below C.vd_sums
}

const stripRows = 8 // rows of patches

// The sides of patches.
const (
	firstPatch  = 8
	secondPatch = largestPatch
)

// stripsOf cuts a plane into strips. A strip is high enough that only those beside it overlap it.
func stripsOf(height, n, stride int) (all []strip) {
	rows := fusion.Places(height, n, stride)
	count, reached := max(stripRows, n/stride+2), 0
	for len(rows) > 0 {
		own := rows[:min(count, len(rows))]
		rows = rows[len(own):]
		s := strip{rows: own, end: own[len(own)-1] + n, from: reached, to: height}
		if len(rows) > 0 {
			s.to = rows[0]
		}
		reached = s.end
		all = append(all, s)
	}
	return all
}

// newPass sets up a pass over component c: the numbers that both passes have, and memory for the
// seams.
func (f *filter) newPass(c, n int, k fusion.Constants, neighbours []*neighbour) (*pass, error) {
	b, err := f.alloc(aligned(C.sizeof_vd_pass))
	if err != nil {
		return nil, err
	}
	cell, field := motion.Cell, func(s *C.vd_search) *C.vd_vector { return s.found[0] }
	if n == secondPatch {
		cell, field = motion.RefinedCell, func(s *C.vd_search) *C.vd_vector { return s.refined }
	}
	j := (*C.vd_pass)(b.take(C.sizeof_vd_pass))
	*j = C.vd_pass{
		noisy: f.frame.planes[c], out: f.result[c],
		neighbours: C.int(len(neighbours)),
		n:          C.int(n), stride: C.int(k.Stride),
		cell_shift: C.int(bits.TrailingZeros(uint(cell))),
		fade:       C.float(-math.Log2E / float64(k.PatchFade)), frequency: C.float(k.Frequency),
		unit: C.float(k.WeightUnit), grain: C.float(f.Grain),
		sigma: C.float(max(f.noise.Sigma[c], leastSigma)),
	}
	luma, depth := shapeOf(f.planes.levels[0]), f.frame.depth()
	j.cells_x, j.cells_y = C.int(cells(luma.width, cell)), C.int(cells(luma.height, cell))
	j.level, j.pilot_level = levelAt(depth), levelAt(min(depth+C.VD_PILOT_BITS, 16))
	if c > 0 {
		j.shift_x, j.shift_y = C.int(f.frame.shiftX), C.int(f.frame.shiftY)
	}
	if k.DCGate {
		j.gate = 1
	}
	if f.ClipCurve {
		j.clip = 1
	}
	if j.limit, err = limitOf(n, k); err != nil {
		return nil, err
	}
	f.setNoise(j, c, n)
	for i, other := range neighbours {
		near := &j.near[i]
		near.between = other.between[c]
		near.field = field(other.job)
		near.reach = C.int(f.reach(other))
	}
	p := &pass{job: j, strips: stripsOf(int(j.noisy.height), n, k.Stride)}
	return p, f.newSeams(p, c)
}

// levelAt is a step of samples of a depth, in 8-bit levels.
func levelAt(depth int) C.float { return 1 / C.float(int(1)<<(depth-8)) }

// limitOf is how far from the middle a value may be for 32 bits to hold all sums. A weight is at
// most 1/leastLeft units, and along each axis n/stride patches reach a sample, one more where that
// is not whole, and the one at the edge. So it is over 2900 levels for both passes of each tier,
// where means of samples are within 128 and ringing does not double that.
func limitOf(n int, k fusion.Constants) (C.float, error) {
	const weight, least = 10, 512
	if k.Stride < 1 || k.Stride > n {
		return 0, fmt.Errorf("denoise: patches at each %d samples", k.Stride)
	}
	along := float64((n+k.Stride-1)/k.Stride + 1)
	limit := (math.MaxInt32/(along*along) - 1) / (weight*float64(k.WeightUnit) + 1)
	if limit < least {
		return 0, fmt.Errorf("denoise: patches at each %d samples are too many for sums of 32 bits", k.Stride)
	}
	return C.float(limit), nil
}

const leastSigma = 0.03 // as in fusion.Noise.Factor

// setNoise sets the tables of the coefficients, which the C code has transposed.
func (f *filter) setNoise(j *C.vd_pass, c, n int) {
	m := fusion.Noise{Sigma: float32(f.noise.Sigma[c]), Spectrum: f.noise.Spectrum[c]}
	variances := m.Variances(n)
	for v := range n {
		for u := range n {
			x := variances[v*n+u]
			j.variance[u*n+v], j.inverse[u*n+v] = C.float(x), C.float(1/x)
		}
	}
	for i, w := range fusion.Window(n) {
		j.window[i] = C.float(w)
	}
	for i, x := range pipeline.Rounding(f.depth) {
		j.rounding[i] = C.float(x)
	}
	for i, x := range f.noise.CurveOf(c) {
		j.curve[i] = C.float(x)
	}
}

const sumSize = 4 // bytes

func sumsSize(width, rows int) int { return 2 * aligned(sumSize*pitchOf(width)*rows) }

// sums takes sums for rows of a plane from a block.
func (b *block) sums(width, rows int) C.vd_sums {
	pitch := pitchOf(width)
	part := sumSize * pitch * rows
	return C.vd_sums{
		weights: (*C.int32_t)(b.take(part)), values: (*C.int32_t)(b.take(part)), pitch: C.ptrdiff_t(pitch),
	}
}

func seamsSize(width int, strips []strip) (size int) {
	for i := range strips[1:] {
		size += 2 * sumsSize(width, strips[i].end-strips[i].to)
	}
	return size
}

// newSeams makes room for the seams of a pass over component c, in place of the first pass's.
func (f *filter) newSeams(p *pass, c int) (err error) {
	width, height := int(p.job.noisy.width), int(p.job.noisy.height)
	if f.seams[c] == nil {
		size := seamsSize(width, p.strips)
		if f.TwoPasses {
			size = max(size, seamsSize(width, stripsOf(height, secondPatch, f.Second.Stride)))
		}
		if f.seams[c], err = f.alloc(max(size, align)); err != nil {
			return err
		}
	}
	b := f.seams[c]
	b.used = 0
	for i := range p.strips[1:] {
		from, to := p.strips[i].to, p.strips[i].end
		p.seams = append(p.seams, seam{from, to, b.sums(width, to-from), b.sums(width, to-from)})
	}
	return nil
}

// runPasses runs passes over several planes: the strips of all, then the seams.
func (f *filter) runPasses(all []*pass) error {
	type part struct {
		*pass
		i int
	}
	var strips, seams []part
	for _, p := range all {
		for i := range p.strips {
			strips = append(strips, part{p, i})
		}
		for i := range p.seams {
			seams = append(seams, part{p, i})
		}
	}
	errs := make([]error, len(strips))
	f.share(len(strips), func(i int) { errs[i] = f.runStrip(strips[i].pass, strips[i].i) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	f.share(len(seams), func(i int) {
		p, s := seams[i].job, seams[i].seams[seams[i].i]
		C.vd_add(s.below, s.above, p.noisy.width, C.int(s.to-s.from))
		C.vd_finish(f.isa, p, s.below, C.int(s.from), C.int(s.from), C.int(s.to))
	})
	return nil
}

func (f *filter) runStrip(p *pass, i int) error {
	s, width := p.strips[i], int(p.job.noisy.width)
	n, top, most := int(p.job.n), s.rows[0], 0
	for _, o := range p.strips { // the same size for all, so that memory is used again
		most = max(most, o.end-o.rows[0])
	}
	b := f.heap.alloc(sumsSize(width, most))
	if b == nil {
		return errMemory
	}
	defer b.release()
	sums := b.sums(width, most)
	cleared, done := top, s.from
	for k, y := range s.rows {
		C.vd_clear(sums, C.int(width), C.int(cleared-top), C.int(y+n-top))
		cleared = y + n
		C.vd_fuse(f.isa, p.job, sums, C.int(top), C.int(y))
		next := s.to
		if k+1 < len(s.rows) {
			next = min(next, s.rows[k+1])
		}
		if next > done { // while the sums are in the cache
			C.vd_finish(f.isa, p.job, sums, C.int(top), C.int(done), C.int(next))
			done = next
		}
	}
	if i > 0 {
		o := p.seams[i-1]
		C.vd_copy(o.below, sums, C.int(width), C.int(o.to-o.from))
	}
	if i < len(p.seams) {
		o := p.seams[i]
		sums.weights = (*C.int32_t)(unsafe.Add(unsafe.Pointer(sums.weights), sumSize*int(sums.pitch)*(o.from-top)))
		sums.values = (*C.int32_t)(unsafe.Add(unsafe.Pointer(sums.values), sumSize*int(sums.pitch)*(o.from-top)))
		C.vd_copy(o.above, sums, C.int(width), C.int(o.to-o.from))
	}
	return nil
}

// first runs the first pass.
func (f *filter) first(neighbours []*neighbour) error {
	const n = firstPatch
	var all []*pass
	for c := range f.pilots.Each() {
		p, err := f.newPass(c, n, f.First.Constants, neighbours)
		if err != nil {
			return err
		}
		j := p.job
		C.vd_set_scales(j)
		j.threshold, j.fall, j.least = C.float(f.First.Threshold), C.float(f.First.ThresholdFall), C.float(f.First.LeastThreshold)
		j.least_gain = C.float(f.First.LeastGain)
		if f.TwoPasses {
			j.out, j.pilot_out = C.vd_plane{}, f.pilot[c]
			if c == 0 {
				j.out = f.rounded
			}
		}
		all = append(all, p)
	}
	return f.runPasses(all)
}

// preparePilot makes room for the first pass's output to the second.
func (f *filter) preparePilot() error {
	luma := searchShape(f.frame.planes[0])
	b, err := f.alloc(luma.size())
	if err != nil {
		return err
	}
	f.rounded = b.plane(luma)
	for c := range f.pilots.Each() {
		p := f.frame.planes[c]
		size := C.sizeof_uint16_t * int(p.pitch) * int(p.height)
		if b, err = f.alloc(aligned(size)); err != nil {
			return err
		}
		f.pilot[c] = (*C.uint16_t)(b.take(size))
	}
	return nil
}

// second runs the second pass: on all planes at once, or on as many as the memory for far frames
// allows.
func (f *filter) second(neighbours []*neighbour) error {
	var far []*neighbour
	for _, n := range neighbours {
		if n.along != nil {
			far = append(far, n)
		}
	}
	for left := slices.Collect(f.filtered.Each()); len(left) > 0; {
		if f.passing != nil {
			f.passing.used = 0
		}
		var all []*pass
		var planes []across
		for len(left) > 0 {
			c := left[0]
			need := len(far) * shapeOf(f.frame.planes[c]).size()
			if need > 0 && len(all) > 0 && f.passing.used+need > f.passing.size {
				break
			}
			left = left[1:]
			for _, n := range far {
				n.between[c] = f.passing.across(n.frame.planes[c])
				planes = append(planes, n.between[c])
			}
			p, err := f.newSecond(c, neighbours)
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		f.moveRight(planes)
		if err := f.runPasses(all); err != nil {
			return err
		}
	}
	return nil
}

func (f *filter) newSecond(c int, neighbours []*neighbour) (*pass, error) {
	p, err := f.newPass(c, secondPatch, f.Second.Constants, neighbours)
	if err != nil {
		return nil, err
	}
	j := p.job
	C.vd_set_units(j)
	j.share = C.float(f.Second.NoiseShare)
	j.pilot = f.pilot[c]
	b := f.Second.Blend
	f.setPast(j, c, neighbours)
	j.blend, j.from, j.to = C.float(b.Share(f.sigma)), C.float(b.From), C.float(b.To)
	return p, nil
}
