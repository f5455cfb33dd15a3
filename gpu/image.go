package gpu

import (
	"unsafe"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// image is a frame in one block of the host's memory, pinned but for some measurements, with a margin of black pixels around it. In a buffer of a device it lies the same way,
// so that one copy moves it.
type image struct {
	memory pipeline.Memory
	frame  *pipeline.Frame // over memory, without the margin
	offset [3]int          // bytes to the first sample of each plane
}

// newImage returns a black image with so many pixels of margin, which only RGBA can have.
func newImage(alloc func(int) (pipeline.Memory, error), f pipeline.Format, margin int) (*image, error) {
	whole := f
	whole.Width, whole.Height = f.Width+2*margin, f.Height+2*margin
	offsets, pitches, size := whole.PlanLayout(pipeline.PitchAlign)
	m, err := alloc(size)
	if err != nil {
		return nil, err
	}
	clear(m.Bytes)
	im := &image{memory: m}
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		im.offset[i] = offsets[i] + margin*pitches[i] + 4*margin
		planes[i] = pipeline.Plane{Data: m.Bytes[im.offset[i]:], Pitch: pitches[i]}
	}
	im.frame = pipeline.NewFrame(f, planes, nil, nil)
	return im, nil
}

func (m *image) size() int               { return len(m.memory.Bytes) }
func (m *image) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.memory.Bytes)) }

// set copies the samples of a frame of the same format.
func (m *image) set(from *pipeline.Frame) { m.frame.CopySamples(from) }

// get copies the samples to a frame of the same format.
func (m *image) get(to *pipeline.Frame) { to.CopySamples(m.frame) }

// planes returns where kernels find the image in a buffer.
func (m *image) planes(b buffer) (d kernels.DevicePlanes) {
	for i := range m.frame.NumPlanes() {
		d.Addr[i], d.Pitch[i] = uint64(b.address)+uint64(m.offset[i]), m.frame.Planes[i].Pitch
	}
	return d
}
