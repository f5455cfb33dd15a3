package noise

import "math"

const (
	fewestInBin = 40  // blocks, for a bin of brightness to count
	mostOfBin   = 12  // a variance above this multiple of the whole's is texture
	leastFactor = 0.1 // of the curve
	mostFactor  = 4.0 // of the curve
	faintest    = 2.5 // sigma up to which the curve is not to be trusted
	plainest    = 3.5 // sigma from which it is
)

// modeFine is modeBetween for energies of 28 frequencies, which vary more.
var modeFine = mode{part: 0.10, start: 0.66, cut: 1.75}

// bend makes the noise of luma follow the brightness where that is known. The level so far is the
// lowest cluster's, which has mostly dark blocks if bright ones have more noise.
func (m *Model) bend(p *Pair) {
	s := &p.planes[0]
	whole := s.between.low(modeBetween)
	if whole <= 0 {
		return
	}
	l := p.line()
	mean := p.mean(l)
	even := p.even(l)
	ratio := even.low(modeBetween) * mean / whole
	trust := ramp(m.Sigma[0], faintest, plainest) * trusted(ratio)
	gain := mix(1, ratio, trust)
	m.Sigma[0] *= math.Sqrt(gain)
	for k := range m.Spectrum[0] {
		m.Spectrum[0][k] *= float32(gain)
	}
	for i := range m.Curve {
		m.Curve[i] = float32(mix(1, l.at(float64(i))/mean, trust))
	}
}

// trusted is how far to follow a line, from 0 to 1, given the mean level by it over that without
// it. Bins in which a codec has emptied blocks make a low one.
func trusted(ratio float64) float64 {
	return ramp(ratio, 0.80, 0.85) * (1 - ramp(ratio, 4, 5))
}

// line is a variance by brightness: a straight line, for photons and the electronics, whose noise
// is constant, make one together. One that falls is level beyond the brightness that was seen, for
// it has other reasons.
type line struct{ base, slope, from, to float64 }

func (l line) at(brightness float64) float64 {
	brightness = min(max(brightness, l.from), l.to)
	return min(max(l.base+l.slope*brightness, leastFactor), mostFactor)
}

// line fits a line to the bins, weighted by how well each is known. It goes by the higher
// frequencies: texture that was not matched has less of them.
func (p *Pair) line() line {
	var levels, coarse [brightBins]float64
	finest := math.Inf(1)
	for i := range p.bright {
		b := &p.bright[i]
		if b.fine.n < fewestInBin {
			continue
		}
		levels[i] = b.fine.low(modeFine)
		coarse[i] = b.all.low(modeBetween) / levels[i]
		finest = min(finest, coarse[i])
	}
	whole := p.planes[0].between.low(modeBetween)
	var sw, sx, sy, sxx, sxy float64
	from, to := 256.0, 0.0
	for i, level := range levels {
		if level == 0 {
			continue
		}
		x, y := binMiddle(i), level/whole
		// Noise has the same spectrum at every brightness. Coarser content is texture.
		texture := ramp(coarse[i]/finest, 1.25, 1.6)
		if y > mostOfBin || texture == 1 {
			continue
		}
		n := float64(p.bright[i].fine.n)
		w := (1 - texture) * math.Sqrt(n) / (y*y + 0.05)
		from, to = min(from, x), max(to, x)
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*y, sxx+w*x*x, sxy+w*x*y
	}
	d := sw*sxx - sx*sx
	if d < 1e-6 {
		return line{base: 1}
	}
	slope := (sw*sxy - sx*sy) / d
	if slope > 0 {
		from, to = 0, 256
	}
	return p.scaled(line{(sy - slope*sx) / sw, slope, from, to})
}

// scaled returns a line with a mean of 1 over the blocks, before it is bounded.
func (p *Pair) scaled(l line) line {
	var sum, n float64
	for i := range p.bright {
		k := float64(p.bright[i].all.n)
		sum += k * (l.base + l.slope*min(max(binMiddle(i), l.from), l.to))
		n += k
	}
	if sum <= 0 {
		return line{base: 1}
	}
	return line{l.base * n / sum, l.slope * n / sum, l.from, l.to}
}

// brightBin returns the bin of a brightness, in 8-bit levels.
func brightBin(mean float32) int { return min(max(int(mean)*brightBins/256, 0), brightBins-1) }

func binMiddle(i int) float64 { return (float64(i) + 0.5) * 256 / brightBins }

// mean returns the mean of a line over the blocks.
func (p *Pair) mean(l line) float64 {
	var sum, n float64
	for i := range p.bright {
		k := float64(p.bright[i].all.n)
		sum += k * l.at(binMiddle(i))
		n += k
	}
	return sum / max(n, 1)
}

// even returns the energies that blocks would have if the noise were alike at every brightness.
func (p *Pair) even(l line) (h histogram) {
	for i := range p.bright {
		h.mergeScaled(&p.bright[i].all, 1/l.at(binMiddle(i)))
	}
	return h
}

// curve returns the factor of the variance of luma's grain by brightness. Film has most in the
// middle tones, so no line fits it. The factor is 1 in the mean of the blocks that gave the
// spectrum.
func (t *Triple) curve() (curve [256]float64) {
	var levels [brightBins]float64
	var sum, n float64
	for i := range levels {
		levels[i] = t.level(i)
		k := float64(t.tones[i].low)
		sum, n = sum+k*levels[i], n+k
	}
	mean := sum / max(n, 1)
	for i := range curve {
		curve[i] = 1
		if mean > 0 {
			x := min(max((float64(i)+0.5)*brightBins/256-0.5, 0), brightBins-1)
			k := min(int(x), brightBins-2)
			f := mix(levels[k], levels[k+1], x-float64(k)) / mean
			curve[i] = min(max(f, leastFactor), mostFactor)
		}
	}
	return curve
}

// level returns the variance of grain in a bin of brightness, from it and as few neighbours as
// have enough blocks.
func (t *Triple) level(bin int) float64 {
	var sum, n float64
	for reach := 1; reach < brightBins && n < fewestInBin; reach++ {
		sum, n = 0, 0
		for i := max(bin-reach, 0); i <= min(bin+reach, brightBins-1); i++ {
			weight := 1 / (1 + math.Abs(float64(i-bin)))
			sum += weight * t.tones[i].shared
			n += weight * float64(t.tones[i].n)
		}
	}
	return max(sum, 0) / max(n, 1)
}
