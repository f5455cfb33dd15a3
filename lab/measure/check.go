package measure

import (
	"context"
	"encoding/binary"
	"fmt"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Check is the difference between a result and the reference's.
type Check struct {
	Largest int     `json:"largest_difference"` // levels
	Share   float64 `json:"differing_share"`    // of the samples
}

// WrongResult is the error of a wrong filter. It wraps gpu.ErrDevice if a GPU computed the result.
type WrongResult struct {
	What  string // variant or backend, radius and format
	Check Check
	OnGPU bool
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

// Verify compares the result of filter for src with the one that is wanted, and returns a
// WrongResult if they differ by more than bound. what and onGPU are for that error.
func Verify(src, want *pipeline.Frame, bound Check, what string, onGPU bool, filter func(dst, src *pipeline.Frame) error) (Check, error) {
	got := pipeline.Blank(src.Format)
	if err := filter(got, src); err != nil {
		return Check{}, err
	}
	c := Compare(got, want)
	if c.Largest > bound.Largest || c.Share > bound.Share {
		return c, &WrongResult{What: what, Check: c, OnGPU: onGPU}
	}
	return c, nil
}

// FilterOnce filters src into dst with a backend's filter. It borrows both.
func FilterOnce(ctx context.Context, b kernels.Backend, s kernels.Stage, dst, src *pipeline.Frame) error {
	pool := pipeline.NewPool(b, 1)
	defer pool.Close()
	f, err := b.Filter(s, pool)
	if err != nil {
		return err
	}
	return FilterClip(ctx, f, dst, 0, src)
}

// FilterClip filters frames of one format and copies result number n to dst. It borrows the frames.
func FilterClip(ctx context.Context, f pipeline.Filter, dst *pipeline.Frame, n int, src ...*pipeline.Frame) error {
	defer pipeline.Discard(f)
	keep := func(out *pipeline.Frame) error {
		if n == 0 {
			dst.CopySamples(out)
		}
		n--
		out.Release()
		return nil
	}
	for _, in := range src {
		if err := f.Process(ctx, in.Retain(), keep); err != nil {
			return err
		}
	}
	return f.Flush(ctx, keep)
}

// Compare compares the samples of two frames of the same format.
func Compare(got, want *pipeline.Frame) (c Check) {
	samples, differ := 0, 0
	info := want.Layout.Info()
	sample := func(row []byte, x int) int {
		if info.SampleBytes() == 1 {
			return int(row[x])
		}
		return int(binary.LittleEndian.Uint16(row[2*x:]) >> info.Shift)
	}
	for i, y := range want.Rows() {
		g, w := got.Row(i, y), want.Row(i, y)
		n := len(w) / info.SampleBytes()
		for x := range n {
			d := sample(g, x) - sample(w, x)
			c.Largest = max(c.Largest, d, -d)
			if d != 0 {
				differ++
			}
		}
		samples += n
	}
	c.Share = float64(differ) / float64(samples)
	return c
}
