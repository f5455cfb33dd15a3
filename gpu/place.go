package gpu

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// place is how a frame lies in host memory and, at the same offsets and pitches where it can, in a buffer of
// a device. A frame in one pinned block is copied in one go, with what lies between its planes; any other
// frame plane by plane.
type place struct {
	size   int    // bytes of the buffer that are used
	copies []rows // device is an offset in the buffer yet
	offset [3]int
	pitch  [3]int
	pinned bool // else the samples may be Go's, and must be kept where they are
}

// placeOf finds out how a frame lies. Its samples must stay until the copies are done.
func (b *Backend) placeOf(f *pipeline.Frame) place {
	whole, gaps := spanOf(f)
	pinned := b.blocks.hold(whole)
	if pinned && gaps < int(whole.end-whole.start)/2 {
		return inOneGo(f, whole)
	}
	return apart(f, pinned)
}

// spanOf returns the memory from the first sample of a frame to the last, and how many bytes of it are none
// of its rows.
func spanOf(f *pipeline.Frame) (s span, gaps int) {
	used := 0
	for i := range f.NumPlanes() {
		p := planeSpan(f, i)
		if i == 0 {
			s = p
		}
		s.start, s.end = min(s.start, p.start), max(s.end, p.end)
		used += int(p.end - p.start)
	}
	return s, int(s.end-s.start) - used
}

func planeSpan(f *pipeline.Frame, i int) span {
	w, count := f.PlaneSize(i)
	start := uintptr(unsafe.Pointer(unsafe.SliceData(f.Planes[i].Data)))
	return span{start, start + uintptr(f.Planes[i].Pitch*(count-1)+w)}
}

func inOneGo(f *pipeline.Frame, whole span) place {
	p := place{size: int(whole.end - whole.start), pinned: true}
	first := 0
	for i := range f.NumPlanes() {
		s := planeSpan(f, i)
		p.offset[i], p.pitch[i] = int(s.start-whole.start), f.Planes[i].Pitch
		if p.offset[i] == 0 {
			first = i
		}
	}
	p.copies = []rows{{host: hostPointer(f, first), width: p.size, count: 1}}
	return p
}

func apart(f *pipeline.Frame, pinned bool) place {
	offsets, pitches, size := f.PlanLayout(0)
	p := place{size: size, pinned: pinned}
	for i := range f.NumPlanes() {
		w, count := f.PlaneSize(i)
		p.offset[i], p.pitch[i] = offsets[i], pitches[i]
		p.copies = append(p.copies, rows{
			host: hostPointer(f, i), hostPitch: f.Planes[i].Pitch,
			device: cu.DevicePtr(offsets[i]), devicePitch: pitches[i], width: w, count: count,
		})
	}
	return p
}

// padded is how a frame of RGBA lies when there is a margin of so many pixels around it on the device, into which nothing is copied: it goes
// row by row.
func (p place) padded(f *pipeline.Frame, margin int) place {
	w, count := f.PlaneSize(0)
	pitch := (w + 8*margin + pipeline.PitchAlign - 1) / pipeline.PitchAlign * pipeline.PitchAlign
	p.size, p.offset[0] = pitch*(count+2*margin), margin*pitch+4*margin
	p.pitch[0] = pitch
	p.copies = []rows{{
		host: hostPointer(f, 0), hostPitch: f.Planes[0].Pitch, device: cu.DevicePtr(p.offset[0]), devicePitch: pitch,
		width: w, count: count, parted: true,
	}}
	return p
}

func hostPointer(f *pipeline.Frame, i int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(f.Planes[i].Data))
}

// at returns the copies with the buffer's address.
func (p place) at(buffer cu.DevicePtr) []rows {
	all := make([]rows, len(p.copies))
	for i, r := range p.copies {
		r.device += buffer
		all[i] = r
	}
	return all
}

// planes returns where the kernels find the planes in the buffer.
func (p place) planes(buffer cu.DevicePtr) (d kernels.DevicePlanes) {
	for i := range d.Addr {
		d.Addr[i], d.Pitch[i] = uint64(buffer)+uint64(p.offset[i]), p.pitch[i]
	}
	return d
}
