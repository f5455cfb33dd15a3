package bench

import (
	"context"
	"fmt"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// Fast paths may differ by one level, in a hundredth of the samples.
var bound = Check{Largest: 1, Share: 0.01}

// checked is the key of a check.
type checked struct {
	what   string
	layout pipeline.Layout
	params kernels.Stage
}

// checkSize covers several blocks of every kernel, cut off at the edges.
var checkSize = Size{Width: 141, Height: 75}

// check compares the result of filter on a small frame with the reference's, once for each key.
func (r *run) check(key checked, onGPU bool, reference, filter func(dst, src *pipeline.Frame) error) (Check, error) {
	if c, ok := r.seen[key]; ok {
		return c, nil
	}
	src := measure.Picture(measure.FormatOf(key.layout, checkSize))
	want := pipeline.Blank(src.Format)
	if err := reference(want, src); err != nil {
		return Check{}, err
	}
	what := fmt.Sprintf("%s at radius %d on %s", key.what, int(kernels.NumberOf(key.params, "radius")), src.Format)
	c, err := measure.Verify(src, want, bound, what, onGPU, filter)
	if err == nil {
		r.seen[key] = c
	}
	return c, err
}

// checkKernel is check for one variant.
func (r *run) checkKernel(ctx context.Context, v kernels.Variant, p kernels.Planned, l pipeline.Layout) (Check, error) {
	reference := func(dst, src *pipeline.Frame) error { return kernels.Reference(dst, src, p) }
	return r.check(checked{v.Name, l, p}, true, reference, func(dst, src *pipeline.Frame) error {
		return r.GPU.RunKernel(ctx, v.Planner(p), dst, src)
	})
}

// checkBackend is check for the filter of a backend.
func (r *run) checkBackend(ctx context.Context, b kernels.Backend, p kernels.Planned, l pipeline.Layout) (Check, error) {
	_, onCPU := b.(interface{ Threads() int })
	reference := func(dst, src *pipeline.Frame) error { return kernels.Reference(dst, src, p) }
	return r.check(checked{b.Name(), l, p}, !onCPU, reference, func(dst, src *pipeline.Frame) error {
		return measure.FilterOnce(ctx, b, p, dst, src)
	})
}
