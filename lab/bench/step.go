package bench

import (
	"context"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// StepSection has whole steps: copy a frame from pinned memory to the device, filter it, copy it
// back.
type StepSection struct {
	Rows  []StepRow  `json:"rows"`
	Paper []PaperRow `json:"paper"`
}

// StepRow is the program's own filter on one kind of frame.
type StepRow struct {
	Size    Size    `json:"size"`
	Layout  string  `json:"layout"`
	Radius  int     `json:"radius"`
	Streams int     `json:"streams"`
	Time    Stat    `json:"time"` // between results, by the host's clock
	CopyIn  float64 `json:"copy_in_ms"`
	Kernel  float64 `json:"kernel_ms"`
	CopyOut float64 `json:"copy_out_ms"`
	Overlap float64 `json:"overlap"` // mean number of stages running at a time
	Bus     Stat    `json:"bus"`     // copies alone, in both directions at once
	Check   Check   `json:"check"`
}

// PaperRow is the paper's pipeline in the same run: padded RGBA from pinned memory, its kernel,
// two streams.
type PaperRow struct {
	Size   Size    `json:"size"`
	Radius int     `json:"radius"`
	Time   Stat    `json:"time"`
	Ours   float64 `json:"ours_ms"` // the fastest row of that size and radius
	// On a GTX 1080 Ti, tables 1.1 and 1.2 of 001; 0 if they lack it.
	Published float64 `json:"published_ms"`
	Check     Check   `json:"check"`
}

// The step is measured with 1 to mostStreams streams.
const mostStreams = 4

const paperStreams = 2

// published returns the milliseconds of a frame of 001 at radius 1, 0 if the paper lacks it.
func published(s Size, radius int) float64 {
	switch {
	case radius == 1 && s == size4K:
		return 5.235
	case radius == 1 && s == size8K:
		return 19.907
	}
	return 0
}

func (r *run) steps(ctx context.Context) (*StepSection, error) {
	s := &StepSection{}
	backends, err := r.openStreams()
	defer func() {
		for _, b := range backends {
			_ = b.Close()
		}
	}()
	if err != nil {
		return s, err
	}
	sizes, radii := r.sizes([]Size{size4K, size8K}, []Size{size4K}), r.radii([]int{1, 5}, []int{1, 5})
	for _, size := range sizes {
		for _, l := range []pipeline.Layout{pipeline.NV12, pipeline.YUV420P, pipeline.YUV420P.At(10)} {
			if err := r.stepRows(ctx, s, backends, measure.FormatOf(l, size), radii); err != nil {
				return s, err
			}
		}
		src := measure.Picture(measure.FormatOf(pipeline.RGBA, size))
		for _, radius := range radii {
			if err := r.paperRow(ctx, s, src, radius); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// openStreams opens the GPU once for each number of streams. After an error it returns those
// already open.
func (r *run) openStreams() (all []*gpu.Backend, err error) {
	for n := range mostStreams {
		b, err := measure.OpenGPU(r.o.Indexes, n+1)
		if err != nil {
			return all, err
		}
		all = append(all, b)
	}
	return all, nil
}

// stepRows measures one kind of frame at each radius with each backend.
func (r *run) stepRows(ctx context.Context, s *StepSection, backends []*gpu.Backend, f pipeline.Format, radii []int) error {
	times, err := r.GPU.TimeBus(ctx, measure.FrameBytes(f), r.repeat())
	if err != nil {
		return err
	}
	src, bus := measure.Picture(f), measure.StatOf(times)
	for _, radius := range radii {
		for n, b := range backends {
			r.say("step at radius %d, %s, streams: %d", radius, f, n+1)
			row, err := r.stepRow(ctx, b, kernels.DefaultBilateral(radius), src)
			if err != nil {
				return err
			}
			row.Streams, row.Bus = n+1, bus
			s.Rows = append(s.Rows, row)
		}
	}
	return nil
}

func (r *run) stepRow(ctx context.Context, b *gpu.Backend, p kernels.Bilateral, src *pipeline.Frame) (row StepRow, err error) {
	row = StepRow{Size: Size{Width: src.Width, Height: src.Height}, Layout: src.Layout.String(), Radius: p.Radius}
	if row.Check, err = r.checkBackend(ctx, b, p, src.Layout); err != nil {
		return row, err
	}
	before := b.Stats()
	if row.Time, err = measure.FilterTime(ctx, b, p, r.repeat(), src); err != nil {
		return row, err
	}
	stages := since(b.Stats(), before)
	in, kernel, out := stages.PerFrame(1)
	row.CopyIn, row.Kernel, row.CopyOut = measure.Milliseconds(in), measure.Milliseconds(kernel), measure.Milliseconds(out)
	row.Overlap = stages.Overlap()
	return row, nil
}

// since returns the difference of a backend's times.
func since(now, before gpu.Stats) gpu.Stats {
	return gpu.Stats{
		Frames: now.Frames - before.Frames, CopyIn: now.CopyIn - before.CopyIn, Kernel: now.Kernel - before.Kernel,
		CopyOut: now.CopyOut - before.CopyOut, Busy: now.Busy - before.Busy,
	}
}

// paperRow measures the paper's pipeline and compares it with the rows so far.
func (r *run) paperRow(ctx context.Context, s *StepSection, src *pipeline.Frame, radius int) error {
	if radius == 0 {
		return nil // the paper's kernel has no radius 0
	}
	v, err := papers.Library.Named(papers.Akers)
	if err != nil {
		return err
	}
	size := Size{Width: src.Width, Height: src.Height}
	row := PaperRow{Size: size, Radius: radius, Published: published(size, radius), Ours: fastest(s.Rows, size, radius)}
	r.say("the paper's pipeline at radius %d, %s", radius, src.Format)
	p := paramsOf(v, radius)
	if row.Check, err = r.checkKernel(ctx, v, p, src.Layout); err != nil {
		return err
	}
	times, err := r.GPU.TimeStep(ctx, v.Planner(p), src, gpu.Copies{Streams: paperStreams}, r.repeat())
	if err != nil {
		return err
	}
	row.Time = measure.StatOf(times)
	s.Paper = append(s.Paper, row)
	return nil
}

// fastest returns the median of the fastest row of a size and radius.
func fastest(rows []StepRow, size Size, radius int) (best float64) {
	for _, row := range rows {
		if row.Size == size && row.Radius == radius && (best == 0 || row.Time.Median < best) {
			best = row.Time.Median
		}
	}
	return best
}
