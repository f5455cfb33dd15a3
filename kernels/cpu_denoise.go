package kernels

import (
	"context"
	"sync/atomic"
	"unsafe"

	"vidfilter/denoise"
	"vidfilter/denoise/cpu"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// DenoiseOptions returns the denoiser's settings, in a given tier if the quality is automatic.
func (p Params) DenoiseOptions(auto denoise.Tier) denoise.Options {
	tier := auto
	switch p.Quality {
	case Fast:
		tier = denoise.Fast
	case Good:
		tier = denoise.Good
	case Best:
		tier = denoise.Best
	}
	s := denoise.Default(tier)
	s.Strength, s.Grain, s.LumaOnly = p.Strength, p.Grain, p.LumaOnly
	if p.Causal {
		s.Ahead = 0
	}
	return denoise.Options{Settings: s, Sigma: p.Noise}
}

// denoiser is the denoiser's engine on the threads of a CPU.
type denoiser struct {
	*cpu.Engine
	cpu *CPU
	ctx context.Context // of the call
}

func newDenoiser(c *CPU) (*denoiser, error) {
	d := &denoiser{cpu: c, ctx: context.Background()}
	var err error
	d.Engine, err = cpu.New(c.isa, c.threads, d.share)
	return d, err
}

// share runs do for 0..n-1 on the workers, until the context ends.
func (d *denoiser) share(n int, do func(i int)) {
	var next atomic.Int64
	d.cpu.share(min(d.cpu.threads, n), func(isaID, unsafe.Pointer) {
		for i := int(next.Add(1)) - 1; i < n && d.ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			do(i)
		}
	})
}

func (d *denoiser) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (denoise.Picture, error) {
	d.ctx = ctx
	p, err := d.Engine.Prepare(f, cpu.Field(field))
	if err == nil && ctx.Err() != nil {
		p.Release()
		return nil, context.Cause(ctx)
	}
	return p, err
}

func (d *denoiser) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
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

func (d *denoiser) Depth() int { return 0 }
