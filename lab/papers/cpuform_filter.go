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
	if err != nil {
		return nil, err
	}
	var plan *CPUPlan // for the format of the last frame
	return kernels.PerFrame(pool, func(ctx context.Context, out, in *pipeline.Frame) (err error) {
		if plan == nil || plan.format != in.Format {
			if plan, err = v.Plan(p, in.Format, threads); err != nil {
				return err
			}
		}
		return plan.Filter(ctx, out, in)
	}), nil
}
