package noise

import "math"

const (
	diagonals = 14 // the largest u+v

	lowest = 4 // u+v up to which texture that moves hides noise

	mostRise = 4 // of the variance, from the lowest frequency to the mean of a block

	enoughBlocks = 40  // in either group
	mostSlope    = 0.3 // the part of a mismatch that two differences may have in common
)

// covariance is the noise of a plane, measured by the triples of a window.
type covariance struct {
	variance [diagonals + 1]float64 // by u+v
	base     float64                // sigma
	factor   float64                // of the variance: the part that a codec has taken out
	fall     float64                // from the low to the high frequencies, in octaves of variance
	uneven   float64                // ratio of the quartiles of the blocks' surroundings
	shared   float64                // part of the differences that two of them have in common
	common   float64                // the same where there is little texture, at low frequencies
	unsteady float64                // deviation of common from frame to frame
	blocks   int                    // in the smaller group
	frames   int
	noise    float64 // the part of the differences that is noise, from 0 to 1
	part     float64 // the part of the pairs' estimate that this replaces
}

// covariance returns the noise of plane c, given the sigma by the pairs.
func (t *threes) covariance(c int, pairs float64) (v covariance) {
	v.factor = 1
	v.uneven = math.Exp2(t.low.uneven / float64(max(t.low.frames, 1)))
	v.frames = t.low.frames
	v.blocks = min(t.low.n, t.high.n)
	v.shared = t.shared / max(t.between, 1e-9)
	if v.blocks < enoughBlocks {
		return v
	}
	v.common = t.low.common()
	n := float64(t.low.frames)
	v.unsteady = math.Sqrt(max(t.squares/n-t.common*t.common/n/n, 0))
	known := ramp(float64(t.counted)/float64(t.counted+t.same), 0.3, 0.6)
	low, high := t.low.means(), t.high.means()
	above := 0.0
	for d := diagonals; d >= 1; d-- {
		l, h := low[d], high[d]
		slope := 0.0
		if more := h.between - l.between; more > 0.05*l.between+0.02 {
			slope = min(max((h.shared-l.shared)/more, 0), mostSlope)
		}
		s := min(max((l.shared-slope*l.between)/(1-slope), 0), l.between)
		s *= known * ramp(s/max(l.between, 1e-9), 0.2, 0.5) // noise is a fair part of the differences
		s *= 1 - ramp(l.texture/max(s, 1e-9), 2, 6)         // and texture does not hide it
		above = max(s, above)                               // noise does not rise with frequency
		v.variance[d] = above
	}
	v.variance[0] = min(max(t.low.shared[0]/float64(t.low.n), v.variance[1]), mostRise*v.variance[1])
	v.base = math.Sqrt(v.band(1, diagonals))
	v.fall = math.Log2((v.band(2, 4) + 0.01) / (v.band(9, 14) + 0.01))
	v.weigh(c, pairs)
	return v
}

// common returns the part that two differences have in common at low frequencies.
func (g *group) common() float64 {
	var between, shared float64
	for k := 1; k < 64; k++ {
		if k/8+k%8 <= lowest {
			between, shared = between+g.between[k], shared+g.shared[k]
		}
	}
	return shared / max(between, 1e-9)
}

// weigh sets the weight of plane c's covariance, and its lost part.
func (v *covariance) weigh(c int, pairs float64) {
	seen := pairs / max(v.base, least)
	// Noise differs little from place to place, and is a good part of all differences.
	common := ramp(v.common, 0.45, 0.65)
	if c == 0 { // texture that moves alike everywhere has it in common, but the finer of it has not
		common *= ramp(v.shared, 0.15, 0.3)
	}
	noise := (1 - ramp(v.uneven, 10, 20)) * max(ramp(v.shared, 0.2, 0.4), common)
	// Faint and uneven noise is a codec's remainder of more.
	left := ramp(v.uneven, 2, 3.5)
	if c > 0 {
		v.part = noise * ramp(v.fall, 0.8, 2) * (1 - ramp(seen, 0.8, 1.1))
	} else {
		// Frames of unlike quality, as in a pyramid of references, share more or less of it; where
		// motion is uneven, little is shared, or only in places.
		plain := ramp(v.shared, 0.5, 0.65) * (1 - ramp(v.uneven, 2, 3))
		noise *= 1 - ramp(v.unsteady, 0.5, 0.65)*(1-plain)
		left = max(left, 1-ramp(v.base, 0.9, 1.3))
		sound := ramp(v.base, 2.5, 3.5) * (1 - ramp(v.uneven, 3, 5))
		crushed := ramp(v.uneven, 1.8, 2.5) * (1 - ramp(seen, 0.3, 0.6))
		v.factor = 1 + 1.25*noise*sound*crushed
		// Pairs show most of strong and fine noise, with less texture.
		strong := 0.15 * ramp(v.base, 2.5, 3.5) * (1 - ramp(v.fall, 2, 4))
		v.part = noise * max(ramp(v.fall, 0.8, 2), sound) * (1 - ramp(seen, 0.6-strong, 0.9-strong))
	}
	v.noise = noise
	v.factor = max(v.factor, 1+3*noise*left*ramp(v.fall, 1, 3)*(1-ramp(v.base, 2, 3.5)))
}

// grain is the part of the noise that is grain left by a codec, from 0 to 1, with its loss made up
// for: the rules for codecs do not add to it.
func (v *covariance) grain() float64 {
	return v.part * ramp(v.uneven, 2.1, 2.6) * ramp(v.shared, 0.25, 0.4)
}

// mean are the energies of a coefficient.
type mean struct{ between, shared, texture float64 }

// means returns the means of a block, by u+v.
func (g *group) means() (m [diagonals + 1]mean) {
	for k := 1; k < 64; k++ {
		d := k/8 + k%8
		m[d].between += g.between[k]
		m[d].shared += g.shared[k]
		m[d].texture += g.texture[k]
	}
	for d := range m {
		n := float64(g.n * min(d+1, 15-d))
		m[d] = mean{m[d].between / n, m[d].shared / n, m[d].texture / n}
	}
	return m
}

// band returns the mean over the frequencies with u+v in a range.
func (v *covariance) band(from, to int) float64 {
	sum, n := 0.0, 0
	for d := from; d <= to; d++ {
		count := min(d+1, 15-d)
		sum += v.variance[d] * float64(count)
		n += count
	}
	return sum / float64(n)
}

// follow replaces the noise by the triples', in the part that they determine.
func (m *Model) follow(t *Triple) covariance {
	var planes [3]covariance
	for c := range planes {
		planes[c] = t.planes[c].covariance(c, m.Sigma[c])
	}
	luma, u, w := planes[0], &planes[1], &planes[2]
	u.factor, u.part = (u.factor+w.factor)/2, (u.part+w.part)/2
	w.factor, w.part = u.factor, u.part
	for c := range planes {
		v := &planes[c]
		level := v.factor * v.base * v.base
		m.Sigma[c] = math.Sqrt(mix(m.Sigma[c]*m.Sigma[c], level, v.part))
		m.grained[c] = v.part * ramp(math.Sqrt(level), 1, 1.5) * (1 - ramp(math.Sqrt(level), 3.5, 5))
		for k, old := range m.Spectrum[c] {
			s := v.factor * v.variance[k/8+k%8]
			m.Spectrum[c][k] = float32(mix(float64(old), max(s, leastShare*level+leastVariance), v.part))
		}
	}
	curve := t.curve()
	for i, f := range m.Curve {
		m.Curve[i] = float32(mix(float64(f), curve[i], luma.part))
	}
	return luma
}
