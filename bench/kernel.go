package bench

import (
	"context"
	"fmt"
	"path"
	"time"

	"vidfilter/bench/measure"
	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// KernelSection are kernels alone on frames in the device's memory.
type KernelSection struct {
	CopyGBps float64     `json:"copy_gb_per_s"` // bytes read and written by a copy within the device's memory, in 1e9 a second
	Rows     []KernelRow `json:"rows"`
}

// KernelRow is one variant at work on one kind of frame.
type KernelRow struct {
	Size    Size    `json:"size"`
	Layout  string  `json:"layout"`
	Radius  int     `json:"radius"`
	Variant string  `json:"kernel"`
	Form    string  `json:"form"`
	Chosen  bool    `json:"chosen"` // the filter takes this one
	Time    Stat    `json:"time"`
	GBps    float64 `json:"gb_per_s"` // bytes of the frame, read and written, in 1e9 a second
	Floor   float64 `json:"floor_ms"` // see floor
	Share   float64 `json:"share_of_floor"`
	Check   Check   `json:"check"`
}

var kernelLayouts = []pipeline.Layout{pipeline.RGBA, pipeline.NV12, pipeline.YUV420P}

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
			src := picture(formatOf(l, size))
			for _, radius := range radii {
				if err := r.kernelRows(ctx, s, src, radius); err != nil {
					return s, err
				}
			}
		}
	}
	return s, nil
}

// copyRate measures what the device's memory gives a copy: bytes read and written a second, in 1e9.
func (r *run) copyRate(ctx context.Context) (float64, error) {
	size := 64 << 20
	if r.smallest() {
		size = 1 << 20
	}
	return measure.CopyRate(ctx, r.gpu, size, r.repeat())
}

// smallest says whether only small frames are measured, as tests do: then all else is small, too.
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
		return gpu.Repeat{Batches: 3, Runs: 2, Time: 50 * time.Millisecond}
	case r.o.Quick:
		return gpu.Repeat{Batches: 5, Runs: 500, Time: 50 * time.Millisecond}
	}
	return gpu.Repeat{Batches: 9, Runs: 1000, Time: 300 * time.Millisecond}
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
		row.GBps = measure.GBps(2*frameBytes(src.Format), row.Time)
		row.Floor = r.floor(src.Format, radius, s.CopyGBps)
		row.Share = row.Floor / row.Time.Median
		s.Rows = append(s.Rows, row)
	}
	return nil
}

// paramsOf returns the default options with what the variant is made for in place.
func paramsOf(v kernels.Variant, radius int) kernels.Params {
	return v.Adapt(kernels.DefaultParams(radius))
}

func (r *run) isChosen(v kernels.Variant, p kernels.Params, f pipeline.Format) bool {
	best, err := kernels.Choose(p, f, r.gpu.Device().Compute)
	return err == nil && best.Name == v.Name
}

// wanted says whether a variant is measured: what the person named, or what does the default options; of planes, only what the
// filter would take for them. Those of the papers take RGBA only.
func (r *run) wanted(v kernels.Variant, radius int, l pipeline.Layout, chosen bool) bool {
	switch {
	case !v.TakesRadius(radius), v.Compute > r.gpu.Device().Compute:
		return false
	case v.FromPaper() && l != pipeline.RGBA:
		return false
	case r.o.Kernel != "":
		named, err := path.Match(r.o.Kernel, v.Name)
		return err == nil && named
	case v.FromPaper() && v.Form != kernels.Paper: // the others are the lab's
		return false
	}
	d := kernels.DefaultParams(radius)
	return v.Range == d.Range && v.Distance == d.Distance && (chosen || l == pipeline.RGBA)
}

func (r *run) kernelRow(ctx context.Context, v kernels.Variant, p kernels.Params, src *pipeline.Frame) (row KernelRow, err error) {
	row = KernelRow{
		Size: Size{Width: src.Width, Height: src.Height}, Layout: src.Layout.String(), Radius: p.Radius, Variant: v.Name, Form: v.Form.String(),
	}
	r.o.Say("%s at radius %d, %s", v.Name, p.Radius, src.Format)
	if row.Check, err = r.checkKernel(ctx, v, p, src.Layout); err != nil {
		return row, err
	}
	times, err := r.gpu.TimeKernel(ctx, v, p, src, r.repeat())
	if err != nil {
		return row, fmt.Errorf("time %s at radius %d: %w", v.Name, p.Radius, err)
	}
	row.Time = measure.StatOf(times)
	return row, nil
}

// What a multiprocessor does in a clock, since Pascal, and what a tap of a scalar kernel takes at least.
const (
	reciprocalsPerClock  = 16 // of the special-function units; one a tap
	instructionsPerClock = 128
	instructionsPerTap   = 7 // differences, their squares' sum, weight, three sums and that of the weights, packed as they go
)

// floor returns the milliseconds that a scalar kernel cannot get under: of moving the frame as fast as a copy, one
// reciprocal for each tap, and the instructions of each tap, whatever is the most. The tensor form takes most of its
// reciprocals elsewhere, and gets under it.
func (r *run) floor(f pipeline.Format, radius int, copyGBps float64) float64 {
	window := 2*radius + 1
	taps := float64(f.Width*f.Height) * float64(window*window)
	clocks := float64(r.dev.Multiprocessors) * r.dev.Clock / 1000 // of all multiprocessors together, in a millisecond
	return max(
		float64(2*frameBytes(f))/(copyGBps*1e6),
		taps/(reciprocalsPerClock*clocks),
		taps*instructionsPerTap/(instructionsPerClock*clocks),
	)
}
