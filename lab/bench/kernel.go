package bench

import (
	"context"
	"fmt"
	"path"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// KernelSection has kernels alone on frames in the device's memory.
type KernelSection struct {
	// Bytes read and written by a copy within the device's memory, in 1e9 a second.
	CopyGBps float64     `json:"copy_gb_per_s"`
	Rows     []KernelRow `json:"rows"`
}

// KernelRow is one variant on one kind of frame.
type KernelRow struct {
	Size    Size    `json:"size"`
	Layout  string  `json:"layout"`
	Radius  int     `json:"radius"`
	Variant string  `json:"kernel"`
	Form    string  `json:"form"`
	Chosen  bool    `json:"chosen"` // by the filter
	Time    Stat    `json:"time"`
	GBps    float64 `json:"gb_per_s"` // bytes of the frame, read and written, in 1e9 a second
	Floor   float64 `json:"floor_ms"` // see floor
	Share   float64 `json:"share_of_floor"`
	Check   Check   `json:"check"`
}

var kernelLayouts = []pipeline.Layout{pipeline.RGBA, pipeline.NV12, pipeline.YUV420P, pipeline.YUV420P.At(10)}

func (r *run) kernels(ctx context.Context) (*KernelSection, error) {
	s := &KernelSection{}
	var err error
	if s.CopyGBps, err = r.copyRate(ctx); err != nil {
		return s, err
	}
	sizes := r.sizes([]Size{size4K, size8K}, []Size{size4K})
	radii := r.radii([]int{1, 2, 3, 5, 7, 10, 15}, []int{1, 5})
	for _, size := range sizes {
		for _, l := range kernelLayouts {
			src := measure.Picture(measure.FormatOf(l, size))
			for _, radius := range radii {
				if err := r.kernelRows(ctx, s, src, radius); err != nil {
					return s, err
				}
			}
		}
	}
	return s, nil
}

// copyRate measures a copy within the device's memory: bytes read and written a second, in 1e9.
func (r *run) copyRate(ctx context.Context) (float64, error) {
	return measure.CopyRate(ctx, r.GPU, r.copySize(), r.repeat())
}

func (r *run) copySize() int {
	if r.smallest() {
		return 1 << 20
	}
	return 64 << 20
}

// peakOfGPU returns the peaks of its memory and, by its clock, of its multiply-adds.
func (r *run) peakOfGPU(ctx context.Context) (measure.Peak, error) {
	rate, err := r.copyRate(ctx)
	g := r.Machine.GPU
	return measure.Peak{Operations: 2 * instructionsPerClock * float64(g.Multiprocessors) * g.Clock / 1e9, Bytes: rate}, err
}

// smallest reports whether only small frames are measured, as in tests, so that everything else
// can also be small.
func (r *run) smallest() bool {
	for _, s := range r.o.Sizes {
		if s.Width*s.Height > 1<<16 {
			return false
		}
	}
	return len(r.o.Sizes) > 0
}

func (r *run) repeat() gpu.Repeat {
	switch {
	case r.o.Quick && r.smallest():
		return gpu.Repeat{Batches: 2, Runs: 1, Time: 1} // for which one run is too long: no warm-up
	case r.o.Quick:
		return gpu.Repeat{Batches: 5, Runs: 500, Time: 50 * time.Millisecond}
	}
	return gpu.Repeat{Batches: 9, Runs: 1000, Time: 300 * time.Millisecond}
}

// repeatOf is repeat for filters of several frames.
func (r *run) repeatOf() gpu.Repeat {
	repeat := r.repeat()
	if r.smallest() {
		repeat.Batches, repeat.Runs = 1, 1
	}
	return repeat
}

// kernelRows measures the variants for one radius.
func (r *run) kernelRows(ctx context.Context, s *KernelSection, src *pipeline.Frame, radius int) error {
	for _, v := range kernels.Variants() {
		p := paramsOf(v, radius)
		chosen := r.isChosen(v, p, src.Format)
		if !r.wanted(v, radius, src.Layout, chosen) {
			continue
		}
		row, err := r.kernelRow(ctx, v, p, src)
		if err != nil {
			return err
		}
		row.Chosen = chosen
		row.GBps = measure.GBps(2*measure.FrameBytes(src.Format), row.Time)
		row.Floor = r.floor(src.Format, radius, s.CopyGBps)
		row.Share = row.Floor / row.Time.Median
		s.Rows = append(s.Rows, row)
	}
	return nil
}

// paramsOf returns the default options adapted to the variant.
func paramsOf(v kernels.Variant, radius int) kernels.Planned {
	return v.Adapt(kernels.DefaultBilateral(radius))
}

func (r *run) isChosen(v kernels.Variant, p kernels.Planned, f pipeline.Format) bool {
	best, err := kernels.Choose(p, f, r.GPU.Limits())
	return err == nil && best.Name == v.Name
}

// wanted reports whether a variant is measured: a named one, or one for the default options. For
// planes only the filter's choice is measured.
func (r *run) wanted(v kernels.Variant, radius int, l pipeline.Layout, chosen bool) bool {
	switch {
	case !v.TakesRadius(radius), !v.TakesLayout(l), v.Compute > r.GPU.Device().Compute:
		return false
	case r.o.Kernel != "":
		named, err := path.Match(r.o.Kernel, v.Name)
		return err == nil && named
	}
	d := kernels.DefaultBilateral(radius)
	return v.Range == d.Range && (chosen || l == pipeline.RGBA)
}

func (r *run) kernelRow(ctx context.Context, v kernels.Variant, p kernels.Planned, src *pipeline.Frame) (row KernelRow, err error) {
	row = KernelRow{
		Size: Size{Width: src.Width, Height: src.Height}, Layout: src.Layout.String(), Radius: int(kernels.NumberOf(p, "radius")), Variant: v.Name, Form: v.Form.Name,
	}
	r.say("%s at radius %d, %s", v.Name, int(kernels.NumberOf(p, "radius")), src.Format)
	if row.Check, err = r.checkKernel(ctx, v, p, src.Layout); err != nil {
		return row, err
	}
	times, err := r.GPU.TimeKernel(ctx, v.Planner(p), src, r.repeat())
	if err != nil {
		return row, fmt.Errorf("time %s at radius %d: %w", v.Name, int(kernels.NumberOf(p, "radius")), err)
	}
	row.Time = measure.StatOf(times)
	return row, nil
}

// Throughput of a multiprocessor in operations a clock, since Pascal, and the least number of
// instructions for a tap of a scalar kernel.
const (
	reciprocalsPerClock  = 16 // of the special-function units; one a tap
	instructionsPerClock = 128
	// Differences, sum of their squares, weight, three sums and sum of the weights, packed where
	// possible.
	instructionsPerTap = 7
)

// floor returns a lower bound for a scalar kernel in milliseconds: the largest of the times to
// copy the frame, to compute a reciprocal for each tap, and to issue the instructions of each tap.
// The tensor form computes most reciprocals elsewhere, and can be faster.
func (r *run) floor(f pipeline.Format, radius int, copyGBps float64) float64 {
	window := 2*radius + 1
	taps := float64(f.Width*f.Height) * float64(window*window)
	// Of all multiprocessors together, in a millisecond.
	clocks := float64(r.Machine.GPU.Multiprocessors) * r.Machine.GPU.Clock / 1000
	return max(
		float64(2*measure.FrameBytes(f))/(copyGBps*1e6),
		taps/(reciprocalsPerClock*clocks),
		taps*instructionsPerTap/(instructionsPerClock*clocks),
	)
}
