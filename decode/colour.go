package decode

//#include "glue.h"
//#include <libavutil/pixdesc.h>
import "C"

import (
	"vidfilter/internal/av"
)

// colours are the colour tags of a container. FFmpeg forgets them once a decoder finds none in the
// pictures, where players go by the container.
type colours struct {
	primaries C.enum_AVColorPrimaries
	transfer  C.enum_AVColorTransferCharacteristic
	matrix    C.enum_AVColorSpace
}

// containerColours returns the tags of each stream that the header describes.
func (in *Input) containerColours() (list []colours) {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	for _, st := range av.Slice(fc.streams, int(fc.nb_streams)) {
		par := st.codecpar
		list = append(list, colours{par.color_primaries, par.color_trc, par.color_space})
	}
	return list
}

// keepColours gives streams back the tags that probing took from them.
func (in *Input) keepColours(list []colours) {
	for i, from := range list {
		par := in.stream(i).codecpar
		if par.codec_type == C.AVMEDIA_TYPE_VIDEO {
			from.fill(&par.color_primaries, &par.color_trc, &par.color_space, C.enum_AVPixelFormat(par.format))
		}
	}
}

// tagPicture gives a picture without tags those of its stream.
func (in *Input) tagPicture(f *C.AVFrame) {
	par := in.stream(in.video.Index()).codecpar
	colours{par.color_primaries, par.color_trc, par.color_space}.fill(&f.color_primaries, &f.color_trc, &f.colorspace, C.enum_AVPixelFormat(f.format))
}

// fill sets the tags that are not known, and takes from YUV the matrix of RGB.
func (c colours) fill(primaries *C.enum_AVColorPrimaries, transfer *C.enum_AVColorTransferCharacteristic, matrix *C.enum_AVColorSpace, format C.enum_AVPixelFormat) {
	if *primaries == C.AVCOL_PRI_UNSPECIFIED || *primaries == C.AVCOL_PRI_RESERVED0 {
		*primaries = c.primaries
	}
	if *transfer == C.AVCOL_TRC_UNSPECIFIED || *transfer == C.AVCOL_TRC_RESERVED0 {
		*transfer = c.transfer
	}
	if *matrix == C.AVCOL_SPC_UNSPECIFIED || *matrix == C.AVCOL_SPC_RESERVED {
		*matrix = c.matrix
	}
	d := C.av_pix_fmt_desc_get(format)
	if d != nil && d.flags&C.AV_PIX_FMT_FLAG_RGB == 0 && *matrix == C.AVCOL_SPC_RGB {
		*matrix = C.AVCOL_SPC_UNSPECIFIED
	}
}
