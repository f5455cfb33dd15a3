package papers

import (
	"context"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Filter returns a filter of RGBA by the form that holds no frame between calls and draws its
// results from pool.
func (v CPUVariant) Filter(p kernels.Planned, threads int, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := v.Refuses(p); err != nil {
		return nil, err
	}
	threads, err := v.ThreadsFor(threads)
	return &formFilter{variant: v, params: p, threads: threads, pool: pool}, err
}

// formFilter caches the plan for the format of its last frame.
type formFilter struct {
	variant CPUVariant
	params  kernels.Planned
	threads int
	pool    *pipeline.Pool
	plan    *CPUPlan
}

func (f *formFilter) Held() int { return 0 }

func (f *formFilter) Flush(context.Context, pipeline.Emit) error { return nil }

// Process takes ownership of in, and emits one frame.
func (f *formFilter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	defer in.Release()
	if f.plan == nil || f.plan.format != in.Format {
		plan, err := f.variant.Plan(f.params, in.Format, f.threads)
		if err != nil {
			return err
		}
		f.plan = plan
	}
	out, err := f.pool.NewFrame(ctx, in.Format)
	if err != nil {
		return err
	}
	out.CopyTiming(in)
	if err := f.plan.Filter(ctx, out, in); err != nil {
		out.Release()
		return err
	}
	return emit(out)
}
