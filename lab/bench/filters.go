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
	Time   Stat    `json:"time"` // for each frame that comes out, copies included
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
					row, err := r.filterRow(ctx, b, f.stage, f.reference, measure.FormatOf(l, size))
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

func (r *run) filterRow(ctx context.Context, b kernels.Backend, p kernels.Stage, reference func(*pipeline.Pool) pipeline.Filter, f pipeline.Format) (row FilterRow, err error) {
	name := p.Filter().Name
	row = FilterRow{Device: "cpu", Size: Size{Width: f.Width, Height: f.Height}, Layout: f.Layout.String(), Filter: name}
	peak := r.peak()
	if _, onGPU := b.(*gpu.Backend); onGPU {
		row.Device = "gpu"
		if peak, err = r.peakOfGPU(ctx); err != nil {
			return row, err
		}
	}
	r.say("%s on %s, %s", name, b.Name(), f)
	if row.Check, err = r.checkClip(ctx, b, p, reference, f.Layout, fmt.Sprintf("%s on %s", name, b.Name())); err != nil {
		return row, err
	}
	if row.Time, err = measure.FilterTime(ctx, b, p, r.repeatOf(), r.clip(p, f, denoiseFrames)...); err != nil {
		return row, err
	}
	row.FPS, row.Floor = 1000/row.Time.Median, peak.Floor(0, float64(2*measure.FrameBytes(f)))
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
