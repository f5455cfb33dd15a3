package deflicker

import (
	"cmp"
	"math"
	"slices"

	"vidfilter/internal/linear"
)

const (
	side  = 8  // of a block, in samples of a thumb
	reach = 20 // of the motion search, in samples of a thumb

	dark, light = 0.03, 0.96 // range of the mean level of a usable block: samples clip beyond it

	surest   = 0.002     // standard error of the best block
	oneLevel = 1.0 / 255 // of 8 bits

	// At a cut, as in denoise/noise, the mean difference of samples exceeds this, and the sum of
	// differences exceeds this share of the deviation of the blocks.
	cutDifference = 8 * oneLevel
	cutShare      = 0.85

	// A gain above leap is no flicker. Neither is a change above someLeap if the spread of the
	// blocks exceeds disagree.
	leap, someLeap, disagree = 1.4, 0.1, 0.05
)

// block is the change of brightness in a block since the previous picture.
type block struct {
	x, y  float64 // of its centre, as fractions of the width and height
	level float64 // mean of both pictures, 0 to 1
	ratio float64 // of the brightness to the previous picture's
	vary  float64 // variance of ratio
}

// change is the change of brightness between consecutive pictures: a gain for the whole picture and
// deviations from it.
type change struct {
	cut   bool // a new scene, or a change too large for flicker
	gain  float64
	parts parts
	err   float64 // standard error of gain
}

// parts holds relative deviations from the gain of the whole picture: at areas x areas nodes across
// the picture, then at the levels of toneAt. Values between nodes are interpolated.
type parts [areas*areas + tones]float64

const (
	areas = 3
	tones = 4
)

// toneAt lists the levels of the tone nodes.
var toneAt = [tones]float64{0.06, 0.2, 0.45, 0.9}

// Prior standard deviations of parts.
const areaSize, toneSize = 0.05, 0.02

// compare returns the change between two thumbs of the same size.
func compare(old, cur *thumb, threads int) *change {
	m := matcher{old: old, cur: cur, w: min(side, cur.w), h: min(side, cur.h)}
	across, down := cur.w/m.w, cur.h/m.h
	left, top := (cur.w-across*m.w)/2, (cur.h-down*m.h)/2
	type row struct {
		blocks       []block
		matched, own float64
	}
	rows := make([]row, down)
	inParts(down, threads, func(from, to int) {
		for j := from; j < to; j++ {
			r, v := &rows[j], vector{}
			for i := range across {
				x, y := left+i*m.w, top+j*m.h
				var cost float32
				v, cost = m.search(x, y, v)
				r.matched += float64(cost)
				r.own += float64(m.deviation(x, y))
				if b, ok := m.block(x, y, v); ok {
					r.blocks = append(r.blocks, b)
				}
			}
		}
	})
	var all row
	for _, r := range rows {
		all.matched, all.own, all.blocks = all.matched+r.matched, all.own+r.own, append(all.blocks, r.blocks...)
	}
	samples := float64(across * down * m.w * m.h)
	c := fit(all.blocks)
	c.cut = c.cut || all.matched > cutDifference*samples && all.matched > cutShare*all.own
	return c
}

// vector is the displacement of a block to its position in the previous picture.
type vector struct{ x, y int }

// matcher finds the blocks of a thumb in the previous thumb.
type matcher struct {
	old, cur *thumb
	w, h     int // of a block
}

// cost returns the sum of absolute differences from the block at a vector, without their mean.
func (m *matcher) cost(x, y int, v vector) (cost float32) {
	var differences [side * side]float32
	var sum float32
	n := 0
	for j := range m.h {
		cur := m.cur.pix[(y+j)*m.cur.w+x:][:m.w]
		old := m.old.pix[(y+v.y+j)*m.old.w+x+v.x:][:m.w]
		for i, s := range cur {
			d := s - old[i]
			differences[n] = d
			sum += d
			n++
		}
	}
	mean := sum / float32(n)
	for _, d := range differences[:n] {
		cost += max(d-mean, mean-d)
	}
	return cost
}

// deviation returns the sum of the absolute deviations of a block from its mean.
func (m *matcher) deviation(x, y int) (all float32) {
	var sum float32
	for j := range m.h {
		for _, s := range m.cur.pix[(y+j)*m.cur.w+x:][:m.w] {
			sum += s
		}
	}
	mean := sum / float32(m.w*m.h)
	for j := range m.h {
		for _, s := range m.cur.pix[(y+j)*m.cur.w+x:][:m.w] {
			all += max(s-mean, mean-s)
		}
	}
	return all
}

// search returns the best vector of a block, near 0 or near a given vector, and its cost.
func (m *matcher) search(x, y int, near vector) (best vector, cost float32) {
	cost = m.cost(x, y, best)
	if cost < 0.5*oneLevel*float32(m.w*m.h) { // a still block
		return best, cost
	}
	try := func(v vector) {
		if max(v.x, -v.x, v.y, -v.y) > reach || x+v.x < 0 || y+v.y < 0 || x+v.x+m.w > m.old.w || y+v.y+m.h > m.old.h {
			return
		}
		if c := m.cost(x, y, v); c < cost {
			best, cost = v, c
		}
	}
	if near != best {
		try(near)
	}
	for step := 4; step > 0; step /= 2 {
		for range 4 {
			at := best
			for dy := -step; dy <= step; dy += step {
				for dx := -step; dx <= step; dx += step {
					if dx != 0 || dy != 0 {
						try(vector{at.x + dx, at.y + dy})
					}
				}
			}
			if best == at {
				break
			}
		}
	}
	return best, cost
}

// block measures a block at a vector. It fits the differences by a change of brightness and a
// sub-sample shift. ok is false if the block is unusable.
func (m *matcher) block(x, y int, v vector) (b block, ok bool) {
	const dx, dy, diff = 0, 1, 2 // horizontal slope, vertical slope, difference
	var sum [3]float64
	var s [3][3]float64
	for j := range m.h {
		for i := range m.w {
			cx, cy := x+i, y+j
			ox, oy := cx+v.x, cy+v.y
			cur, old := m.cur.at(cx, cy), m.old.at(ox, oy)
			t := [3]float64{
				(m.cur.at(cx+1, cy) - m.cur.at(cx-1, cy) + m.old.at(ox+1, oy) - m.old.at(ox-1, oy)) / 4,
				(m.cur.at(cx, cy+1) - m.cur.at(cx, cy-1) + m.old.at(ox, oy+1) - m.old.at(ox, oy-1)) / 4,
				cur - old,
			}
			b.level += cur + old
			for p, a := range t {
				sum[p] += a
				for q := range p + 1 {
					s[p][q] += a * t[q]
				}
			}
		}
	}
	n := float64(m.w * m.h)
	b.level /= 2 * n
	if b.level < dark || b.level > light {
		return b, false
	}
	for p := range sum {
		for q := range p + 1 {
			s[p][q] -= sum[p] * sum[q] / n
		}
	}
	const floor = 0.1 * oneLevel * 0.1 * oneLevel // variance of rounding in the differences
	ridge := 4 * (s[diff][diff]/n + floor)        // prior of the shift: half a sample
	xx, xy, yy := s[dx][dx]+ridge, s[dy][dx], s[dy][dy]+ridge
	det := xx*yy - xy*xy
	u, w := (yy*s[diff][dx]-xy*s[diff][dy])/det, (xx*s[diff][dy]-xy*s[diff][dx])/det
	rest := s[diff][diff] - 2*u*s[diff][dx] - 2*w*s[diff][dy] + u*u*s[dx][dx] + 2*u*w*xy + w*w*s[dy][dy]
	step := (sum[diff] - u*sum[dx] - w*sum[dy]) / n
	// Neighbouring differences are correlated, so a quarter of them counts.
	noise, mx, my := 4*(max(rest, 0)/n+floor), sum[dx]/n, sum[dy]/n
	b.vary = noise * (1/n + (yy*mx*mx-2*xy*mx*my+xx*my*my)/det) / (b.level * b.level)
	b.ratio = (b.level + step/2) / (b.level - step/2)
	b.x, b.y = (float64(x)+float64(m.w)/2)/float64(m.cur.w), (float64(y)+float64(m.h)/2)/float64(m.cur.h)
	return b, b.ratio > 0.25 && b.ratio < 4
}

// terms is the number of unknowns of fit: the gain and its deviations.
const terms = 1 + len(parts{})

// share is the weight of a term in a block.
type share struct {
	term int
	w    float64
}

// place returns the first of two nodes around a position, and the weight of the second, 0 to 1.
func place(at float64, nodes int) (i int, near float64) {
	i = min(max(int(at), 0), nodes-2)
	return i, min(max(at-float64(i), 0), 1)
}

// areaOf is place for a fraction of the picture's width or height.
func areaOf(part float64) (i int, near float64) { return place(part*areas-0.5, areas) }

// toneOf is place for a level.
func toneOf(level float64) (i int, near float64) {
	for i < tones-2 && level >= toneAt[i+1] {
		i++
	}
	return place(float64(i)+(level-toneAt[i])/(toneAt[i+1]-toneAt[i]), tones)
}

func (b *block) shares() [7]share {
	ix, x := areaOf(b.x)
	iy, y := areaOf(b.y)
	it, t := toneOf(b.level)
	area, tone := 1+iy*areas+ix, 1+areas*areas+it
	return [7]share{
		{0, 1},
		{area, (1 - x) * (1 - y)}, {area + 1, x * (1 - y)}, {area + areas, (1 - x) * y}, {area + areas + 1, x * y},
		{tone, 1 - t}, {tone + 1, t},
	}
}

// fit returns the change that most blocks agree on. Biweights (Beaton and Tukey 1974) exclude
// outliers, such as objects that move or light up.
func fit(blocks []block) *change {
	c := &change{gain: 1, cut: true}
	if len(blocks) == 0 {
		return c
	}
	shares, rest := make([][7]share, len(blocks)), make([]float64, len(blocks))
	for i := range blocks {
		shares[i], rest[i] = blocks[i].shares(), blocks[i].ratio
	}
	c.gain = weightedMedian(rest, blocks)
	var spread float64
	x := make([]float64, terms)
	for round := range 12 {
		for i, b := range blocks {
			rest[i] = b.ratio/c.gain - 1
			for _, s := range shares[i] {
				rest[i] -= s.w * x[s.term]
			}
		}
		distance := make([]float64, len(rest))
		for i, r := range rest {
			distance[i] = math.Abs(r)
		}
		spread = 1.48 * weightedMedian(distance, blocks)
		limit := 4*spread + surest
		if round == 0 {
			limit += areaSize
		}
		m, right := make([][]float64, terms), make([]float64, terms)
		for i := range m {
			m[i] = make([]float64, terms)
			switch {
			case i > areas*areas:
				m[i][i] = 1 / (toneSize * toneSize)
			case i > 0:
				m[i][i] = 1 / (areaSize * areaSize)
			}
		}
		var sum, squares float64
		for i, b := range blocks {
			e := rest[i] / limit
			if e < -1 || e > 1 {
				continue
			}
			k := (1 - e*e) * (1 - e*e) / (b.vary + surest*surest + spread*spread)
			sum += k
			squares += k * k * rest[i] * rest[i]
			for _, s := range shares[i] { // a quarter of the blocks is independent
				for _, r := range shares[i] {
					m[s.term][r.term] += k * s.w * r.w / 4
				}
				right[s.term] += k * s.w * (b.ratio/c.gain - 1) / 4
			}
		}
		if sum == 0 {
			return c
		}
		x = linear.Solve(m, right)
		for i := range x {
			x[i] = min(max(x[i], -0.2), 0.2)
		}
		c.gain *= 1 + x[0]
		x[0] = 0
		c.err = math.Sqrt(squares) / sum
	}
	copy(c.parts[:], x[1:])
	c.cut = c.gain > leap || c.gain < 1/leap || spread > disagree && math.Abs(c.gain-1) > someLeap
	return c
}

// weightedMedian returns the median of one value per block, weighted by the precision of its ratio.
func weightedMedian(values []float64, blocks []block) float64 {
	type entry struct{ v, w float64 }
	all, total := make([]entry, len(values)), 0.0
	for i, v := range values {
		all[i] = entry{v, 1 / (blocks[i].vary + surest*surest)}
		total += all[i].w
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.v, b.v) })
	half := 0.0
	for _, e := range all {
		if half += e.w; half >= total/2 {
			return e.v
		}
	}
	return all[len(all)-1].v
}
