package gpu

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// part is a frame or one of its fields, for the denoiser.
type part struct {
	format pipeline.Format
	place  place   // of its planes in a buffer
	rows   [3]int  // of each plane
	own    [3]bool // false: a plane's rows are another field's, and are not written
}

// partOf determines where a frame's or a field's samples are in host memory and in a buffer.
func (b *Backend) partOf(f *pipeline.Frame, u *openDevice, field plane.Field) part {
	p := part{format: f.Format}
	if field == plane.Whole {
		p.place = b.placeOf(f, u)
		for i := range f.NumPlanes() {
			_, p.rows[i] = f.PlaneSize(i)
			p.own[i] = true
		}
		return p
	}
	here := f.Device.Owner == any(u)
	offsets, pitches, _ := f.PlanLayout(pipeline.PitchAlign)
	if p.place.pinned = here; !here {
		whole, _ := spanOf(f)
		p.place.pinned = b.blocks.hold(whole)
	}
	for i := range f.NumPlanes() {
		width, height := f.PlaneSize(i)
		first, step, n, own := field.Rows(height)
		pitch := roundUp(width, pipeline.PitchAlign)
		p.place.offset[i], p.place.pitch[i], p.rows[i], p.own[i] = p.place.size, pitch, n, own
		r := rows{buffer: end{device: cu.DevicePtr(p.place.size), pitch: pitch}, width: width, count: n}
		if here {
			r.outside = end{device: cu.DevicePtr(f.Device.Address) + cu.DevicePtr(offsets[i]+pitches[i]*first), pitch: pitches[i] * step}
		} else {
			r.outside = end{host: unsafe.Pointer(&f.Row(i, first)[0]), pitch: f.Planes[i].Pitch * step}
		}
		p.place.copies = append(p.place.copies, r)
		p.place.size += pitch * n
	}
	return p
}

// wholeOf returns the part for frames of a format, without their places.
func wholeOf(f pipeline.Format) (p part) {
	p.format = f
	for i := range f.NumPlanes() {
		_, p.rows[i] = f.PlaneSize(i)
	}
	return p
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// planeOf returns the plane of Y, U or V, the bytes before the first sample, and from one to the
// next.
func (p *part) planeOf(i int) (plane, first, step int) {
	info := p.format.Layout.Info()
	size := info.SampleBytes()
	if info.SemiPlanar && i > 0 {
		return 1, (i - 1) * size, 2 * size
	}
	return i, 0, size
}

// size returns the samples of Y, U or V.
func (p *part) size(i int) device.Size {
	n, _, step := p.planeOf(i)
	width, _ := p.format.PlaneSize(n)
	return device.Size{Width: width / step, Height: p.rows[n]}
}

// shape returns the shape of the picture.
func (p *part) shape() device.Shape {
	info := p.format.Layout.Info()
	s := device.Shape{ShiftX: info.SubX, ShiftY: info.SubY, Depth: info.Depth, Shift: info.Shift}
	for i := range plane.Components(p.format.Layout) {
		s.Planes[i] = p.size(i)
	}
	return s
}

// samples returns where Y, U and V are in a buffer.
func (p *part) samples(at cu.DevicePtr) (all [3]device.Samples) {
	for i := range plane.Components(p.format.Layout) {
		n, first, step := p.planeOf(i)
		all[i] = device.Samples{
			Addr:  uint64(at) + uint64(p.place.offset[n]+first),
			Pitch: p.place.pitch[n], Step: step, Size: p.size(i),
		}
	}
	return all
}

// written returns the part without the planes that are another field's.
func (p part) written() part {
	copies := p.place.copies
	p.place.copies = nil
	for i, c := range copies {
		if len(copies) == 1 || p.own[i] {
			p.place.copies = append(p.place.copies, c)
		}
	}
	return p
}
