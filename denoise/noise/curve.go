package noise

import "math"

const (
	fewestInBin = 40  // blocks, for a bin of brightness to count
	mostOfBin   = 4   // a variance above so many times the whole's is texture
	leastFactor = 0.1 // of the curve
	mostFactor  = 4.0 // of the curve
	faintest    = 2.5 // sigma up to which the curve is not to be trusted
	plainest    = 3.5 // sigma from which it is
)

// curve returns the factor of the variance by brightness: a straight line through the variance in
// bins of brightness. Photons and the electronics, whose noise is constant, make one together.
func (p *Pair) curve(sigma float64) (curve [256]float32) {
	line := p.line()
	trust := ramp(sigma, faintest, plainest) * p.trust(line)
	for i := range curve {
		curve[i] = float32(mix(1, line.at(float64(i)), trust))
	}
	return curve
}

// line is a variance by brightness, relative to that of the whole.
type line struct{ base, slope float64 }

func (l line) at(brightness float64) float64 {
	return min(max(l.base+l.slope*brightness, leastFactor), mostFactor)
}

// line fits a line to the bins, weighted by how well each is known.
func (p *Pair) line() line {
	s := &p.planes[0]
	whole := s.between.low(modeBetween)
	if whole <= 0 {
		return line{base: 1}
	}
	var sw, sx, sy, sxx, sxy float64
	for i := range p.bright {
		n := p.bright[i].n
		if n < fewestInBin {
			continue
		}
		x, y := binMiddle(i), p.bright[i].low(modeBetween)/whole
		if y > mostOfBin {
			continue
		}
		w := math.Sqrt(float64(n)) / (y*y + 0.05)
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*y, sxx+w*x*x, sxy+w*x*y
	}
	d := sw*sxx - sx*sx
	if d < 1e-6 {
		return line{base: 1}
	}
	slope := (sw*sxy - sx*sy) / d
	return line{(sy - slope*sx) / sw, slope}
}

func binMiddle(i int) float64 { return (float64(i) + 0.5) * 256 / brightBins }

// trust is how far to follow a line, from 0 to 1. In the mean over the blocks a true one is near 1;
// bins in which a codec has emptied blocks make a low one.
func (p *Pair) trust(l line) float64 {
	var sum, n float64
	for i := range p.bright {
		if k := p.bright[i].n; k >= fewestInBin {
			sum += float64(k) * l.at(binMiddle(i))
			n += float64(k)
		}
	}
	if n == 0 {
		return 0
	}
	mean := sum / n
	return ramp(mean, 0.80, 0.85) * (1 - ramp(mean, 1.5, 1.6))
}
