package fusion

// FirstConstants are the choices of the first pass.
type FirstConstants struct {
	Constants
	Threshold      float32 // of shrinking, in sigmas, without detail above the noise
	ThresholdFall  float32 // as the energy of the patch doubles
	LeastThreshold float32
	LeastGain      float32 // 1 keeps all
}

// twoNoisy is the squared difference of two noisy patches in variances; differences from the pilot,
// which has little noise, count one.
const (
	twoNoisy = 2
	oneNoisy = 1
)

// First fuses a plane with its neighbours, in patches of 8x8.
func First(in Input, c FirstConstants) *Sums {
	p := newPass(in, c.Constants, dct8)
	p.expected, p.pool = twoNoisy, poolAround
	p.shrink = c.shrink
	return p.run()
}

// shrink takes the remaining noise out of the mean: the energy about a coefficient, compared with
// the noise, decides the part of it that is kept. Where the patch as a whole is rich, less is taken
// for noise.
func (c FirstConstants) shrink(b *patch) (left float32) {
	energy := b.excess
	for k, f := range b.mean {
		energy[k] = f * f / (b.local[k] * b.variance[k])
	}
	threshold := c.threshold(energy[1:])
	energy[0] = 0 // the DC is independent of the noise
	left = b.variance[0]
	for k := 1; k < len(b.mean); k++ {
		gain := max(c.LeastGain, 1-threshold*threshold/aroundWithoutDC(energy, b.n, k))
		b.mean[k] *= gain
		left += gain * gain * b.variance[k]
	}
	return left
}

// energyBound is the most that counts of a coefficient: a few edges do not make a patch rich.
const energyBound = 9

func (c FirstConstants) threshold(energy []float32) float32 {
	sum := float32(0)
	for _, e := range energy {
		sum += min(e, energyBound)
	}
	rich := sum / float32(len(energy))
	return max(c.LeastThreshold, c.Threshold-c.ThresholdFall*log2(max(rich, 1)))
}

// aroundWithoutDC is the mean of the 3x3 coefficients about k, those that exist and are not the DC,
// which is 0 here.
func aroundWithoutDC(energy []float32, n, k int) float32 {
	sum, count := sumAround(energy, n, k)
	if k == 1 || k == n || k == n+1 {
		count--
	}
	return sum / count
}
