package video

//#include <libavcodec/avcodec.h>
import "C"

import "vidfilter/encode/formats"

// MJPEG is FFmpeg's name of the encoder of JPEG.
const MJPEG = "mjpeg"

var mjpeg = Codec{Name: MJPEG, CRF: -1, fullRange: true, fields: noFields, configure: configureMJPEG}

// configureMJPEG gives single pictures the best quality.
func configureMJPEG(o *encoder, c *C.AVCodecContext, _ func(option, value string)) {
	if o.Form.Family == formats.Picture {
		c.flags |= C.AV_CODEC_FLAG_QSCALE
		c.global_quality = 2 * C.FF_QP2LAMBDA
	}
}
