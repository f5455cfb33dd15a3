package noise

import (
	"encoding/binary"

	"vidfilter/denoise/plane"
)

// Pair is the information on noise from a frame and the one before it. The size is fixed, and pairs
// add up.
type Pair struct {
	planes [3]statistics
	bright [brightBins]brightness // energies of luma between the frames, by brightness
	cut    bool                   // the frames do not show the same scene

	clipped bool // the blocks are cut off at the ends of the range
}

// brightness has the energies of the blocks of a brightness.
type brightness struct {
	all  histogram
	fine histogram // of the higher half of the frequencies
}

// block is an 8x8 block of coefficients, at [v*8+u].
type block [64]float32

// statistics are one plane's.
type statistics struct {
	between spectra // of the differences of matched blocks, halved: noise and motion
	within  spectra // of the blocks themselves: the noise, and all texture
	blocks  int
	copies  int // blocks with something in them, and no difference
}

// spectra are the energies of blocks, and the sums of their squared coefficients by energy.
type spectra struct {
	histogram
	squares [bins]block
}

const (
	brightBins = 16

	// maxAreas bounds the work on a pair: areas of 16x16 luma samples, with four blocks of luma in
	// each. The blocks of larger pictures are sampled. With 1024 blocks a pair and six pairs, an
	// estimate varies by less than 1 % for that alone.
	maxAreas = 256

	// The numbers of a block's 64 samples that may be at the ends of the range, where noise is cut
	// off, and that may be the black of video, of which letterboxes are made.
	maxClipped = 3
	maxBlack   = 16
)

// newPair measures a frame and the one before it, which is nil for the first. Frames of different
// sizes are a cut. Of frames of one scene it also returns the search, and the frame as the middle
// of three.
func newPair(before, f *Frame) (*Pair, *search, *middle) {
	p := new(Pair)
	if len(f.levels) == 0 {
		return p, nil, nil
	}
	list := areas(f)
	vectors := make([]vector, len(list))
	if before == nil || !f.alike(before) {
		p.measureAll(nil, f, list, vectors, nil)
		p.cut = true
		return p, nil, nil
	}
	s := newSearch(before, f)
	patches := make([]patch, len(list))
	const run = 16
	plane.Rows((len(list)+run-1)/run, func(i int) {
		for j := i * run; j < min((i+1)*run, len(list)); j++ {
			vectors[j] = s.area(list[j], &patches[j])
		}
	})
	m := newMiddle(f, list, patches, vectors)
	p.measureAll(before, f, list, vectors, m)
	if p.isCut(&s) {
		return newPair(nil, f)
	}
	return p, &s, m
}

// measureAll adds the blocks of all areas, in order, for the sums are not exact. Where almost all
// of them are cut off at the ends of the range, as in a black picture, they count after all: the
// rest of the noise is visible. They do not if some are flat, for then others are drawn.
func (p *Pair) measureAll(before, f *Frame, list []area, vectors []vector, m *middle) {
	for i, a := range list {
		p.measure(before, f, i, a, vectors[i], m)
	}
	const blocks, most, flat = 4, 20, 10
	if p.clipped || most*(p.planes[0].within.zeros+p.planes[0].within.n) > blocks*len(list) {
		return
	}
	q := &Pair{clipped: true}
	q.measureAll(before, f, list, vectors, nil)
	if s := &q.planes[0]; s.within.n > flat*(s.within.zeros+s.between.zeros) {
		*p = *q
	}
}

// area is the number of an area across and down.
type area struct{ x, y int }

// areas returns the areas to measure: all, or one in each of f.most runs of the same length, at
// places that are scattered so that they follow no column.
func areas(f *Frame) []area {
	luma := f.pic.Planes[0]
	w, h := luma.Width/window, luma.Height/window
	n := min(w*h, f.most)
	list := make([]area, n)
	for i := range list {
		from, to := i*w*h/n, (i+1)*w*h/n
		at := from + int(uint32(i)*2654435769>>16)%(to-from)
		list[i] = area{at % w, at / w}
	}
	return list
}

// measure adds the blocks of area i. Without a frame before, they are measured by themselves.
func (p *Pair) measure(before, f *Frame, i int, a area, v vector, m *middle) {
	for c := range f.pic.Planes {
		sx, sy := 0, 0
		if c > 0 {
			sx, sy = f.pic.ShiftX, f.pic.ShiftY
		}
		b := blocks{cur: &f.pic.Planes[c], luma: c == 0, clipped: p.clipped, area: i, middle: m}
		if before != nil {
			b.ref = &before.pic.Planes[c]
			b.v = vector{shifted(v.x, sx), shifted(v.y, sy)}
		}
		if n := p.measurePlane(c, &b, a, sx, sy); n == 0 {
			return // luma shows no noise: nor will chroma, in a black bar
		}
	}
}

// measurePlane adds the blocks of an area in one plane, and returns how many showed noise.
func (p *Pair) measurePlane(c int, b *blocks, a area, sx, sy int) (n int) {
	x0, y0 := a.x*window>>sx, a.y*window>>sy
	for y := y0; y < y0+max(window>>sy, 8); y += 8 {
		for x := x0; x < x0+max(window>>sx, 8); x += 8 {
			if b.load(min(x, b.cur.Width-8), min(y, b.cur.Height-8)) {
				p.add(c, b)
				n++
			}
		}
	}
	return n
}

// shifted halves repeatedly, and rounds.
func shifted(v, by int) int { return (v + 1<<by>>1) >> by }

// blocks are a block of a frame, and its difference from its match in the frame before.
type blocks struct {
	cur  *plane.View
	ref  *plane.View
	v    vector
	luma bool

	clipped bool // also read blocks that are cut off

	middle     *middle // remembers the blocks; may be nil
	area, x, y int

	block, diff block
}

// load reads and transforms the blocks at x, y. It reports whether there is noise to be seen in
// them.
func (b *blocks) load(x, y int) bool {
	b.x, b.y = x, y
	clipped, black := 64, 64
	if !b.clipped {
		clipped = maxClipped
	}
	if b.luma {
		black = maxBlack
	}
	unit := b.cur.Unit()
	var own, other samples
	own.read(b.cur, x, y)
	if b.ref == nil {
		return own.transform(nil, unit, clipped, black, &b.block, nil)
	}
	other.read(b.ref, clamp(x+b.v.x, 0, b.ref.Width-8), clamp(y+b.v.y, 0, b.ref.Height-8))
	return own.transform(&other, unit, clipped, black, &b.block, &b.diff)
}

// read reads the samples at x, y.
func (all *samples) read(p *plane.View, x, y int) {
	if all.readBytes(p, x, y) {
		return
	}
	for j := range 8 {
		p.Read(all[8*j:8*j+8], x, y+j)
	}
}

// readBytes is read for samples that are bytes side by side. It reports whether they are. All rows
// are loaded first, for the processor to wait for their cache lines at once.
func (all *samples) readBytes(p *plane.View, x, y int) bool {
	var rows [8]uint64
	for j := range rows {
		in, ok := p.Bytes(y + j)
		if !ok {
			return false
		}
		rows[j] = binary.LittleEndian.Uint64(in[x:])
	}
	for j, row := range rows {
		out := (*[8]uint16)(all[8*j:])
		for i := range out {
			out[i] = uint16(byte(row >> (8 * i)))
		}
	}
	return true
}

// add adds the blocks that have been loaded to the statistics of a plane.
func (p *Pair) add(c int, b *blocks) {
	s := &p.planes[c]
	if b.middle != nil {
		b.middle.remember(c, b)
	}
	mean := b.block[0] / 8
	within := b.block.highest(b.block.square())
	if b.ref == nil {
		s.blocks++
		s.within.add(within, &b.block)
		return
	}
	between := b.diff.square() / 63
	if within >= least {
		s.blocks++
	}
	if s.between.add(between, &b.diff) {
		s.within.histogram.add(within) // its spectrum counts for copies only
	} else if s.within.add(within, &b.block) {
		s.copies++
	}
	if c == 0 {
		at := &p.bright[brightBin(mean)]
		at.all.add(between)
		at.fine.add(b.diff.fine())
	}
}

// add adds a block with its energy, and reports whether it has any.
func (s *spectra) add(energy float32, squares *block) bool {
	bin := s.histogram.add(energy)
	if bin < 0 {
		return false
	}
	sums := &s.squares[bin]
	for k, v := range squares {
		sums[k] += v
	}
	return true
}

// square squares the coefficients and returns the sum of all but the block's mean, which brightness
// moves.
func (b *block) square() float32 {
	mean := b[0]
	b[0] = 0
	var s0, s1, s2, s3 float32 // not one sum, for each addition waits for the one before
	for i := 0; i < 64; i += 4 {
		c := (*[4]float32)(b[i:])
		c[0], c[1], c[2], c[3] = c[0]*c[0], c[1]*c[1], c[2]*c[2], c[3]*c[3]
		s0, s1, s2, s3 = s0+c[0], s1+c[1], s2+c[2], s3+c[3]
	}
	b[0] = mean * mean
	return s0 + s1 + (s2 + s3)
}

// highest returns the mean of the squares of the higher frequencies, where texture is weakest,
// given the sum of all but the first.
func (b *block) highest(sum float32) float32 {
	for _, k := range [5]int{1, 2, 8, 9, 16} {
		sum -= b[k]
	}
	return max(sum, 0) / 58
}

// fine returns the mean of the squares of the higher half of the frequencies.
func (b *block) fine() (mean float32) {
	for v := 1; v < 8; v++ {
		for _, c := range b[8*v+8-v : 8*v+8] {
			mean += c
		}
	}
	return mean / 28
}

// merge adds the statistics of another pair.
func (p *Pair) merge(q *Pair) {
	for c := range p.planes {
		s, t := &p.planes[c], &q.planes[c]
		s.between.merge(&t.between)
		s.within.merge(&t.within)
		s.blocks += t.blocks
		s.copies += t.copies
	}
	for i := range p.bright {
		p.bright[i].all.merge(&q.bright[i].all)
		p.bright[i].fine.merge(&q.bright[i].fine)
	}
}

func (s *spectra) merge(t *spectra) {
	s.histogram.merge(&t.histogram)
	for b := range s.squares {
		if t.count[b] == 0 {
			continue
		}
		for k, v := range t.squares[b] {
			s.squares[b][k] += v
		}
	}
}

// copied reports whether nearly all of the frame is the one before again.
func (p *Pair) copied() bool {
	s := &p.planes[0]
	return float64(s.copies) > 0.9*float64(s.blocks)
}
