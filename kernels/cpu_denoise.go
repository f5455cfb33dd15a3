package kernels

import (
	"context"

	"vidfilter/denoise"
	"vidfilter/denoise/cpu"
)

// denoiser returns the denoiser's engine on the CPU's threads.
func (c *CPU) denoiser() denoise.Engine {
	return cpu.New(c.isa, func(ctx context.Context, n int, do func(i int)) {
		c.each(ctx, n, func(_, i int) { do(i) })
	})
}

// Expect returns about how many frames of a size the denoiser does in a second on a number of
// cores, with options p and with the fast tier's. A second thread of a core adds little.
func (c *CPU) Expect(p Denoise, cores, width, height int) (asked, fast float64) {
	frames := float64(min(c.threads, cores)) / float64(max(1, width*height)) // for a pixel a second and core
	return frames * cpu.Rate(c.isa, p.tier(denoise.Fast)), frames * cpu.Rate(c.isa, denoise.Fast)
}
