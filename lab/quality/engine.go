package quality

import (
	"context"

	"vidfilter/denoise"
	"vidfilter/denoise/cpu"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// engine is the denoiser on the CPU, on the goroutine that calls it.
type engine struct{ *cpu.Engine }

func newEngine() (engine, error) {
	e, err := cpu.New("", 1, func(n int, do func(int)) {
		for i := range n {
			do(i)
		}
	})
	return engine{e}, err
}

// Prepare copies the samples.
func (e engine) Prepare(
	_ context.Context, f *pipeline.Frame, field plane.Field,
) (denoise.Picture, error) {
	return e.Engine.Prepare(f, field)
}

// Denoise ends with the result.
func (e engine) Denoise(_ context.Context, j denoise.Job) (denoise.Wait, error) {
	window := make([]*cpu.Frame, len(j.Window))
	for i, p := range j.Window {
		window[i] = p.(*cpu.Frame)
	}
	return nil, e.Filter(j.Out, window, j.Centre, j.Noise, j.Settings)
}

// Depth returns 0.
func (engine) Depth() int { return 0 }

// Idle frees the engine's memory.
func (e engine) Idle() { e.Close() }
