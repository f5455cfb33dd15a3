package bench

import (
	"context"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// StepSection has whole steps: copy a frame from pinned memory to the device, filter it, copy it
// back.
type StepSection struct {
	Rows []StepRow `json:"rows"`
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

// The step is measured with 1 to mostStreams streams.
const mostStreams = 4

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
