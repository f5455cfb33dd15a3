package kernels

import (
	"context"

	"vidfilter/denoise"
	"vidfilter/pipeline"
)

// cpuFilter is a filter on the CPU. It is not safe for concurrent use.
type cpuFilter struct {
	pool   *pipeline.Pool
	runner runner
}

// runner filters in into out, which has the same format.
type runner interface {
	run(ctx context.Context, out, in *pipeline.Frame) error
}

// Filter returns a filter. All but the denoiser hold no frame between calls. Once the context ends,
// Process fails with its cause at the next tile or strip.
func (c *CPU) Filter(p Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Filter == Denoise {
		return NewDenoiser(c.denoiser(), pool, p, denoise.Fast), nil
	}
	return &cpuFilter{pool: pool, runner: c.runner(p)}, nil
}

func (c *CPU) runner(p Params) runner {
	if p.Filter == Recursive {
		return newCPURecursive(c, p)
	}
	return newCPUBilateral(c, p)
}

func (f *cpuFilter) Held() int { return 0 }

func (f *cpuFilter) Flush(context.Context, pipeline.Emit) error { return nil }

// Process filters one frame and emits the result in a frame of the filter's pool.
func (f *cpuFilter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	out, err := f.filtered(ctx, in)
	in.Release()
	if err != nil {
		return err
	}
	return emit(out)
}

// filtered borrows in and returns its own result.
func (f *cpuFilter) filtered(ctx context.Context, in *pipeline.Frame) (*pipeline.Frame, error) {
	if err := checkFrame(in); err != nil {
		return nil, err
	}
	out, err := f.pool.NewFrame(ctx, in.Format)
	if err != nil {
		return nil, err
	}
	out.CopyTiming(in)
	if err := f.runner.run(ctx, out, in); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}
