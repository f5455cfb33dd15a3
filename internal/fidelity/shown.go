package fidelity

//#include "glue.h"
import "C"

import (
	"unsafe"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// shown are the keys of the properties of pictures that a filter can change.
var shown = []string{
	"size", "depth", "chroma", "range", "primaries", "transfer", "matrix", "chroma_location", "sample_aspect", "rotation",
	"field_order", "stereo", "spherical", "mastering_display", "content_light", "ambient", "icc",
}

// Rate is the key of the frame rate in the result of Turned. Files have no such property.
const Rate = "rate"

// Look is a frame's description of the pictures of a video.
type Look struct {
	Video  pipeline.Video
	values map[string]string // by the keys of properties
}

// LookOf returns a frame's description, nil when out of memory.
func LookOf(f *pipeline.Frame) *Look {
	var fc *C.AVFormatContext
	var frame *C.AVFrame
	if C.vf_blank(&fc, &frame) < 0 {
		return nil
	}
	defer C.avformat_free_context(fc)
	defer C.av_frame_free(&frame)
	if props := (*C.AVFrame)(av.FrameProps(f)); props != nil && C.av_frame_copy_props(frame, props) < 0 {
		return nil
	}
	pf := av.PixelFormat(f.Layout)
	if av.HasAlpha(f) {
		pf = av.WithAlpha(f.Layout)
	}
	frame.format, frame.width, frame.height = C.int(pf), C.int(f.Width), C.int(f.Height)
	frame.color_range = C.AVCOL_RANGE_MPEG
	if f.FullRange {
		frame.color_range = C.AVCOL_RANGE_JPEG
	}
	if f.Layout.Info().Gray() {
		frame.colorspace = C.AVCOL_SPC_UNSPECIFIED // there is no mixture
	}
	frame.flags &^= C.AV_FRAME_FLAG_INTERLACED | C.AV_FRAME_FLAG_TOP_FIELD_FIRST
	if f.Interlaced {
		frame.flags |= C.AV_FRAME_FLAG_INTERLACED
		if f.TopFieldFirst {
			frame.flags |= C.AV_FRAME_FLAG_TOP_FIELD_FIRST
		}
	}
	st := *(**C.AVStream)(unsafe.Pointer(fc.streams))
	st.codecpar.width, st.codecpar.height = frame.width, frame.height
	seen := &Seen{frame: frame}
	seen.orders[C.vf_order(frame)] = 1
	s := &subject{fc: fc, st: st, seen: seen, video: f.Video}
	l := &Look{values: map[string]string{}}
	if f.Video != nil {
		l.Video = *f.Video
	}
	for _, key := range shown {
		l.values[key] = properties.of(Video, key).read(s)
	}
	return l
}

// Turned returns the keys of the differences from another look, empty if either is nil.
func (l *Look) Turned(to *Look) (keys []string) {
	if l == nil || to == nil {
		return nil
	}
	for _, key := range shown {
		if l.values[key] != to.values[key] {
			keys = append(keys, key)
		}
	}
	if l.Pace(to) != 1 || l.Video.Rate.Float64() != to.Video.Rate.Float64() {
		keys = append(keys, Rate)
	}
	return keys
}

// Pace returns how many frames of another look come for one of this, 1 if that is unknown.
func (l *Look) Pace(to *Look) float64 {
	if l == nil || to == nil {
		return 1
	}
	// Only the mean of a video whose rate varies counts its frames.
	for _, r := range [][2]pipeline.Ratio{{l.Video.MeanRate, to.Video.MeanRate}, {l.Video.Rate, to.Video.Rate}} {
		if from, is := r[0], r[1]; from.Known() && is.Known() && from != is {
			return is.Float64() / from.Float64()
		}
	}
	return 1
}
