package kernels

// #include "cpu.h"
import "C"

import "time"

// MultiplyAdds measures what one core can do: how many vector multiply-adds it runs in a second when they
// wait for nothing, and how many floats one holds. It takes about 50 ms. Benchmarks compare the filter with it.
func (c *CPU) MultiplyAdds() (lanes int, perSecond float64) {
	const rounds = 1 << 20 // of 12 each
	for range 5 {
		start := time.Now()
		lanes = int(C.vf_fma_rate(c.id, rounds))
		perSecond = max(perSecond, 12*rounds/time.Since(start).Seconds())
	}
	return lanes, perSecond
}

// MultipliesPerTap is how many vector instructions of the multiplier units the default options take for one
// tap: 3 multiply-adds for the distance, a reciprocal, a multiplication, 3 multiply-adds for the sums; see cpu_tile.h.
const MultipliesPerTap = 8
