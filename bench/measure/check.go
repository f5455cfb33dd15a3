package measure

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

// WrongResult is the error of what filters wrongly, and so is not timed. It wraps gpu.ErrDevice where a GPU did it.
type WrongResult struct {
	What  string // the variant or the backend, with radius and format
	Check Check
	OnGPU bool // a GPU did it
}

func (e *WrongResult) Error() string {
	return fmt.Sprintf("%s gives a wrong result: %.2f %% of the samples differ from the reference, by %d levels at most",
		e.What, 100*e.Check.Share, e.Check.Largest)
}

func (e *WrongResult) Unwrap() error {
	if e.OnGPU {
		return gpu.ErrDevice
	}
	return nil
}

// FilterOnce has the filter of a backend filter src into dst, both of which it borrows.
func FilterOnce(ctx context.Context, b kernels.Backend, p kernels.Params, dst, src *pipeline.Frame) error {
	pool := pipeline.NewPool(b, 1)
	defer pool.Close()
	f, err := b.Filter(p, pool)
	if err != nil {
		return err
	}
	defer Discard(f)
	keep := func(out *pipeline.Frame) error {
		dst.CopySamples(out)
		out.Release()
		return nil
	}
	if err := f.Process(ctx, src.Retain(), keep); err != nil {
		return err
	}
	return f.Flush(ctx, keep)
}

// Discard frees what a filter holds that has failed; after Flush it is nothing.
func Discard(f pipeline.Filter) {
	if d, ok := f.(pipeline.Discarder); ok {
		d.Discard()
	}
}

// Compare returns how the samples of a frame differ from those of another of the same format.
func Compare(got, want *pipeline.Frame) (c Check) {
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
