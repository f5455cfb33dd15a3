package cpu

import (
	"fmt"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// component is where a component of a field is in a frame.
type component struct {
	data          []byte // from its first sample
	pitch         int    // bytes
	step          int    // bytes from sample to sample
	width, height int    // samples
	own           int    // rows to write: 0 where the one read is another field's
}

// components finds Y, U and V of a field. A second field without chroma rows of its own reads the
// frame's first one, as in kernels.
func components(f *pipeline.Frame, field plane.Field) (all [3]component, err error) {
	info := f.Layout.Info()
	if info.Planes == 0 || info.RGB || info.Depth != 8 {
		return all, fmt.Errorf("denoise: frames of %v cannot be filtered", f.Format)
	}
	first, step := 0, 1
	if field != plane.Whole {
		first, step = int(field-plane.Top), 2
	}
	for i := range all {
		from, offset, apart := i, 0, 1
		if info.SemiPlanar && i > 0 {
			from, offset, apart = 1, i-1, 2
		}
		width, rows := f.PlaneSize(from)
		own, start := max(rows-first+step-1, 0)/step, first
		if own == 0 {
			start = 0
		}
		p := f.Planes[from]
		all[i] = component{
			data:  p.Data[start*p.Pitch+offset:],
			pitch: p.Pitch * step, step: apart,
			width: width / apart, height: max(own, 1), own: own,
		}
	}
	if all[0].own == 0 || all[0].width == 0 {
		return all, fmt.Errorf("denoise: field %d of %v has no samples", field, f.Format)
	}
	return all, nil
}
