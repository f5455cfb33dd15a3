package kernels

// #include "cpu.h"
import "C"

import "time"

// MultiplyAdds measures the peak of one core: the vector multiply-adds per second when none waits
// for another, and the floats in a vector. It takes about 50 ms. Benchmarks compare the filter
// with it.
func (c *CPU) MultiplyAdds() (lanes int, perSecond float64) {
	const rounds = 1 << 20 // of 12 each
	for range 5 {
		start := time.Now()
		lanes = int(C.vf_fma_rate(C.int(c.isa), rounds))
		perSecond = max(perSecond, 12*rounds/time.Since(start).Seconds())
	}
	return lanes, perSecond
}

// MultipliesPerTap is the number of vector instructions on the multiplier units for one tap with
// the default options: 3 multiply-adds for the distance, a reciprocal, a multiplication, and 3
// multiply-adds for the sums; see cpu_tile.h.
const MultipliesPerTap = 8
