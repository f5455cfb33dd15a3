package bench

import (
	"context"
	"fmt"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Check is how a result differs from the reference's.
type Check struct {
	Largest int     `json:"largest_difference"` // levels
	Share   float64 `json:"differing_share"`    // of the samples
}

// A fast path may differ by a level, in a hundredth of the samples.
const (
	maxLevels = 1
	maxShare  = 0.01
)

// WrongResult is the error of what filters wrongly, and so is not timed. It wraps gpu.ErrDevice where a GPU did it.
type WrongResult struct {
	What  string // the variant or the backend, with radius and format
	Check Check
	onGPU bool
}

func (e *WrongResult) Error() string {
	return fmt.Sprintf("%s gives a wrong result: %.2f %% of the samples differ from the reference, by %d levels at most",
		e.What, 100*e.Check.Share, e.Check.Largest)
}

func (e *WrongResult) Unwrap() error {
	if e.onGPU {
		return gpu.ErrDevice
	}
	return nil
}

// checked is what a check is about.
type checked struct {
	what   string
	layout pipeline.Layout
	params kernels.Params
}

// checkSize has several blocks of every kernel, cut off at the edges.
var checkSize = Size{141, 75}

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
	c := compare(got, want)
	if c.Largest > maxLevels || c.Share > maxShare {
		what := fmt.Sprintf("%s at radius %d on %s", key.what, key.params.Radius, src.Format)
		return c, &WrongResult{What: what, Check: c, onGPU: onGPU}
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
		pool := pipeline.NewPool(b, 1)
		defer pool.Close()
		f, err := b.Filter(p, pool)
		if err != nil {
			return err
		}
		defer discard(f)
		keep := func(out *pipeline.Frame) error {
			dst.CopySamples(out)
			out.Release()
			return nil
		}
		if err := f.Process(ctx, src.Retain(), keep); err != nil {
			return err
		}
		return f.Flush(ctx, keep)
	})
}

// discard frees what a filter holds that has failed; after Flush it is nothing.
func discard(f pipeline.Filter) {
	if d, ok := f.(pipeline.Discarder); ok {
		d.Discard()
	}
}

func compare(got, want *pipeline.Frame) (c Check) {
	samples, differ := 0, 0
	for i := range want.NumPlanes() {
		_, rows := want.PlaneSize(i)
		for y := range rows {
			g, w := got.Row(i, y), want.Row(i, y)
			for x := range w {
				d := int(g[x]) - int(w[x])
				c.Largest = max(c.Largest, d, -d)
				if d != 0 {
					differ++
				}
			}
			samples += len(w)
		}
	}
	c.Share = float64(differ) / float64(samples)
	return c
}
