package fusion

import "vidfilter/denoise/plane"

// SecondConstants are the choices of the second pass.
type SecondConstants struct {
	Constants
	NoiseShare float32 // of the variance that is left, as the Wiener gain counts it
}

// Second fuses a plane with its neighbours again, in patches of 16x16, with the pilot to go by.
func Second(in Input, pilot plane.Plane, c SecondConstants) *Sums {
	p := newPass(in, c.Constants, dct16)
	p.expected, p.pool = oneNoisy, poolGroups
	p.pilot = &pilot
	p.shrink = c.shrink
	return p.run()
}

// shrink scales each coefficient by what part of its energy is the pilot's.
func (c SecondConstants) shrink(b *patch) (left float32) {
	for k, q := range b.pilot {
		gain := q * q / (q*q + c.NoiseShare*b.local[k]*b.variance[k])
		b.mean[k] *= gain
		left += gain * gain * b.variance[k]
	}
	return left
}
