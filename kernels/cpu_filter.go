package kernels

import (
	"context"
	"fmt"

	"vidfilter/pipeline"
)

// cpuFilter is a filter on the CPU. It is used from one goroutine at a time.
type cpuFilter struct {
	pool   *pipeline.Pool
	runner runner
}

// runner filters in into out, which has the same format.
type runner interface {
	run(ctx context.Context, out, in *pipeline.Frame) error
}

// Filter returns a filter that holds no frame between calls. Its Process fails with the context's cause
// when that ends, at the next tile or strip.
func (c *CPU) Filter(p Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Kernel != "" {
		return nil, fmt.Errorf("kernels: %q is not of the CPU's filter", p.Kernel)
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

// Process takes in and emits one frame of the filter's pool.
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
