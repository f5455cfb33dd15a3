// Package av is what decode and encode share of the FFmpeg boundary: the parts of FFmpeg's C interface that
// go-astiav does not reach. Outside those two packages nothing imports it.
package av

//#cgo pkg-config: libavformat libavcodec libswscale libavutil
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// NoPTS is FFmpeg's mark for a missing timestamp.
const NoPTS = int64(-0x8000000000000000)

// FormatPtr returns the AVFormatContext behind fc. go-astiav v0.39 keeps it in the first, unexported field
// and has no accessor; TestPointers holds the versions to that.
func FormatPtr(fc *astiav.FormatContext) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(fc))
}

// StreamPtr returns the AVStream behind s.
func StreamPtr(s *astiav.Stream) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(s)) }

// PacketPtr returns the AVPacket behind p.
func PacketPtr(p *astiav.Packet) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(p)) }

// Slice returns the n elements of a C array, which is often NULL when it is empty.
func Slice[T any](p *T, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice(p, n)
}

// Error turns a negative FFmpeg return code into an error; 0 and above give nil.
func Error(code int) error {
	if code >= 0 {
		return nil
	}
	return astiav.Error(code)
}

// Errno returns the operating system's error number behind an FFmpeg error, or 0.
func Errno(err error) int {
	var e astiav.Error
	if errors.As(err, &e) && -int(e) > 0 && -int(e) < 4096 {
		return -int(e)
	}
	return 0
}

var pixelFormats = map[astiav.PixelFormat]struct {
	layout pipeline.Layout
	full   bool // the name itself says full range
}{
	astiav.PixelFormatYuv420P:  {pipeline.YUV420P, false},
	astiav.PixelFormatYuvj420P: {pipeline.YUV420P, true},
	astiav.PixelFormatYuv422P:  {pipeline.YUV422P, false},
	astiav.PixelFormatYuvj422P: {pipeline.YUV422P, true},
	astiav.PixelFormatYuv444P:  {pipeline.YUV444P, false},
	astiav.PixelFormatYuvj444P: {pipeline.YUV444P, true},
	astiav.PixelFormatNv12:     {pipeline.NV12, false},
	astiav.PixelFormatRgba:     {pipeline.RGBA, true},
}

// LayoutOf returns the layout that holds pf's samples as they are; ok is false when there is none and the
// frame must be converted. full tells that the format's name promises full range.
func LayoutOf(pf astiav.PixelFormat) (l pipeline.Layout, full, ok bool) {
	p, ok := pixelFormats[pf]
	return p.layout, p.full, ok
}

// PixelFormat returns FFmpeg's name for a layout.
func PixelFormat(l pipeline.Layout) astiav.PixelFormat {
	switch l {
	case pipeline.YUV420P:
		return astiav.PixelFormatYuv420P
	case pipeline.YUV422P:
		return astiav.PixelFormatYuv422P
	case pipeline.YUV444P:
		return astiav.PixelFormatYuv444P
	case pipeline.NV12:
		return astiav.PixelFormatNv12
	case pipeline.RGBA:
		return astiav.PixelFormatRgba
	}
	return astiav.PixelFormatNone
}

// NearestLayout returns the layout that keeps most of a pixel format, and what is lost on the way ("" when
// nothing is but the arrangement).
func NearestLayout(pf astiav.PixelFormat) (l pipeline.Layout, lost string) {
	var d C.vf_pixdesc
	if C.vf_describe(C.int(pf), &d) < 0 {
		return pipeline.YUV420P, "an unknown pixel format"
	}
	switch {
	case d.depth > 8:
		lost = fmt.Sprintf("%d bits become 8", d.depth)
	case d.alpha != 0 && d.rgb == 0 && d.gray == 0:
		lost = "transparency is dropped"
	}
	switch {
	case d.gray != 0 && d.alpha == 0:
		return pipeline.YUV420P, lost // the luma as it is, and no colour
	case d.rgb != 0 || d.gray != 0:
		return pipeline.RGBA, lost
	case d.log2w == 0 && d.log2h == 0:
		return pipeline.YUV444P, lost
	case d.log2w == 0 || d.log2h == 0:
		if d.log2w == 1 {
			return pipeline.YUV422P, lost
		}
		if d.log2w > 1 {
			return pipeline.YUV422P, lost // 4:1:1: rows keep all their chroma, columns are interpolated
		}
		return pipeline.YUV444P, lost // 4:4:0
	}
	return pipeline.YUV420P, lost
}

// IsGray tells that a pixel format has no colour. Such samples are taken as full range unless tagged.
func IsGray(pf astiav.PixelFormat) bool {
	var d C.vf_pixdesc
	return C.vf_describe(C.int(pf), &d) >= 0 && d.gray != 0
}

// Props is what a decoded picture carries beside its samples: colour tags, aspect, captions, HDR metadata.
// It implements pipeline.Props.
type Props struct{ frame *C.AVFrame }

// PropsOf copies the properties of a decoded frame; the samples stay where they are.
func PropsOf(f *astiav.Frame) *Props {
	p := C.vf_props((*C.AVFrame)(f.UnsafePointer()))
	if p == nil {
		return nil
	}
	return &Props{p}
}

// Release frees the properties.
func (p *Props) Release() { C.av_frame_free(&p.frame) }

// Pointer returns the AVFrame that holds the properties.
func (p *Props) Pointer() unsafe.Pointer { return unsafe.Pointer(p.frame) }
