package gpu

import (
	"unsafe"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// image is a frame in one block of host memory, pinned except in some measurements. Device buffers
// use the same layout, so one copy moves it.
type image struct {
	memory pipeline.Memory
	frame  *pipeline.Frame // backed by memory
	offset [3]int          // of the first sample of each plane, in bytes
}

// newImage returns an image with all samples 0.
func newImage(alloc func(int) (pipeline.Memory, error), f pipeline.Format) (*image, error) {
	offsets, pitches, size := f.PlanLayout(pipeline.PitchAlign)
	m, err := alloc(size)
	if err != nil {
		return nil, err
	}
	clear(m.Bytes)
	im := &image{memory: m}
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		im.offset[i] = offsets[i]
		planes[i] = pipeline.Plane{Data: m.Bytes[offsets[i]:], Pitch: pitches[i]}
	}
	im.frame = pipeline.NewFrame(f, planes, nil, nil)
	return im, nil
}

func (m *image) size() int               { return len(m.memory.Bytes) }
func (m *image) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.memory.Bytes)) }

// set copies the samples from a frame of the same format.
func (m *image) set(from *pipeline.Frame) { m.frame.CopySamples(from) }

// get copies the samples to a frame of the same format.
func (m *image) get(to *pipeline.Frame) { to.CopySamples(m.frame) }

// planes returns the addresses and pitches of the image's planes in a device buffer.
func (m *image) planes(b buffer) (d kernels.DevicePlanes) {
	for i := range m.frame.NumPlanes() {
		d.Addr[i], d.Pitch[i] = uint64(b.address)+uint64(m.offset[i]), m.frame.Planes[i].Pitch
	}
	return d
}
