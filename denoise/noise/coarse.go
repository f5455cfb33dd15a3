package noise

import (
	"cmp"
	"math"
	"slices"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Noise that is coarser than a few samples differs little from motion, and within 8x8 and 16x16
// samples it lies in their mean, which no pass shrinks. In a picture of half or a quarter of the
// size it is finer.

// coarseLevels are those below full size that are measured: half, and a quarter.
const coarseLevels = 2

// coarsePairs are the measurements of two pictures, and the one before each, at smaller sizes; nil
// where pictures are too small, or full size shows that there is no coarse noise.
type coarsePairs [coarseLevels]*Pair

// noPair stands for one that is nil.
var noPair = new(Pair)

// coarse reports whether a pair of full size may be noisy at smaller sizes: whether its lowest
// frequencies are, which white noise has a half and a quarter of its sigma in there.
func (p *Pair) coarse() bool {
	const luma, chroma, white = 2.5, 1.2, 0.6
	for c := range p.planes {
		between := &p.planes[c].between
		level := between.low(modeBetween)
		if level <= 0 {
			continue
		}
		s := between.shape(modeBetween.cut * level)
		sigma := math.Sqrt(level * max(s.lowest(4)/4, s.lowest(2)/16))
		least := chroma
		if c == 0 {
			least = luma
		}
		if sigma > least && sigma > white*math.Sqrt(level) {
			return true
		}
	}
	return p.cut
}

// lowest returns the mean of the frequencies below n each way, without the block's mean.
func (s *shape) lowest(n int) float64 {
	sum := 0.0
	for k := 1; k < 64; k++ {
		if k/8 < n && k%8 < n {
			sum += s[k]
		}
	}
	return sum / float64(n*n-1)
}

func newCoarsePairs(before, f *Frame) (all coarsePairs) {
	for i := range all {
		if f = f.half(); f == nil {
			break
		}
		if before != nil {
			before = before.half()
		}
		all[i], _, _ = newPair(before, f)
	}
	return all
}

// half returns the frame of half the size, or nil.
func (f *Frame) half() *Frame {
	pic, ok := f.pic.Halved()
	if !ok || len(f.levels) < 2 {
		return nil
	}
	l := f.levels[0]
	pic.Planes[0] = plane.BytesView(l.pix, l.w, l.h) // there already
	return &Frame{pic: pic, levels: f.levels[1:], most: maxAreas / 2}
}

// coarseTotals add up pairs at smaller sizes; nil where no pair is measured.
type coarseTotals [coarseLevels]*total

// sumOfCoarse is sumOf for pairs at smaller sizes.
func sumOfCoarse(window []coarsePairs, at int) (all coarseTotals) {
	for i := range all {
		var pairs []*Pair
		measured := false
		for _, p := range window {
			pairs = append(pairs, cmp.Or(p[i], noPair))
			measured = measured || p[i] != nil && !p[i].cut
		}
		if measured {
			sum := sumOf(pairs, at)
			all[i] = &sum
		}
	}
	return all
}

// add adds the pairs of a frame.
func (t *coarseTotals) add(pairs coarsePairs) {
	for i, p := range pairs {
		if p == nil || p.cut {
			continue
		}
		if t[i] == nil {
			t[i] = new(total)
		}
		t[i].add(p)
	}
}

// withHalf is model with the noise to remove at smaller sizes, given the pairs there. Coarse noise
// is no sign of a codec whose quantiser is not known.
func (t *total) withHalf(small coarseTotals, q pipeline.Quantiser) Model {
	m := t.model(q)
	m.Half = halfOf(t.best().model().Sigma, small)
	if m.Half != nil && q.Step == 0 {
		own, _ := t.uncoded()
		m.mix(&own, slices.Max(m.Half.Share[:]))
	}
	return m
}

// halfOf returns the noise to remove at smaller sizes, given the noise at full size without the
// codecs' part, and the pairs there. White noise halves with the size. Texture is finer at a
// smaller size, and moves: luma must be louder there, and at a quarter of the size it is left
// alone. Chroma counts where luma has noise.
func halfOf(full [3]float64, small coarseTotals) *Half {
	var halves []*Half
	above := full
	for i, sum := range small {
		if sum == nil {
			break
		}
		h := &Half{}
		halves = append(halves, h)
		h.Model = sum.best().model()
		for c, sigma := range h.Sigma {
			loud := ramp(sigma, 3.8, 5.3)
			if c > 0 {
				loud = ramp(sigma, 1.8, 2.8) * ramp(max(full[0], halves[0].Sigma[0]), 1, 1.6)
			}
			if c > 0 || i == 0 {
				h.Share[c] = loud * ramp(sigma/max(above[c], least), 0.95, 1.15)
			}
		}
		above = h.Sigma
	}
	var half *Half
	for _, h := range slices.Backward(halves) {
		if half != nil {
			h.Half = half
			for c := range h.Share {
				h.Share[c] = max(h.Share[c], half.Share[c])
			}
		}
		if h.Share != ([3]float64{}) {
			h.Sigma[0] = max(h.Sigma[0], cleanSigma) // that chroma is noisy is known
			half = h
		}
	}
	return half
}

// leastHalf is the smallest share of the noise that is removed at half the size.
const leastHalf = 0.05

// meanHalf averages the noise to remove at half the size; nil means zero.
func meanHalf(list []*Half, weights []float64) *Half {
	var mean Half
	var sum, all float64
	halves := make([]*Half, len(list))
	for i, h := range list {
		all += weights[i]
		if h == nil {
			continue
		}
		sum += weights[i]
		mean.mix(&h.Model, weights[i]/sum)
		halves[i] = h.Half
		for c, share := range h.Share {
			mean.Share[c] += weights[i] * share
		}
	}
	if sum == 0 {
		return nil
	}
	for c := range mean.Share {
		mean.Share[c] /= all
	}
	if slices.Max(mean.Share[:]) < leastHalf {
		return nil
	}
	mean.Half = meanHalf(halves, weights)
	return &mean
}
