package motion

import "vidfilter/denoise/plane"

// Refine returns the vectors of cells of RefinedCell. Each is the best of the given one, of the
// nearest two beside and above or below it, and of the eight half-pels around that. Given vectors
// of cells of the same size have no others beside them. The pilot, a first result of the filter for
// the frame's luma, is compared with the neighbour.
func (s *Search) Refine(pilot plane.Plane, to Frame, f Field) Field {
	return newField(pilot, RefinedCell).fill(func(x, y int) Vector {
		w := cellWindow(pilot, RefinedCell, windowSide, x, y)
		cost := func(v Vector) int { return w.sadHalf(pilot, &to.Half, v) }
		given := []Vector{f.at(x, y)}
		if f.Cell == Cell {
			around := f.around(x, y)
			given = around[:3]
		}
		best := bestOf(given, given[0], s.Refined, cost)
		best.tryAround(1, func(v Vector) int { return cost(v) + s.Refined })
		return best.Vector
	})
}
