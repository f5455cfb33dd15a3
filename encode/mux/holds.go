package mux

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
)

// Holds reports whether files of a format hold the video of an open encoder.
func Holds(f formats.Format, enc *astiav.CodecContext) bool {
	name := C.CString(f.Muxer())
	defer C.free(unsafe.Pointer(name))
	var fc *C.AVFormatContext
	if C.avformat_alloc_output_context2(&fc, nil, name, nil) < 0 {
		return false
	}
	defer C.avformat_free_context(fc)
	st := C.avformat_new_stream(fc, nil)
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	if st == nil || C.avcodec_parameters_from_context(st.codecpar, c) < 0 {
		return false
	}
	st.time_base = c.time_base
	st.avg_frame_rate = C.AVRational{25, 1}
	return muxes(fc.oformat, f, st, st.codecpar.codec_tag)
}

// muxes reports whether a muxer takes a stream so that readers find it again.
func muxes(muxer *C.AVOutputFormat, f formats.Format, st *C.AVStream, tag C.uint32_t) bool {
	known := f.Codecs == nil || slices.Contains(f.Codecs, C.GoString(C.avcodec_get_name(st.codecpar.codec_id)))
	return known && C.vf_can_mux(muxer, st, tag) != 0
}
