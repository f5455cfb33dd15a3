package decode

//#include "glue.h"
import "C"

import (
	"fmt"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

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
