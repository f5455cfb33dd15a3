package noise

import "math"

// A cut is found on the coarsest level, which has almost no noise: after the best match the frames
// differ a lot, also relative to the variation within a frame.
const (
	cutDifference = 8    // levels a sample, beyond the noise
	cutShare      = 0.85 // of the frame's own variation
)

// isCut reports whether the frames of a search show different scenes.
func (p *Pair) isCut(s *search) bool {
	coarsest := len(s.cur.levels) - 1
	difference, variation := s.matcher(coarsest).compare(s.coarse)
	sigma := math.Sqrt(max(p.planes[0].within.low(modeWithin), 0))
	// Noise of sigma differs by 1.13 sigma on average; each halving of the picture halves it.
	noise := 1.13 * sigma / float64(int(2)<<coarsest)
	return difference > cutDifference+1.6*noise && difference > cutShare*variation
}

// compare returns, a sample, the mean difference of the matched windows of a level and the mean
// difference of a window's samples from their mean.
func (m matcher) compare(f field) (difference, variation float64) {
	var matched, own int
	for i, v := range f.v {
		t := m.trial(i%f.w*cell-cell/2, i/f.w*cell-cell/2)
		t.try([]option{v.costs(0)})
		matched += t.cost
		own += deviation(m.cur.pix[t.y*m.cur.w+t.x:], m.cur.w)
	}
	n := float64(len(f.v) * window * window)
	return float64(matched) / n, float64(own) / n
}

// deviation returns the sum of the differences of a window's samples from their mean.
func deviation(pix []byte, stride int) int {
	sum := 0
	for y := range window {
		for _, v := range pix[y*stride:][:window] {
			sum += int(v)
		}
	}
	mean, all := sum/(window*window), 0
	for y := range window {
		for _, v := range pix[y*stride:][:window] {
			all += max(int(v)-mean, mean-int(v))
		}
	}
	return all
}
