package decode

//#include "glue.h"
import "C"

import (
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

func ratio(r astiav.Rational) pipeline.Ratio { return pipeline.Ratio{Num: r.Num(), Den: r.Den()} }

// sharedBy returns a description for frames to share, which is the one before unless that differs.
func (d *decoder) sharedBy(v pipeline.Video) *pipeline.Video {
	if d.shared == nil || *d.shared != v {
		d.shared = &v
	}
	return d.shared
}

// videoOf describes the video as of a picture. What the container says goes before what pictures
// say.
func (in *Input) videoOf(c *C.AVFrame) pipeline.Video {
	v := pipeline.Video{
		TimeBase: ratio(in.video.TimeBase()), Rate: ratio(in.FrameRate()), MeanRate: ratio(in.video.AvgFrameRate()),
		Alpha: hasAlpha(in.video.CodecParameters().PixelFormat()),
	}
	st := (*C.AVStream)(av.StreamPtr(in.video))
	aspect := C.av_guess_sample_aspect_ratio((*C.AVFormatContext)(av.FormatPtr(in.fc)), st, c)
	v.Aspect = pipeline.Ratio{Num: int(aspect.num), Den: int(aspect.den)}
	v.Matrix = matrixOf(st.codecpar, c)
	return v
}

// videoOf describes pictures of a stream or camera, whose times are in microseconds.
func (s *Stream) videoOf(c *C.AVFrame) pipeline.Video {
	return pipeline.Video{
		TimeBase: pipeline.Ratio{Num: 1, Den: int(second)}, Rate: s.rate,
		Aspect: pipeline.Ratio{Num: int(c.sample_aspect_ratio.num), Den: int(c.sample_aspect_ratio.den)},
		Alpha:  hasAlpha(s.dec.PixelFormat()), Matrix: matrixOf(nil, c),
	}
}

// matrixOf returns the display matrix of a stream, or of a picture if the stream has none; par may
// be nil.
func matrixOf(par *C.AVCodecParameters, c *C.AVFrame) (m [9]int32) {
	C.vf_matrix(par, c, (*C.int32_t)(&m[0]))
	return m
}

func hasAlpha(pf astiav.PixelFormat) bool {
	return pf != astiav.PixelFormatNone && pf.Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
}

// addStated gives the properties of a frame what the container says of all pictures.
func (in *Input) addStated(p *av.Props) error {
	par := (*C.AVStream)(av.StreamPtr(in.video)).codecpar
	if err := av.Error(int(C.vf_add_stated((*C.AVFrame)(p.Pointer()), par))); err != nil {
		return fmt.Errorf("decode %s: %w", in.path, err)
	}
	return nil
}

// Look returns what the first frame says of the pictures, nil before it. It may be called from any
// goroutine.
func (in *Input) Look() *fidelity.Look { return in.first.Load() }
