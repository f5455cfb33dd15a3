package motion

import "math"

const (
	meanDifference  = 1.13 // of two samples with noise of sigma 1: 2/sqrt(pi)
	mismatchAllowed = 11.0 // 8-bit levels that noise does not explain
)

// allowed is the mean difference of samples, in 8-bit levels, beyond which a frame does not fit.
// Noise and mismatch add up as variances do, nearly.
func allowed(sigma float64, coarse bool) float64 {
	side := 1.0 / 8
	if coarse {
		side = 1.0 / 4
	}
	centre := 1 - 2*side
	smoothed := sigma * (2*side*side + centre*centre)
	return math.Hypot(meanDifference*smoothed, mismatchAllowed)
}

// Fits reports whether a neighbour resembles the frame where the vectors lead. One that does not,
// for instance at a flash or a cut, is better left out altogether.
func (s *Search) Fits(from, to Frame, f Field) bool {
	a, b := from.Levels[0], to.Levels[0]
	sum := 0
	for y := range f.Height {
		for x := range f.Width {
			_, dx, dy := f.at(x, y).Phase()
			sum += cellWindow(a, f.Cell, f.Cell, x, y).sad(a, b, dx, dy)
		}
	}
	return sum <= s.Misfit*f.Width*f.Height
}
