package encode

//#include <libavcodec/avcodec.h>
import "C"

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// X264 is FFmpeg's name of x264.
const X264 = "libx264"

var x264 = Codec{
	Name:    X264,
	Presets: strings.Fields("ultrafast superfast veryfast faster fast medium slow slower veryslow placebo"),
	Tunes:   strings.Fields("film animation grain stillimage psnr ssim fastdecode zerolatency"),
	Preset:  "medium",
	CRF:     18,

	maxSide:   16384,
	choose:    chooseX264,
	configure: configureX264,
	headers:   ParameterSets,
}

// chooseX264: H.264 has no odd sizes with halved chroma, and players take no RGB.
func chooseX264(f pipeline.Format) (astiav.PixelFormat, string) {
	switch {
	case odd(f.Width, f.Height, av.PixelFormat(f.Layout)):
		full := av.PixelFormat(pipeline.YUV444P)
		if f.Layout.Info().Depth > 8 {
			full = av.PixelFormat(pipeline.YUV444P.At(10)) // the deepest of H.264
		}
		return full, fmt.Sprintf("H.264 cannot hold %dx%d with halved chroma; the output is %v", f.Width, f.Height, full)
	case f.Layout == pipeline.RGBA:
		return astiav.PixelFormatYuv444P, "RGB is encoded as yuv444p; for players that only take 4:2:0 add --pixel-format yuv420p"
	}
	return astiav.PixelFormatNone, ""
}

func configureX264(o *Options, c *C.AVCodecContext, set func(option, value string)) {
	params := []x264Param{{"asm", strconv.Itoa(x264CPU())}}
	params = append(params, o.Params.list...)
	if c.field_order == C.AV_FIELD_BB {
		// FFmpeg passes it to x264 with the first frame, too late for the first packets.
		params = append(params, x264Param{"bff", "1"})
	}
	set("x264-params", X264Params{params}.String())
}
