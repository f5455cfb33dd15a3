package kernels

import (
	"context"
	"fmt"

	"vidfilter/pipeline"
)

// perFrame filters each frame by itself. It is not safe for concurrent use.
type perFrame struct {
	pool *pipeline.Pool
	run  func(ctx context.Context, out, in *pipeline.Frame) error
}

// PerFrame returns a filter that holds no frame between calls: run filters in into out, a frame of
// pool of the same format.
func PerFrame(pool *pipeline.Pool, run func(ctx context.Context, out, in *pipeline.Frame) error) pipeline.Filter {
	return &perFrame{pool, run}
}

// Filter implements Backend. Once the context ends, Process fails with its cause at the next tile
// or strip.
func (c *CPU) Filter(s Stage, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := Validate(s); err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case OnCPU:
		return s.OnCPU(c, pool)
	case OnHost:
		return s.OnHost(pool, Setting{})
	}
	return nil, fmt.Errorf("kernels: the %s filter does not run on the CPU", s.Filter())
}

func (f *perFrame) Held() int { return 0 }

func (f *perFrame) Flush(context.Context, pipeline.Emit) error { return nil }

// Process filters one frame and emits the result in a frame of the filter's pool.
func (f *perFrame) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	out, err := f.filtered(ctx, in)
	in.Release()
	if err != nil {
		return err
	}
	return emit(out)
}

// filtered borrows in and returns its own result.
func (f *perFrame) filtered(ctx context.Context, in *pipeline.Frame) (*pipeline.Frame, error) {
	if err := checkFrame(in); err != nil {
		return nil, err
	}
	out, err := f.pool.NewFrame(ctx, in.Format)
	if err != nil {
		return nil, err
	}
	out.CopyTiming(in)
	if err := f.run(ctx, out, in); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}
