package bench

import (
	"context"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// CPUSection is the CPU's filter, on all cores, beside the GPU's, copies included.
type CPUSection struct {
	Rows []CPURow `json:"rows"`
}

// CPURow is one size of yuv420p at one radius.
type CPURow struct {
	Size   Size  `json:"size"`
	Radius int   `json:"radius"`
	CPU    Stat  `json:"cpu"`
	GPU    *Stat `json:"gpu"` // nil without a GPU
	Check  Check `json:"check"`
}

func (r *run) cpuBeside(ctx context.Context) (*CPUSection, error) {
	s := &CPUSection{}
	sizes := r.sizes([]Size{size1080, size4K}, []Size{size1080})
	radii := r.radii([]int{1, 2, 3, 5}, []int{1, 3, 5})
	for _, size := range sizes {
		src := measure.Picture(measure.FormatOf(pipeline.YUV420P, size))
		for _, radius := range radii {
			row, err := r.cpuRow(ctx, src, kernels.DefaultBilateral(radius))
			if err != nil {
				return s, err
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return s, nil
}

func (r *run) cpuRow(ctx context.Context, src *pipeline.Frame, p kernels.Bilateral) (row CPURow, err error) {
	row = CPURow{Size: Size{Width: src.Width, Height: src.Height}, Radius: p.Radius}
	r.say("%s at radius %d, %s", r.CPU.Name(), p.Radius, src.Format)
	if row.Check, err = r.checkBackend(ctx, r.CPU, p, src.Layout); err != nil {
		return row, err
	}
	if row.CPU, err = measure.FilterTime(ctx, r.CPU, p, r.repeat(), src); err != nil || r.GPU == nil {
		return row, err
	}
	if _, err = r.checkBackend(ctx, r.GPU, p, src.Layout); err != nil {
		return row, err
	}
	gpu, err := measure.FilterTime(ctx, r.GPU, p, r.repeat(), src)
	row.GPU = &gpu
	return row, err
}
