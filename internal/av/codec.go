package av

//#include <libavcodec/avcodec.h>
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// FrameProps returns the AVFrame that holds the properties of a decoded frame, nil for others. It
// belongs to f.
func FrameProps(f *pipeline.Frame) unsafe.Pointer { return decoded(f).Pointer() }

// TagColour tags the encoder's output as f is tagged. Samples that were RGB get the tags of to,
// the YUV format that they are converted to, or of RGB where yuv is false.
func TagColour(enc *astiav.CodecContext, f *pipeline.Frame, to pipeline.Format, yuv bool) {
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	if p := (*C.AVFrame)(FrameProps(f)); p != nil {
		c.color_primaries, c.color_trc, c.colorspace = p.color_primaries, p.color_trc, p.colorspace
		c.color_range, c.chroma_sample_location = p.color_range, p.chroma_location
	}
	if f.Layout.Info().RGB {
		c.colorspace, c.color_range = C.AVCOL_SPC_UNSPECIFIED, C.AVCOL_RANGE_UNSPECIFIED
		if yuv {
			c.colorspace = C.AVCOL_SPC_BT709
			if to.Matrix == pipeline.BT601 {
				c.colorspace = C.AVCOL_SPC_SMPTE170M
			}
			c.color_range = C.AVCOL_RANGE_MPEG
		}
		c.chroma_sample_location = C.AVCHROMA_LOC_UNSPECIFIED
		if !yuv && f.Layout != pipeline.RGBA {
			c.colorspace, c.color_range = C.AVCOL_SPC_RGB, C.AVCOL_RANGE_JPEG
		}
	} else if !yuv {
		c.colorspace = C.AVCOL_SPC_RGB
	}
	switch {
	case yuv && to.FullRange:
		c.color_range = C.AVCOL_RANGE_JPEG
	case yuv && f.FullRange:
		c.color_range = C.AVCOL_RANGE_MPEG
	}
}

// MatrixOf reads an AVColorSpace. Without one of ours, the height decides.
func MatrixOf(space, height int) pipeline.Matrix {
	switch space {
	case C.AVCOL_SPC_BT709:
		return pipeline.BT709
	case C.AVCOL_SPC_BT470BG, C.AVCOL_SPC_SMPTE170M, C.AVCOL_SPC_FCC:
		return pipeline.BT601
	case C.AVCOL_SPC_BT2020_NCL, C.AVCOL_SPC_BT2020_CL:
		return pipeline.BT2020
	}
	return usualMatrix(height)
}

// usualMatrix returns the matrix of YUV without a tag.
func usualMatrix(height int) pipeline.Matrix {
	if height >= 720 {
		return pipeline.BT709
	}
	return pipeline.BT601
}

// ColorSpace returns the AVColorSpace of a matrix.
func ColorSpace(m pipeline.Matrix) int {
	switch m {
	case pipeline.BT709:
		return C.AVCOL_SPC_BT709
	case pipeline.BT2020:
		return C.AVCOL_SPC_BT2020_NCL
	}
	return C.AVCOL_SPC_SMPTE170M
}

// AsYUV returns the matrix and range that samples of f have once they are YUV.
func AsYUV(f pipeline.Format) pipeline.Format {
	if f.Layout.Info().RGB {
		f.FullRange, f.Matrix = false, usualMatrix(f.Height)
	}
	return f
}

// SetExtradata replaces the extradata of an AVCodecParameters with a copy of data.
func SetExtradata(parameters unsafe.Pointer, data []byte) error {
	return Error(int(C.vf_set_extradata((*C.AVCodecParameters)(parameters), (*C.uint8_t)(unsafe.SliceData(data)), C.int(len(data)))))
}

// SetData replaces the data of an AVPacket by a copy of data.
func SetData(packet unsafe.Pointer, data []byte) error {
	p := (*C.AVPacket)(packet)
	if n := len(data) - int(p.size); n > 0 {
		if err := Error(int(C.av_grow_packet(p, C.int(n)))); err != nil {
			return err
		}
	}
	C.av_shrink_packet(p, C.int(len(data)))
	if err := Error(int(C.av_packet_make_writable(p))); err != nil {
		return err
	}
	copy(Slice((*byte)(p.data), int(p.size)), data)
	return nil
}

// SetOption sets an entry of the AVDictionary that dict, an AVDictionary**, points to. An empty
// value removes the entry. The dictionary holds copies.
func SetOption(dict unsafe.Pointer, key, value string) {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	var v *C.char
	if value != "" {
		v = C.CString(value)
		defer C.free(unsafe.Pointer(v))
	}
	C.av_dict_set((**C.AVDictionary)(dict), k, v, 0)
}

// Entries returns the entries of an AVDictionary, which may be nil.
func Entries(dict unsafe.Pointer) map[string]string {
	var all map[string]string
	d := (*C.AVDictionary)(dict)
	for e := C.av_dict_iterate(d, nil); e != nil; e = C.av_dict_iterate(d, e) {
		if all == nil {
			all = map[string]string{}
		}
		all[C.GoString(e.key)] = C.GoString(e.value)
	}
	return all
}

// Entry is a packet in the index of a stream.
type Entry struct {
	Pos    int64 // in the file
	Time   int64 // when it is decoded, in the unit of the stream
	Hidden bool  // an edit list has it decoded and not shown
}

// IndexEntry returns the entry of a number in the index of an AVStream, or false.
func IndexEntry(stream unsafe.Pointer, number int) (Entry, bool) {
	var pos, time C.int64_t
	var hidden C.int
	ok := C.vf_index_entry((*C.AVStream)(stream), C.int(number), &pos, &time, &hidden) != 0
	return Entry{int64(pos), int64(time), hidden != 0}, ok
}
