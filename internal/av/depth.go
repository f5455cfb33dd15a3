package av

//#include "glue.h"
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// Requantise copies the samples of src to dst, in a layout that differs in depth alone. Luma of
// full range and RGB keep the ends of the range, other samples are shifted. Where bits are lost,
// [pipeline.Rounding] rounds, in each field by itself.
func Requantise(dst, src *pipeline.Frame) {
	var pin runtime.Pinner
	defer pin.Unpin()
	to, from := samplesOf(dst, &pin), samplesOf(src, &pin)
	requantise(&to, &from, src.Width, src.Height, src.FullRange, src.Interlaced)
}

func samplesOf(f *pipeline.Frame, pin *runtime.Pinner) (s C.vf_samples) {
	for i, p := range f.Planes[:f.NumPlanes()] {
		data := unsafe.SliceData(p.Data)
		pin.Pin(data)
		s.data[i], s.pitch[i] = (*C.uint8_t)(data), C.int(p.Pitch)
	}
	s.format = C.int(PixelFormat(f.Layout))
	return s
}

func requantise(dst, src *C.vf_samples, width, height int, full, interlaced bool) {
	fields := C.int(1)
	if interlaced {
		fields = 2
	}
	rounding := pipeline.Rounding(Depth(astiav.PixelFormat(dst.format)))
	C.vf_requantise(dst, src, C.int(width), C.int(height), flag(full), fields, (*C.float)(&rounding[0]))
}

// requantises converts a picture to another depth, if all else stays: RGB, which swscale would make
// YUV, and YUV of fewer bits, where its pattern is a coarser one.
func requantises(dst, src *astiav.Frame, from, to pipeline.Format) bool {
	a, _, known := LayoutOf(src.PixelFormat())
	b, _, both := LayoutOf(dst.PixelFormat())
	switch {
	case !known || !both || a == b || a.Arrangement() != b.Arrangement() || a.Info().Samples > 1:
		return false
	case src.Width() != dst.Width() || src.Height() != dst.Height():
		return false
	case !a.Info().RGB && (from.Matrix != to.Matrix || from.FullRange != to.FullRange || b.Info().Depth > a.Info().Depth):
		return false
	}
	d, s := (*C.AVFrame)(dst.UnsafePointer()), (*C.AVFrame)(src.UnsafePointer())
	requantise(samplesIn(d), samplesIn(s), src.Width(), src.Height(), from.FullRange, s.flags&C.AV_FRAME_FLAG_INTERLACED != 0)
	return true
}

func samplesIn(f *C.AVFrame) *C.vf_samples {
	s := &C.vf_samples{format: f.format}
	for i := range s.data {
		s.data[i], s.pitch[i] = f.data[i], f.linesize[i]
	}
	return s
}

// shallowRGB returns planes of RGB of 8 bits, which the caller frees, of a picture of more that
// becomes packed RGB of 8: swscale cuts bits off. It returns nil for other pictures.
func shallowRGB(dst, src *astiav.Frame, from pipeline.Format) (*astiav.Frame, error) {
	const wanted = astiav.PixelFormatDescriptorFlagRgb
	l, _, known := LayoutOf(src.PixelFormat())
	desc := dst.PixelFormat().Descriptor()
	if !known || l.Arrangement() != pipeline.GBRP || l.Info().Depth == 8 || Depth(dst.PixelFormat()) != 8 || !desc.Flags().Has(wanted) {
		return nil, nil
	}
	f, err := newPicture(pipeline.Format{Layout: pipeline.GBRP, Width: src.Width(), Height: src.Height()})
	if err == nil {
		requantises(f, src, from, from)
	}
	return f, err
}
