package kernels

import (
	"context"

	"vidfilter/pipeline"
)

// hostFilter is a filter on the CPU: run filters in into out, which has the same format, and gives up with the context's cause when that
// ends. It holds no frame between calls.
type hostFilter struct {
	pool *pipeline.Pool
	run  func(ctx context.Context, out, in *pipeline.Frame) error
}

func (f *hostFilter) Held() int { return 0 }

func (f *hostFilter) Flush(context.Context, pipeline.Emit) error { return nil }

// Process takes in and emits one frame of the filter's pool.
func (f *hostFilter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	out, err := f.filtered(ctx, in)
	in.Release()
	if err != nil {
		return err
	}
	return emit(out)
}

// filtered borrows in and returns its own result.
func (f *hostFilter) filtered(ctx context.Context, in *pipeline.Frame) (*pipeline.Frame, error) {
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
