package bench

import (
	"context"
	"fmt"

	"vidfilter/bench/measure"
	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// A fast path may differ by a level, in a hundredth of the samples.
const (
	maxLevels = 1
	maxShare  = 0.01
)

// checked is what a check is about.
type checked struct {
	what   string
	layout pipeline.Layout
	params kernels.Params
}

// checkSize has several blocks of every kernel, cut off at the edges.
var checkSize = Size{Width: 141, Height: 75}

// check lets filter work on a small frame and holds the result to the reference, once for each key.
func (r *run) check(key checked, onGPU bool, filter func(dst, src *pipeline.Frame) error) (Check, error) {
	if c, ok := r.seen[key]; ok {
		return c, nil
	}
	src := picture(formatOf(key.layout, checkSize))
	want, got := blank(src.Format), blank(src.Format)
	if err := kernels.Reference(want, src, key.params); err != nil {
		return Check{}, err
	}
	if err := filter(got, src); err != nil {
		return Check{}, err
	}
	c := measure.Compare(got, want)
	if c.Largest > maxLevels || c.Share > maxShare {
		what := fmt.Sprintf("%s at radius %d on %s", key.what, key.params.Radius, src.Format)
		return c, &WrongResult{What: what, Check: c, OnGPU: onGPU}
	}
	r.seen[key] = c
	return c, nil
}

// checkKernel is check for one variant.
func (r *run) checkKernel(ctx context.Context, v kernels.Variant, p kernels.Params, l pipeline.Layout) (Check, error) {
	return r.check(checked{v.Name, l, p}, true, func(dst, src *pipeline.Frame) error {
		return r.gpu.RunKernel(ctx, v, p, dst, src)
	})
}

// checkBackend is check for the filter of a backend.
func (r *run) checkBackend(ctx context.Context, b kernels.Backend, p kernels.Params, l pipeline.Layout) (Check, error) {
	_, onGPU := b.(*gpu.Backend)
	return r.check(checked{b.Name(), l, p}, onGPU, func(dst, src *pipeline.Frame) error {
		return measure.FilterOnce(ctx, b, p, dst, src)
	})
}
