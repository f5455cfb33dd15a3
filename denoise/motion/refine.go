package motion

import "vidfilter/denoise/plane"

// Refine improves vectors with the pilot, a first result of the filter for the frame's luma, which
// is compared with the neighbour: one pel about, then half a pel about.
func (s *Search) Refine(pilot plane.Plane, to Frame, f Field) Field {
	return newField(pilot, s.Cell).fill(func(x, y int) Vector {
		w := cellWindow(pilot, s.Cell, windowSide, x, y)
		given := f.at(x, y)
		best := match{given, w.sadHalf(pilot, &to.Half, given)}
		cost := func(v Vector) int { return w.sadHalf(pilot, &to.Half, v) + s.Refined }
		best.tryAround(2, cost)
		best.tryAround(1, cost)
		return best.Vector
	})
}
