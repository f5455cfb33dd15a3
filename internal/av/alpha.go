package av

//#include "glue.h"
import "C"

import (
	"errors"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// WithAlpha returns FFmpeg's pixel format for a layout with a plane of alpha, or PixelFormatNone.
func WithAlpha(l pipeline.Layout) astiav.PixelFormat {
	if name := l.Info().Alpha; name != "" {
		return astiav.FindPixelFormatByName(name)
	}
	return astiav.PixelFormatNone
}

// KeepAlpha keeps the alpha of a decoded picture, if it has any, beside the samples of frames that
// share the properties: no filter sees or copies it. A plane of alpha stays where the decoder put
// it; alpha among other samples is copied. Where pictures of another size are scaled to the
// format's, so is their alpha.
func (p *Props) KeepAlpha(f *astiav.Frame, to pipeline.Format) error {
	var alpha *C.AVFrame
	if err := Error(int(C.vf_alpha((*C.AVFrame)(f.UnsafePointer()), C.int(to.Width), C.int(to.Height), &alpha))); err != nil {
		return err
	}
	C.av_frame_free(&p.alpha)
	p.alpha = alpha
	return nil
}

// OfField implements pipeline.Woven. Rows between the field's rows are means of the two around.
func (p *Props) OfField(bottom bool) (pipeline.Props, error) {
	if p == nil || p.alpha == nil {
		return nil, nil
	}
	first := C.int(0)
	if bottom {
		first = 1
	}
	of := &Props{frame: C.vf_props(p.frame), alpha: C.vf_alpha_of_field(p.alpha, first), Units: p.Units, Transfer: p.Transfer, Timecode: p.Timecode}
	if of.frame == nil || of.alpha == nil {
		of.Release()
		return nil, errors.New("alpha: out of memory")
	}
	return of, nil
}

// alphaOf returns the alpha beside a frame's samples, or nil. A picture of another size is no alpha
// of this one.
func alphaOf(f *pipeline.Frame) *C.AVFrame {
	alpha := decoded(f).alpha
	if alpha == nil || int(alpha.width) != f.Width || int(alpha.height) != f.Height {
		return nil
	}
	return alpha
}

// HasAlpha reports whether alpha comes beside a frame's samples.
func HasAlpha(f *pipeline.Frame) bool { return alphaOf(f) != nil }

// SetAlpha completes a picture of f, wrapped or converted, to the pixel format to, which has alpha:
// with the alpha that comes beside f's samples, or opaque. It is the decoder's own where the depth
// is the same.
func SetAlpha(picture *astiav.Frame, f *pipeline.Frame, to astiav.PixelFormat) error {
	return Error(int(C.vf_set_alpha((*C.AVFrame)(picture.UnsafePointer()), C.int(to), alphaOf(f))))
}

// CopyComponent copies a component of an AVFrame, by its number in the pixel format, to samples of
// one byte or two, lowest first. It returns false when out of memory.
func CopyComponent(frame unsafe.Pointer, component int, to pipeline.Plane) bool {
	data := (*C.uint8_t)(unsafe.SliceData(to.Data))
	return C.vf_copy_component((*C.AVFrame)(frame), C.int(component), data, C.ptrdiff_t(to.Pitch)) != 0
}
