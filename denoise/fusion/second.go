package fusion

import "vidfilter/denoise/plane"

// SecondConstants are the choices of the second pass.
type SecondConstants struct {
	Constants
	NoiseShare float32 // of the variance that is left, as the Wiener gain counts it
	Blend      Blend
	PastReach  int     // longest vector of a patch that stands still, in half-pels
	PastMost   float32 // variance of the mean of the frames near, from which on too few agree
}

// Blend is the share of the pilot in a patch of the second pass. It falls with the noise, and where
// many frames agree: the mean of those is better than the pilot.
type Blend struct {
	Base, Fall, Most float32 // Base less Fall for each level of the sigma of luma, Most at the most
	From, To         float32 // 0 at a variance of From, relative to the noise, and 1 from To on
}

// Share is the share at a sigma of luma where few frames agree.
func (b Blend) Share(sigma float64) float32 {
	return min(max(b.Base-b.Fall*float32(sigma), 0), b.Most)
}

// Second fuses a plane with its neighbours again, in patches of 16x16, with the pilot to go by. The
// share is [Blend.Share]'s.
func Second(in Input, pilot plane.Plane, c SecondConstants, share float32) *Sums {
	p := newPass(in, c.Constants, dct16)
	p.expected, p.pool = oneNoisy, poolGroups
	p.pilot = &pilot
	p.extend = c.extend
	p.shrink = func(b *patch) float32 { return c.shrink(b, share) }
	return p.run()
}

// leastEnergy keeps the gain 1 without a share of the noise.
const leastEnergy = 1e-20

// shrink scales each coefficient by the pilot's part of its energy, and blends in the pilot's
// share.
func (c SecondConstants) shrink(b *patch, share float32) (left float32) {
	share *= c.Blend.part(b.variance)
	for k, q := range b.pilot {
		energy := q*q + leastEnergy
		gain := energy / (energy + c.NoiseShare*b.local[k]*b.variance[k])
		b.mean[k] = (1-share)*(gain*b.mean[k]) + share*q
		left += gain * gain * b.variance[k]
	}
	return left
}

// part is how much of its share the pilot has in a patch, by the mean variance.
func (b Blend) part(variance []float32) float32 {
	return min(max((mean(variance)-b.From)/(b.To-b.From), 0), 1)
}

// extend takes the past into the mean of a patch that stands still, where enough frames agree. Each
// is compared with the mean so far, whose noise is known.
func (c SecondConstants) extend(b *patch, x, y int) {
	if len(b.Past) == 0 || b.Still.Of((x+b.n/2)<<b.ShiftX, (y+b.n/2)<<b.ShiftY).Length() > c.PastReach ||
		mean(b.variance) > c.PastMost {
		return
	}
	past, weights := b.frames[1], b.weights[1]
	for _, sum := range b.Past {
		n := float32(sum.Count)
		b.load(past, sum.Plane, x, y)
		for k := range past {
			past[k] /= n
			d := past[k] - b.mean[k]
			b.excess[k] = d * d / (b.local[k] * (1/n + b.variance[k]))
		}
		b.weighBeside(weights)
		for k, w := range weights {
			have, more := 1/b.variance[k], n*w // frames
			all := have + more
			b.mean[k] += more / all * (past[k] - b.mean[k])
			b.variance[k] = (have + more*w) / (all * all)
		}
	}
}

func mean(values []float32) float32 {
	var sum float32
	for _, v := range values {
		sum += v
	}
	return sum / float32(len(values))
}
