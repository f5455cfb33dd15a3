package kernels

// #include "cpu.h"
import "C"

import "time"

// multiplyAdds measures the peak of one core: independent vector multiply-adds per second, and the
// floats in a vector. It takes about 50 ms. BenchmarkCPU compares the filter with it.
func (c *CPU) multiplyAdds() (lanes int, perSecond float64) {
	const rounds = 1 << 20 // of 12 each
	for range 5 {
		start := time.Now()
		lanes = int(C.vf_fma_rate(C.int(c.isa), rounds))
		perSecond = max(perSecond, 12*rounds/time.Since(start).Seconds())
	}
	return lanes, perSecond
}

// multipliesPerTap is the number of vector instructions on the multiplier units for one tap with
// the default options: 3 multiply-adds for the distance, a reciprocal, a multiplication, and 3
// multiply-adds for the sums; see cpu_tile.h.
const multipliesPerTap = 8
