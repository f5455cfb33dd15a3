package quality

import (
	"context"

	"vidfilter/denoise/cpu"
	"vidfilter/internal/isa"
)

// newEngine returns the denoiser on the CPU, on the goroutine that calls it.
func newEngine() *cpu.Engine {
	return cpu.New(isa.Fastest(), func(_ context.Context, n int, do func(int)) {
		for i := range n {
			do(i)
		}
	})
}
