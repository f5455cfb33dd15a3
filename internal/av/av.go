// Package av holds the parts of FFmpeg's C interface that go-astiav does not reach, for the
// packages at that boundary: decode, encode, and live's previews and recordings.
package av

//#cgo pkg-config: libavformat libavcodec libswscale libavutil
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// NoPTS is FFmpeg's mark for a missing timestamp.
const NoPTS = int64(-0x8000000000000000)

// FormatPtr returns the AVFormatContext behind fc. go-astiav v0.39 has it in its first, unexported
// field and no accessor; TestPointers checks that.
func FormatPtr(fc *astiav.FormatContext) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(fc))
}

// StreamPtr returns the AVStream behind s.
func StreamPtr(s *astiav.Stream) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(s)) }

// PacketPtr returns the AVPacket behind p.
func PacketPtr(p *astiav.Packet) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(p)) }

// ParametersPtr returns the AVCodecParameters behind p.
func ParametersPtr(p *astiav.CodecParameters) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(p))
}

// Slice returns the n elements of a C array, which is often NULL when it is empty.
func Slice[T any](p *T, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice(p, n)
}

// Error turns a negative FFmpeg return code into an error, others into nil.
func Error(code int) error {
	if code >= 0 {
		return nil
	}
	return astiav.Error(code)
}

// Errno returns the system's error number behind an FFmpeg error, or 0.
func Errno(err error) int {
	if e, ok := errors.AsType[astiav.Error](err); ok && -int(e) > 0 && -int(e) < 4096 {
		return -int(e)
	}
	return 0
}

type native struct {
	layout pipeline.Layout
	full   bool // the name promises full range
}

// natives maps the pixel formats that are a layout, or one with a plane of alpha beside it.
var natives = sync.OnceValue(func() map[astiav.PixelFormat]native {
	m := map[astiav.PixelFormat]native{}
	for _, l := range pipeline.Layouts() {
		m[PixelFormat(l)] = native{l, l.Info().RGB}
		if name := l.Info().FullRange; name != "" {
			m[astiav.FindPixelFormatByName(name)] = native{l, true}
		}
		if pf := WithAlpha(l); pf != astiav.PixelFormatNone {
			m[pf] = native{l, l.Info().RGB}
		}
	}
	return m
})

// LayoutOf returns the layout of pf; ok is false if frames must be converted. full means that the
// name of the format promises full range. A plane of alpha is left to [Props.KeepAlpha].
func LayoutOf(pf astiav.PixelFormat) (l pipeline.Layout, full, ok bool) {
	n, ok := natives()[pf]
	return n.layout, n.full, ok
}

// PixelFormat returns FFmpeg's pixel format for a layout.
func PixelFormat(l pipeline.Layout) astiav.PixelFormat {
	if pf, ok := pixelFormats()[l]; ok {
		return pf
	}
	return astiav.PixelFormatNone
}

var pixelFormats = sync.OnceValue(func() map[pipeline.Layout]astiav.PixelFormat {
	m := map[pipeline.Layout]astiav.PixelFormat{}
	for _, l := range pipeline.Layouts() {
		m[l] = astiav.FindPixelFormatByName(l.Info().Name)
	}
	return m
})

// NearestLayout returns the layout that keeps most of a pixel format, among the accepted ones, and
// the loss of colour, or "". Alpha is one of the Extras.
func NearestLayout(pf astiav.PixelFormat, taken func(pipeline.Layout) bool) (l pipeline.Layout, lost string) {
	var d C.vf_pixdesc
	if C.vf_describe(C.int(pf), &d) < 0 {
		return pipeline.YUV420P, "an unknown pixel format"
	}
	l = nearest(d)
	switch {
	case d.gray != 0 && taken(pipeline.GRAY):
		l = pipeline.GRAY
	case d.rgb != 0 && d.depth > 8 && d.depth <= 16 && taken(pipeline.GBRP.At(16)),
		l == pipeline.RGBA && !taken(l) && taken(pipeline.GBRP):
		l = pipeline.GBRP
	}
	for depth := int(d.depth); depth > 8 && depth <= 16; depth++ {
		if deep := l.At(depth); deep != 0 && taken(deep) {
			return deep, ""
		}
	}
	if depth := l.Info().Depth; int(d.depth) > depth {
		lost = fmt.Sprintf("%d bits become %d", d.depth, depth)
	}
	return l, lost
}

func nearest(d C.vf_pixdesc) pipeline.Layout {
	switch {
	case d.gray != 0 && d.alpha == 0: // for filters that take no gray
		return pipeline.YUV420P // luma as it is, without colour
	case d.rgb != 0 || d.gray != 0:
		return pipeline.RGBA
	case d.log2w == 0:
		return pipeline.YUV444P // also 4:4:0
	case d.log2h == 0:
		return pipeline.YUV422P // for 4:1:1: rows keep all their chroma, columns are interpolated
	}
	return pipeline.YUV420P
}

// Depth returns the bits of a sample of a pixel format, 0 for an unknown one.
func Depth(pf astiav.PixelFormat) int {
	var d C.vf_pixdesc
	C.vf_describe(C.int(pf), &d)
	return int(d.depth)
}

// IsGray reports whether a pixel format has no colour. Such samples are taken as full range unless
// tagged.
func IsGray(pf astiav.PixelFormat) bool {
	var d C.vf_pixdesc
	return C.vf_describe(C.int(pf), &d) >= 0 && d.gray != 0
}

// Props are the properties of a decoded picture: colour tags, aspect, captions, HDR metadata. It
// implements pipeline.Props.
type Props struct {
	frame *C.AVFrame
	alpha *C.AVFrame   // a gray picture, or nil
	Units []units.Unit // the metadata of the coded picture; read only
	// Transfer is the transfer function that the stream itself is tagged with, where a unit names
	// another, or 0.
	Transfer int
	Timecode string // of the video's first picture, if its group has one: "01:02:03:04"
}

// PropsOf copies the properties of a decoded frame, without samples; nil when out of memory.
// Release frees the copy.
func PropsOf(f *astiav.Frame) *Props {
	p := C.vf_props((*C.AVFrame)(f.UnsafePointer()))
	if p == nil {
		return nil
	}
	return &Props{frame: p}
}

// Release frees the properties.
func (p *Props) Release() {
	C.av_frame_free(&p.frame)
	C.av_frame_free(&p.alpha)
}

// Again implements pipeline.Repeater: captions and timecodes are read once.
func (p *Props) Again() pipeline.Props {
	frame := C.vf_props(p.frame)
	if frame == nil {
		return nil
	}
	again := &Props{frame: frame, Transfer: p.Transfer}
	if p.alpha != nil {
		again.alpha = C.av_frame_clone(p.alpha)
	}
	for _, u := range p.Units {
		if !u.Kind.OfOnePicture() {
			again.Units = append(again.Units, u)
		}
	}
	return again
}

// Pointer returns the AVFrame that holds the properties, which Props owns.
func (p *Props) Pointer() unsafe.Pointer { return unsafe.Pointer(p.frame) }

// decoded returns the properties of a frame, which are empty for frames that were not decoded.
func decoded(f *pipeline.Frame) *Props {
	if p, ok := f.Props().(*Props); ok && p != nil {
		return p
	}
	return &Props{}
}
