package interlace

import (
	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
)

// Search finds the vectors between estimates. Their noise is unknown, so sigma 3 is assumed.
var Search = motion.NewSearch(motion.Constants{Penalty: 2, RefinePenalty: 0.6}, 3)

// LeastSearched is the least width and height of a searched plane. Smaller planes are extended.
const LeastSearched = 16

// Passes is the number of times that an estimate is improved. A pass reads the estimates of two
// fields each way.
const Passes = 2

// Neighbours are the distances, in fields, from a field to its neighbours in a pass.
var Neighbours = [4]int{-1, 1, -2, 2}

// standIns are the fields to use as each neighbour, in order of preference.
var standIns = [4][]int{{-1, 1}, {1, -1}, {-2, -1, 1}, {2, 1, -1}}

// StandIn returns the index in the window of neighbour i of field n, or of the field that replaces
// it. there reports whether the window has a field at an index. StandIn panics without neighbours.
func StandIn(i, n int, there func(place int) bool) int {
	for _, k := range standIns[i] {
		if there(n + k) {
			return n + k
		}
	}
	panic("interlace: a field without neighbours")
}

// estimate is a full picture for a field, with the data derived from it.
type estimate struct {
	planes  []plane.Plane
	half    []motion.HalfPels
	search  motion.Frame
	vectors [4]motion.Field // to the neighbours
}

func (l *Lines) estimateOf(planes []plane.Plane) *estimate {
	e := &estimate{planes: planes}
	for _, p := range planes {
		e.half = append(e.half, motion.Between(p))
	}
	e.search = Search.Prepare(planes[l.searched].AtLeast(LeastSearched, LeastSearched))
	return e
}

// first returns the estimate from the field alone.
func (l *Lines) first() *estimate {
	if l.estimates[0] == nil {
		var planes []plane.Plane
		for i, p := range l.Planes {
			out := plane.New(p.Width, l.heights[i], p.Depth)
			l.tables.Net.fill(out, p, l.parity(i))
			planes = append(planes, out)
		}
		l.estimates[0] = l.estimateOf(planes)
	}
	return l.estimates[0]
}

// parity returns the first row of component i that the field contains.
func (l *Lines) parity(i int) int {
	if l.Bottom && l.heights[i] > 1 {
		return 1
	}
	return 0
}

// at returns the estimate of field n after some passes. After the last it is the result.
func at(window *[2*Reach + 1]*Lines, n, pass int) *estimate {
	l := window[n]
	if pass == 0 {
		return l.first()
	}
	if pass < Passes && l.estimates[pass] != nil {
		return l.estimates[pass]
	}
	b := blenderOf(window, n, pass-1)
	var planes []plane.Plane
	for i := range l.Planes {
		planes = append(planes, b.component(i))
	}
	if pass == Passes {
		return &estimate{planes: planes}
	}
	l.estimates[pass] = l.estimateOf(planes)
	l.estimates[pass].vectors = b.vectors
	return l.estimates[pass]
}

// blenderOf returns the blender of a pass for field n.
func blenderOf(window *[2*Reach + 1]*Lines, n, pass int) *blender {
	b := &blender{Lines: window[n], pass: pass, now: at(window, n, pass)}
	there := func(place int) bool { return place >= 0 && place < len(window) && window[place] != nil }
	for i := range Neighbours {
		place := StandIn(i, n, there)
		b.to[i], b.bottom[i] = at(window, place, pass), window[place].Bottom
		b.there[i] = place == n+Neighbours[i]
	}
	for i, to := range b.to {
		if pass == 0 {
			b.vectors[i] = Search.Find(b.now.search, to.search)
		} else {
			b.vectors[i] = Search.Refine(b.now.search.Levels[0], to.search, b.now.vectors[i])
		}
	}
	return b
}

// blender runs a pass: missing samples become weighted sums of the samples around them.
type blender struct {
	*Lines
	pass    int
	now     *estimate
	to      [4]*estimate // the neighbours or their stand-ins
	bottom  [4]bool
	there   [4]bool
	vectors [4]motion.Field
	visit   func(Sample) // nil, or called for each sample that a class's weights make
}

const (
	across, beside = 8, 2 // columns of a block, and compared columns on each side
	stillMean      = 86   // largest mean difference in a still block, in 1/72 of a level
	stillMost      = 8    // largest difference in a still block, in levels
)

// block is two missing rows of a component.
type block struct {
	*blender
	c, x0, y0, s int
	vector       [4]motion.Vector
	d            [4]int // differences from the neighbours
	dm           int    // difference between the two nearest
}

func (b *blender) component(c int) plane.Plane {
	out := b.now.planes[c].Crop(b.now.planes[c].Width, b.now.planes[c].Height)
	for y0 := 1 - b.parity(c); y0 < out.Height; y0 += 4 {
		if out.Height == 1 {
			break
		}
		for x0 := 0; x0 < out.Width; x0 += across {
			k := block{blender: b, c: c, x0: x0, y0: y0, s: out.Depth - 8}
			k.fill(out)
		}
	}
	return out
}

func (k *block) moved(i, x, y int) int {
	phase, dx, dy := k.vector[i].Phase()
	return k.to[i].half[k.c][phase].At(x+dx, y+dy)
}

// sum adds do over the compared columns of some rows, which are relative to y0.
func (k *block) sum(rows []int, do func(x, y int) int) (sum int) {
	for _, y := range rows {
		for x := k.x0 - beside; x < k.x0+across+beside; x++ {
			sum += do(x, k.y0+y)
		}
	}
	return sum
}

var ownRows, missingRows = []int{-1, 1, 3}, []int{0, 2}

func (k *block) compare() {
	now := k.now.planes[k.c]
	for i := range k.to {
		k.d[i] = k.sum(ownRows, func(x, y int) int { return apart(now.At(x, y), k.moved(i, x, y)) })
	}
	k.dm = k.sum(missingRows, func(x, y int) int { return apart(k.moved(0, x, y), k.moved(1, x, y)) })
	if !k.there[0] || !k.there[1] {
		k.dm = 2 * k.d[0] / 3
	}
}

func apart(a, b int) int { return max(a-b, b-a) }

// still returns the mean difference without motion, in 1/72 of a level, and the largest difference.
// known is false if the window has no pair of fields to compare.
func (k *block) still() (z, largest int, known bool) {
	compare := func(rows []int, scale int, a, b plane.Plane) {
		known = true
		z = max(z, scale*k.sum(rows, func(x, y int) int {
			d := apart(a.At(x, y), b.At(x, y))
			largest = max(largest, d)
			return d
		}))
	}
	if k.there[0] && k.there[1] {
		compare(missingRows, 3, k.to[0].planes[k.c], k.to[1].planes[k.c])
	}
	for i := 2; i < 4; i++ {
		if k.there[i] {
			compare(ownRows, 2, k.now.planes[k.c], k.to[i].planes[k.c])
		}
	}
	return z, largest, known
}

// kind is 0 if the vector to neighbour i leads to the neighbour's own rows, 2 if it leads to its
// missing rows, 1 if it leads between rows.
func (k *block) kind(i int) int {
	bottom := 0
	if k.bottom[i] && k.heights[k.c] > 1 {
		bottom = 1
	}
	switch (2*k.y0 + k.vector[i].Y - 2*bottom) & 3 {
	case 0:
		return 0
	case 2:
		return 2
	}
	return 1
}

// bin quantises the mean of n differences.
func (k *block) bin(sum, n int) int {
	switch {
	case sum < (3*n/2)<<k.s:
		return 0
	case sum < (4*n)<<k.s:
		return 1
	case sum < (10*n)<<k.s:
		return 2
	}
	return 3
}

func (k *block) fill(out plane.Plane) {
	put := func(do func(x, y int) uint16) {
		for y := k.y0; y < min(k.y0+3, out.Height); y += 2 {
			for x := k.x0; x < min(k.x0+across, out.Width); x++ {
				out.Row(y)[x] = do(x, y)
			}
		}
	}
	z, largest, known := k.still()
	if known && z <= stillMean<<k.s && largest <= stillMost<<k.s {
		put(func(x, y int) uint16 {
			return uint16((k.to[0].planes[k.c].At(x, y) + k.to[1].planes[k.c].At(x, y) + 1) >> 1)
		})
		return
	}
	sx, sy := k.shifts(k.c)
	for i := range k.vector {
		k.vector[i] = k.vectors[i].Of((k.x0+across/2)<<sx, (k.y0+1)<<sy).Scaled(sx, sy)
	}
	k.compare()
	if known && z <= max(3*k.dm, 2*min(k.d[2], k.d[3])) {
		k.vector = [4]motion.Vector{}
		k.compare()
	}
	order := [4]int{0, 1, 2, 3} // of each two, the better match first
	if k.d[1] < k.d[0] {
		order[0], order[1] = 1, 0
	}
	if k.d[3] < k.d[2] {
		order[2], order[3] = 3, 2
	}
	now := k.now.planes[k.c]
	contrast := 0
	for x := k.x0; x < k.x0+across; x++ {
		contrast += apart(now.At(x, k.y0-1), now.At(x, k.y0+1)) + apart(now.At(x, k.y0+1), now.At(x, k.y0+3))
	}
	class := (k.kind(order[0])*3+k.kind(order[1]))*3 + min(k.kind(order[2]), k.kind(order[3]))
	class = ((class*4+k.bin(k.dm, 24))*4+k.bin(contrast, 32))*4 + k.bin(k.d[order[0]], 36)
	class = class*4 + k.bin(min(k.d[2], k.d[3]), 36)
	w := k.tables.weights(k.pass, class)
	put(func(x, y int) uint16 {
		e := func(j int) int { return now.At(x, y+j) }
		base := e(-1) + e(1)
		around := [Weights]int{0: e(-3) + e(3), 13: 2 * e(0)}
		for m, i := range order {
			q := func(j int) int { return k.moved(i, x, y+j) }
			around[1+3*m], around[2+3*m], around[3+3*m] = 2*q(0), q(-1)+q(1), q(-2)+q(2)
		}
		sum := float32(base)
		for i := range around {
			around[i] -= base
			sum += float32(w[i] * float32(around[i]))
		}
		if k.visit != nil {
			k.visit(Sample{x, y, class, base, around})
		}
		return uint16(min(max(float32(sum*0.5)+0.5, 0), float32(out.Max())))
	})
}
