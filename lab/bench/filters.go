package bench

import (
	"context"
	"fmt"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
	"vidfilter/repair"
)

// FiltersSection has the times of the filters that stand before the denoiser.
type FiltersSection struct {
	Peak measure.Peak `json:"cpu"`
	Rows []FilterRow  `json:"rows"`
}

// FilterRow is one filter at one size and depth of 4:2:0.
type FilterRow struct {
	Device string  `json:"device"` // gpu or cpu
	Size   Size    `json:"size"`
	Layout string  `json:"layout"`
	Filter string  `json:"filter"`
	Time   Stat    `json:"time"` // between results, copies included, by the host's clock
	FPS    float64 `json:"fps"`
	Floor  float64 `json:"floor_ms"` // the frame read and written
	Check  Check   `json:"check"`
}

// before are the filters, with their definitions in Go.
var before = []struct {
	stage     kernels.Stage
	onGPU     bool
	reference func(*pipeline.Pool) pipeline.Filter
}{
	{kernels.Deinterlace{}, true, kernels.Deinterlace{}.Reference},
	{repair.Stage{Mode: 1}, false, repair.Reference},
}

func (r *run) filters(ctx context.Context) (*FiltersSection, error) {
	s := &FiltersSection{Peak: r.peak()}
	for _, b := range []kernels.Backend{r.GPU, r.CPU} {
		g, onGPU := b.(*gpu.Backend)
		if onGPU && g == nil {
			continue
		}
		for _, size := range r.sizes([]Size{size1080}, []Size{size1080}) {
			for _, l := range depths {
				for _, f := range before {
					if onGPU && !f.onGPU {
						continue
					}
					what := fmt.Sprintf("%s on %s", f.stage.Filter(), b.Name())
					frames := r.clip(f.stage, measure.FormatOf(l, size), denoiseFrames)
					row, err := r.filterRow(ctx, b, f.stage, what, f.reference, 0, frames)
					if err != nil {
						return s, err
					}
					s.Rows = append(s.Rows, row)
				}
			}
		}
	}
	return s, nil
}

// filterRow checks and times a filter. operations is the least number of operations on floats for a
// frame, for the floor.
func (r *run) filterRow(
	ctx context.Context, b kernels.Backend, p kernels.Stage, what string, reference func(*pipeline.Pool) pipeline.Filter, operations float64, frames []*pipeline.Frame,
) (row FilterRow, err error) {
	f := frames[0].Format
	row = FilterRow{Device: "cpu", Size: Size{Width: f.Width, Height: f.Height}, Layout: f.Layout.String(), Filter: p.Filter().Name}
	peak := r.peak()
	if _, onGPU := b.(*gpu.Backend); onGPU {
		row.Device = "gpu"
		if peak, err = r.peakOfGPU(ctx); err != nil {
			return row, err
		}
	}
	r.say("%s, %s", what, f)
	if row.Check, err = r.checkClip(ctx, b, p, reference, f.Layout, what); err != nil {
		return row, err
	}
	if row.Time, err = measure.FilterTime(ctx, b, p, r.repeatOf(), frames...); err != nil {
		return row, err
	}
	row.FPS, row.Floor = 1000/row.Time.Median, peak.Floor(operations, float64(2*measure.FrameBytes(f)))
	return row, nil
}

// clip returns frames for a filter: interlaced ones for the deinterlacer.
func (r *run) clip(p kernels.Stage, f pipeline.Format, n int) []*pipeline.Frame {
	frames := measure.Pan(f, n)
	_, interlaced := p.(kernels.Deinterlace)
	for _, f := range frames {
		f.Interlaced, f.TopFieldFirst = interlaced, interlaced
	}
	return frames
}
