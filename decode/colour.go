package decode

//#include "glue.h"
//#include <libavutil/pixdesc.h>
import "C"

import (
	"slices"
	"strings"
)

// colourTags are the colour tags of a container. FFmpeg drops them if the pictures have no tags,
// but players use them.
type colourTags struct {
	primaries C.enum_AVColorPrimaries
	transfer  C.enum_AVColorTransferCharacteristic
	matrix    C.enum_AVColorSpace
	ranges    C.enum_AVColorRange
}

// containerColours returns the tags of each stream that the header describes.
func (s containerStreams) containerColours() (list []colourTags) {
	for _, st := range s.list() {
		par := st.codecpar
		list = append(list, colourTags{par.color_primaries, par.color_trc, par.color_space, par.color_range})
	}
	return list
}

// keepColours gives streams back the tags that probing took from them.
func (s containerStreams) keepColours(list []colourTags) {
	for i, from := range list {
		par := s.stream(i).codecpar
		if par.codec_type == C.AVMEDIA_TYPE_VIDEO {
			from.fill(&par.color_primaries, &par.color_trc, &par.color_space, C.enum_AVPixelFormat(par.format))
		}
	}
}

// tell warns where container and pictures have different tags.
func (c colourTags) tell(log logger, f *C.AVFrame) {
	d := C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(f.format))
	if d == nil || d.flags&C.AV_PIX_FMT_FLAG_RGB != 0 {
		return
	}
	hlg := C.GoString(C.av_color_transfer_name(C.AVCOL_TRC_ARIB_STD_B67))
	for _, t := range []struct {
		name               string
		container, picture *C.char
		same               string // tags that stand for the same
	}{
		{"matrix", C.av_color_space_name(c.matrix), C.av_color_space_name(f.colorspace), "bt470bg smpte170m"},
		{"primaries", C.av_color_primaries_name(c.primaries), C.av_color_primaries_name(f.color_primaries), ""},
		{"transfer", C.av_color_transfer_name(c.transfer), C.av_color_transfer_name(f.color_trc), "bt709 smpte170m bt2020-10 bt2020-12"},
		{"range", C.av_color_range_name(c.ranges), C.av_color_range_name(f.color_range), ""},
	} {
		container, picture := C.GoString(t.container), C.GoString(t.picture)
		same, silent := strings.Fields(t.same), []string{"", "unknown", "reserved", "gbr"}
		switch {
		case container == picture, slices.Contains(silent, container), slices.Contains(silent, picture),
			slices.Contains(same, container) && slices.Contains(same, picture):
		case container == hlg: // the pictures' tag is for old players
		default:
			log.warn("%s: the container says %s, and the pictures %s, which are believed", t.name, container, picture)
		}
	}
}

// fill sets the tags that are not known, and takes from YUV the matrix of RGB.
func (c colourTags) fill(primaries *C.enum_AVColorPrimaries, transfer *C.enum_AVColorTransferCharacteristic, matrix *C.enum_AVColorSpace, format C.enum_AVPixelFormat) {
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
