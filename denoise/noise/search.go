package noise

import (
	"math"

	"vidfilter/denoise/plane"
)

// A whole-pel search, coarse to fine. It needs only to be right for the tenth of the blocks that
// match best, so it is much cheaper than the one that the filter needs: the levels above the half
// have a vector in each cell, the half and the picture only in the areas that are measured.

// vector is a displacement in samples of its level.
type vector struct{ x, y int }

func (v vector) twice() vector        { return vector{2 * v.x, 2 * v.y} }
func (v vector) plus(x, y int) vector { return vector{v.x + x, v.y + y} }
func (v vector) length() float64      { return math.Sqrt(float64(v.x*v.x + v.y*v.y)) }

const (
	window = 16 // the search compares windows of 16x16 samples

	cell  = 8 // samples of a level between its vectors
	reach = 6 // the coarsest level is searched this far

	// A vector must be better than the predicted one by this sum over a window, or flat areas
	// would take the one that hides the most noise.
	penalty = 16
	// And by this part of the sum so far, since the sum of noise alone varies as much from place to
	// place.
	penaltyShare = 8
	farPenalty   = 6.4 // for each sample of distance, at the coarsest level
)

// field is the vectors of a level's cells.
type field struct {
	w, h int
	v    []vector
}

func newField(l level) field {
	w, h := max(l.w/cell, 1), max(l.h/cell, 1)
	return field{w, h, make([]vector, w*h)}
}

func (f field) at(x, y int) vector {
	return f.v[clamp(y, 0, f.h-1)*f.w+clamp(x, 0, f.w-1)]
}

// matcher finds windows of one level in the same level of another frame.
type matcher struct{ cur, ref level }

// trial is the search of one window: the best vector so far.
type trial struct {
	m    matcher
	x, y int // of the window, which lies in the level
	best vector
	cost int
}

func (m matcher) trial(x, y int) trial {
	x = clamp(x, 0, m.cur.w-window)
	y = clamp(y, 0, m.cur.h-window)
	return trial{m: m, x: x, y: y, cost: 1 << 30}
}

// around tries the neighbours of the best vector, and once more if one of them was better.
func (t *trial) around() {
	for range 2 {
		from, least := t.best, penalty+t.cost/penaltyShare
		var beside [8]option
		for i := range beside {
			k := i + i/4 // except the middle of 3x3
			beside[i] = from.plus(k%3-1, k/3-1).costs(least)
		}
		t.try(beside[:])
		if t.best == from {
			return
		}
	}
}

// coarsest searches all vectors within reach.
func (m matcher) coarsest() field {
	within := []option{{}}
	for dy := -reach; dy <= reach; dy++ {
		for dx := -reach; dx <= reach; dx++ {
			v := vector{dx, dy}
			within = append(within, v.costs(int(farPenalty*v.length())))
		}
	}
	f := newField(m.cur)
	for i := range f.v {
		t := m.trial(i%f.w*cell-cell/2, i/f.w*cell-cell/2)
		t.try(within)
		f.v[i] = t.best
	}
	return f
}

// finer searches a level below one that has been searched.
func (m matcher) finer(coarse field) field {
	f := newField(m.cur)
	for i := range f.v {
		f.v[i] = m.cell(i%f.w, i/f.w, coarse)
	}
	return f
}

// cell searches one cell: no motion, the motion of the cell above it and of its neighbours.
func (m matcher) cell(x, y int, coarse field) vector {
	px, py := x/2, y/2
	sx, sy := x%2*2-1, y%2*2-1
	return m.near(x, y, coarse.at(px, py).twice(),
		vector{},
		coarse.at(px+sx, py).twice(),
		coarse.at(px, py+sy).twice(),
		coarse.at(px+sx, py+sy).twice(),
	)
}

// near searches a cell about the best of a predicted vector and others.
func (m matcher) near(x, y int, p vector, others ...vector) vector {
	t := m.trial(x*cell-cell/2, y*cell-cell/2)
	options := append(make([]option, 0, 8), p.costs(0))
	for _, v := range others {
		if v != p {
			options = append(options, v.costs(penalty))
		}
	}
	t.try(options)
	t.around()
	return t.best
}

// search is a pair of frames whose areas can be matched.
type search struct {
	cur, ref *Frame
	coarse   field // of the coarsest level
	finest   field // of the finest level that has been searched in each cell
	level    int   // its number
}

func newSearch(ref, cur *Frame) search {
	s := search{cur: cur, ref: ref, level: len(cur.levels) - 1}
	s.coarse = s.matcher(s.level).coarsest()
	s.finest = s.coarse
	for s.level > 0 && 4*len(s.finest.v) <= maxAreas {
		s.level--
		s.finest = s.matcher(s.level).finer(s.finest)
	}
	return s
}

func (s *search) matcher(level int) matcher {
	return matcher{s.cur.levels[level], s.ref.levels[level]}
}

// patch is an area of 16x16 luma samples, smoothed.
type patch [window * window]byte

// area returns the vector of an area, from the frame to the one before, and makes its patch. The
// area is one cell of the half.
func (s *search) area(a area, p *patch) vector {
	v := s.finest.at(a.x>>s.level, a.y>>s.level)
	for l := s.level - 1; l >= 0; l-- {
		m, x, y := s.matcher(l), a.x>>l, a.y>>l
		if l == s.level-1 {
			v = m.cell(x, y, s.finest)
		} else {
			v = m.near(x, y, v.twice(), vector{})
		}
	}
	smooth(p[:], window, &s.cur.pic.Planes[0], a.x*window, a.y*window)
	return s.ref.find(p, a, v.twice())
}

const (
	margin = 2 // the picture itself is searched this far about the vector of the half
	most   = window + 2*margin
)

// find searches the picture itself for an area of another, about a vector. Both are smoothed, for
// in the noise itself the best match would be the one that hides the most of it.
func (f *Frame) find(own *patch, a area, p vector) vector {
	luma := &f.pic.Planes[0]
	x, y := a.x*window, a.y*window
	p.x = clamp(p.x, -x, luma.Width-window-x)
	p.y = clamp(p.y, -y, luma.Height-window-y)
	const side = window + 2*margin
	var there [side * side]byte
	smooth(there[:], side, luma, x+p.x-margin, y+p.y-margin)
	m := matcher{level{window, window, own[:]}, level{side, side, there[:]}}
	t := m.trial(0, 0)
	t.try([]option{vector{margin, margin}.costs(0)})
	t.around()
	v := p.plus(t.best.x-margin, t.best.y-margin)
	v.x = clamp(v.x, -x, luma.Width-window-x)
	v.y = clamp(v.y, -y, luma.Height-window-y)
	return v
}

// smooth writes the square at x, y with sides of side samples in 8 bits, smoothed by (1, 2, 1)/4
// both ways.
func smooth(out []byte, side int, p *plane.View, x, y int) {
	if smoothBytes(out, side, p, x, y) {
		return
	}
	var edge [most + 2]uint16
	var rows [3][most]uint32 // each smoothed across
	shift := p.Depth - 8 + 4
	round := uint32(1) << shift >> 1
	for j := range side + 2 {
		row := edge[:side+2]
		replicate(row, p, x-1, clamp(y-1+j, 0, p.Height-1))
		left, middle, right := row[:side], row[1:][:side], row[2:][:side]
		across := rows[j%3][:side]
		for i := range across {
			across[i] = uint32(left[i]) + 2*uint32(middle[i]) + uint32(right[i])
		}
		if j < 2 {
			continue
		}
		a, b := rows[(j-2)%3][:side], rows[(j-1)%3][:side]
		o := out[(j-2)*side:][:side]
		for i := range o {
			o[i] = byte(min((a[i]+2*b[i]+across[i]+round)>>shift, 255))
		}
	}
}

// replicate fills out with row y from x on, whose first and last samples go on beyond its ends.
func replicate(out []uint16, p *plane.View, x, y int) {
	from, to := max(x, 0)-x, min(x+len(out), p.Width)-x
	p.Read(out[from:to], x+from, y)
	for i := range from {
		out[i] = out[from]
	}
	for i := to; i < len(out); i++ {
		out[i] = out[to-1]
	}
}

func clamp(v, low, high int) int { return min(max(v, low), high) }
