package decode

//#include "glue.h"
import "C"

import (
	"errors"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Blank returns a frame without a picture at time 0, described as the header describes the video's.
// Its memory is of the input's pool. Frames may differ from it. It is an error if the header lacks
// their size or pixel format.
func (v *videoReader) Blank() (*pipeline.Frame, error) {
	par := (*C.AVStream)(av.StreamPtr(v.video)).codecpar
	pf := astiav.PixelFormat(par.format)
	if par.width <= 0 || par.height <= 0 || pf == astiav.PixelFormatNone {
		return nil, errors.New("decode: the header does not say what the pictures are")
	}
	layout, full, native := av.LayoutOf(pf)
	if !native || !v.takes(layout) {
		layout, _ = av.NearestLayout(pf, v.takes)
	}
	picture := astiav.AllocFrame()
	if picture == nil {
		return nil, errors.New("decode: out of memory")
	}
	defer picture.Free()
	c := (*C.AVFrame)(picture.UnsafePointer())
	c.format, c.width, c.height = par.format, par.width, par.height
	c.color_range, c.colorspace = par.color_range, par.color_space
	c.color_primaries, c.color_trc, c.chroma_location = par.color_primaries, par.color_trc, par.chroma_location
	props := av.PropsOf(picture)
	if props == nil {
		return nil, errors.New("decode: out of memory")
	}
	format := pipeline.Format{Layout: layout, Width: int(par.width), Height: int(par.height)}
	format.FullRange = full || par.color_range == C.AVCOL_RANGE_JPEG || layout.Info().RGB
	if !layout.Info().RGB {
		format.Matrix = av.MatrixOf(int(par.color_space), format.Height)
	}
	f, err := v.pool.TakeFrame(format, props)
	if err != nil {
		props.Release()
		return nil, err
	}
	for i, y := range f.Rows() {
		clear(f.Row(i, y))
	}
	video := v.videoOf(c)
	f.Video, f.Interlaced = &video, v.Interlaced() || v.MayBeInterlaced()
	if video.Rate.Known() && video.TimeBase.Known() {
		f.Duration = int64(1/(video.Rate.Float64()*video.TimeBase.Float64()) + 0.5)
	}
	if err := v.addStated(props); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}
