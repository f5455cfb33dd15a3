package gpu

import (
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// place is the layout of a frame in host memory and, with the same offsets and pitches if
// possible, in a device buffer. A frame in one pinned block is copied in one go, including the
// gaps between its planes; any other frame plane by plane.
type place struct {
	size   int    // used bytes of the buffer
	copies []rows // the address in the buffer is an offset
	offset [3]int
	pitch  [3]int
	pinned bool // otherwise the samples may be Go's and must be pinned for the garbage collector
}

// pin keeps the garbage collector from moving samples outside the backend's memory.
func (p *place) pin(f *pipeline.Frame, pins *runtime.Pinner) {
	for i := range f.NumPlanes() {
		if !p.pinned {
			pins.Pin(&f.Planes[i].Data[0])
		}
	}
}

// placeOf determines the layout of a frame for a device, which may hold its samples already.
// Samples in host memory must not move until the copies are done.
func (b *Backend) placeOf(f *pipeline.Frame, u *openDevice) place {
	if f.Device.Owner == any(u) {
		return resident(f)
	}
	whole, gaps := spanOf(f)
	pinned := b.blocks.hold(whole)
	if pinned && gaps < int(whole.end-whole.start)/2 && even(f, whole) {
		return inOneGo(f, whole)
	}
	return apart(f, pinned)
}

// even reports whether kernels can load the samples: offsets and pitches are multiples of their
// size.
func even(f *pipeline.Frame, whole span) bool {
	n := f.Layout.Info().SampleBytes()
	for i := range f.NumPlanes() {
		if f.Planes[i].Pitch%n > 0 || int(planeSpan(f, i).start-whole.start)%n > 0 {
			return false
		}
	}
	return true
}

// spanOf returns the memory from the first sample of a frame to the last, and how many bytes of
// it belong to no plane.
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

// resident is the place of a frame whose samples are in a block of the device.
func resident(f *pipeline.Frame) place {
	offsets, pitches, size := f.PlanLayout(pipeline.PitchAlign)
	p := place{size: size, pinned: true}
	copy(p.offset[:], offsets[:])
	copy(p.pitch[:], pitches[:])
	p.copies = []rows{{outside: end{device: cu.DevicePtr(f.Device.Address)}, width: size, count: 1}}
	return p
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
	p.copies = []rows{{outside: end{host: hostPointer(f, first)}, width: p.size, count: 1}}
	return p
}

func apart(f *pipeline.Frame, pinned bool) place {
	offsets, pitches, size := f.PlanLayout(0)
	p := place{size: size, pinned: pinned}
	for i := range f.NumPlanes() {
		w, count := f.PlaneSize(i)
		p.offset[i], p.pitch[i] = offsets[i], pitches[i]
		p.copies = append(p.copies, rows{
			outside: end{host: hostPointer(f, i), pitch: f.Planes[i].Pitch},
			buffer:  end{device: cu.DevicePtr(offsets[i]), pitch: pitches[i]}, width: w, count: count,
		})
	}
	return p
}

func hostPointer(f *pipeline.Frame, i int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(f.Planes[i].Data))
}

// at returns the copies for a buffer at this address.
func (p place) at(buffer cu.DevicePtr) []rows {
	all := make([]rows, len(p.copies))
	for i, r := range p.copies {
		r.buffer.device += buffer
		all[i] = r
	}
	return all
}

// planes returns the addresses and pitches of the planes in the buffer.
func (p place) planes(buffer cu.DevicePtr) (d kernels.DevicePlanes) {
	for i := range d.Addr {
		d.Addr[i], d.Pitch[i] = uint64(buffer)+uint64(p.offset[i]), p.pitch[i]
	}
	return d
}
