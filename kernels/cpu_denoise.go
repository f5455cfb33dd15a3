package kernels

import (
	"context"

	"vidfilter/denoise"
	"vidfilter/denoise/cpu"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// cpuDenoiser is the denoiser's engine on the threads of a CPU.
type cpuDenoiser struct {
	*cpu.Engine
	ctx context.Context // of the call
}

func newCPUDenoiser(c *CPU) *cpuDenoiser {
	d := &cpuDenoiser{ctx: context.Background()}
	d.Engine = cpu.New(c.isa, func(n int, do func(i int)) {
		c.each(d.ctx, n, func(_, i int) { do(i) })
	})
	return d
}

func (d *cpuDenoiser) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (denoise.Picture, error) {
	d.ctx = ctx
	p, err := d.Engine.Prepare(f, field)
	if err == nil && ctx.Err() != nil {
		p.Release()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (d *cpuDenoiser) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	d.ctx = ctx
	window := make([]*cpu.Frame, len(j.Window))
	for i, p := range j.Window {
		window[i] = p.(*cpu.Frame)
	}
	if err := d.Engine.Filter(j.Out, window, j.Centre, j.Noise, j.Settings); err != nil {
		return nil, err
	}
	return nil, context.Cause(ctx)
}

// Idle frees the engine's memory.
func (d *cpuDenoiser) Idle() { d.Engine.Close() }

// Depth returns 0: results are there at once.
func (d *cpuDenoiser) Depth() int { return 0 }

// Expect returns about how many frames of a size the denoiser does in a second on all threads, with
// options p and with those of the fast tier.
func (c *CPU) Expect(p Params, width, height int) (asked, fast float64) {
	frames := float64(c.threads) / float64(max(1, width*height)) // for a pixel a second and core
	return frames * cpu.Rate(c.isa, p.tier(denoise.Fast)), frames * cpu.Rate(c.isa, denoise.Fast)
}
