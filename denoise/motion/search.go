package motion

import (
	"math"

	"vidfilter/denoise/plane"
)

// Constants are the choices of a tier. A penalty is the cost of a vector that departs from the
// expected one, as a part of the noise.
type Constants struct {
	Penalty       float64 // in the search
	RefinePenalty float64 // in the refinement
	CoarseFrom    float64 // the sigma from which the planes are smoothed more
}

// Search finds vectors. Its penalties are sums of differences of samples of [Depth] bits.
type Search struct {
	Coarse  bool  // smooth more
	Penalty int   // for a vector other than the parent cell's
	Length  []int // at the coarsest level: the penalty by the square of the length
	Refined int   // for a vector other than the one that is refined
	Misfit  int   // a frame whose cells differ by more on average does not fit
}

const (
	coarsestRange = 6   // pels each way at the coarsest level
	lengthPenalty = 0.4 // of a pel there, in penalties
	descents      = 2   // moves to the best of eight neighbours, at the most

	penaltySamples = windowSide / 4 // a penalty of 1, in differences of sigma
)

// NewSearch returns the search for luma noise of the given sigma, in 8-bit levels.
func NewSearch(c Constants, sigma float64) *Search {
	penalty := c.Penalty * sigma * penaltySamples
	s := &Search{
		Coarse:  sigma >= c.CoarseFrom,
		Penalty: round(penalty),
		Refined: round(c.RefinePenalty * sigma * penaltySamples),
	}
	for square := range 2*coarsestRange*coarsestRange + 1 {
		s.Length = append(s.Length, round(lengthPenalty*penalty*math.Sqrt(float64(square))))
	}
	s.Misfit = round(allowed(sigma, s.Coarse) * (Cell * Cell))
	return s
}

func round(x float64) int { return int(math.RoundToEven(x)) }

// Prepare makes the planes of a frame for this search.
func (s *Search) Prepare(luma plane.Plane) Frame { return Prepare(luma, s.Coarse) }

// match is a vector and its cost: the differences and the penalty. Of equal costs the first tried
// wins.
type match struct {
	Vector
	cost int
}

func (m *match) try(v Vector, cost int) {
	if cost < m.cost {
		*m = match{v, cost}
	}
}

// Find returns the vectors from a frame to its neighbour.
func (s *Search) Find(from, to Frame) Field {
	level := len(from.Levels) - 1
	field := s.coarsest(from.Levels[level], to.Levels[level])
	for level--; level >= 0; level-- {
		field = s.finer(from.Levels[level], to.Levels[level], field)
	}
	return s.halfPels(from.Levels[0], to, field)
}

// coarsest tries every vector in range.
func (s *Search) coarsest(a, b plane.Plane) matches {
	return matchesOf(a, func(x, y int) match {
		w := cellWindow(a, Cell, windowSide, x, y)
		best := match{cost: w.sad(a, b, 0, 0)}
		for dy := -coarsestRange; dy <= coarsestRange; dy++ {
			for dx := -coarsestRange; dx <= coarsestRange; dx++ {
				best.try(Vector{dx, dy}, w.sad(a, b, dx, dy)+s.Length[dx*dx+dy*dy])
			}
		}
		return best
	})
}

// finer starts from the best vector of the next coarser level, and moves on from there.
func (s *Search) finer(a, b plane.Plane, parents matches) matches {
	return matchesOf(a, func(x, y int) match {
		w := cellWindow(a, Cell, windowSide, x, y)
		cost := func(v Vector) int { return w.sad(a, b, v.X, v.Y) }
		best := s.inherited(parents, x, y, cost)
		for range descents {
			before := best.Vector
			best.tryAround(1, func(v Vector) int { return cost(v) + s.Penalty })
			if best.Vector == before {
				break
			}
		}
		return best
	})
}

// inherited is the best of no motion, the parent cell's vector, and the vectors of the three cells
// around the parent that are nearest to this cell.
func (s *Search) inherited(parents matches, x, y int, cost func(Vector) int) match {
	all := []Vector{{}}
	for _, v := range parents.around(x, y) {
		all = append(all, v.times(2))
	}
	return bestOf(all, all[1], s.Penalty, cost)
}

// bestOf is the best of some vectors. There is no penalty for the expected one.
func bestOf(all []Vector, expected Vector, penalty int, cost func(Vector) int) match {
	best := match{cost: math.MaxInt}
	for _, v := range all {
		c := cost(v)
		if v != expected {
			c += penalty
		}
		best.try(v, c)
	}
	return best
}

// halfPels moves each vector to the best of the eight half-pels around it, if that is better.
func (s *Search) halfPels(a plane.Plane, to Frame, whole matches) Field {
	return newField(a, Cell).fill(func(x, y int) Vector {
		w := cellWindow(a, Cell, windowSide, x, y)
		best := match{whole.at(x, y).times(2), whole.costs[y*whole.Width+x]}
		best.tryAround(1, func(v Vector) int { return w.sadHalf(a, &to.Half, v) + s.Penalty })
		return best.Vector
	})
}

// tryAround tries the eight vectors around the present one, at distance step, row by row.
func (m *match) tryAround(step int, cost func(Vector) int) {
	from := m.Vector
	for dy := -step; dy <= step; dy += step {
		for dx := -step; dx <= step; dx += step {
			if dx != 0 || dy != 0 {
				v := from.plus(dx, dy)
				m.try(v, cost(v))
			}
		}
	}
}

// matches are the vectors of a plane's cells.
type matches struct {
	Field
	costs []int
}

func matchesOf(p plane.Plane, find func(x, y int) match) matches {
	f := newField(p, Cell)
	m := matches{f, make([]int, len(f.Vectors))}
	f.fill(func(x, y int) Vector {
		found := find(x, y)
		m.costs[y*f.Width+x] = found.cost
		return found.Vector
	})
	return m
}
