package video

//#include <libavcodec/avcodec.h>
import "C"

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

var x264 = Codec{
	Name:    spec.X264,
	Common:  "h264",
	Aliases: []string{"avc", "avc1", "h.264", "x264"},
	Presets: strings.Fields("ultrafast superfast veryfast faster fast medium slow slower veryslow placebo"),
	faster:  -1,
	Tunes:   strings.Fields("film animation grain stillimage psnr ssim fastdecode zerolatency"),
	Preset:  "medium",
	CRF:     18,
	Quality: Quality{Max: 51, About: "0 is lossless, 18 looks like the input, 23 is x264's own, 51 is worst"},

	maxSide:   16384,
	fields:    mixedFields,
	choose:    fullChroma("H.264", 10, false),
	configure: configureX264,
	headers:   units.ParameterSets,
	formats: map[int][]string{
		8:  {"yuv420p", "yuv422p", "yuv444p", "nv12", "nv16", "gray", "yuvj420p", "yuvj422p", "yuvj444p"},
		10: {"yuv420p10le", "yuv422p10le", "yuv444p10le", "gray10le"},
	},
}

// fullChroma returns a codec's choose: H.264 and HEVC have no odd sizes with halved chroma, and
// players take no packed RGB. deepest is in bits; planarRGB means planes of R, G and B.
func fullChroma(codec string, deepest int, planarRGB bool) func(pipeline.Format) (astiav.PixelFormat, string) {
	return func(f pipeline.Format) (astiav.PixelFormat, string) {
		switch {
		case odd(f.Width, f.Height, av.PixelFormat(f.Layout)):
			full := pipeline.YUV444P
			if depth := f.Layout.Info().Depth; depth > 8 {
				full = full.At(min(max(depth, 10), deepest))
			}
			return av.PixelFormat(full), fmt.Sprintf("%s cannot hold %dx%d with halved chroma; the output is %v", codec, f.Width, f.Height, full)
		case f.Layout == pipeline.RGBA:
			return astiav.PixelFormatYuv444P, "RGB is encoded as yuv444p; for players that only take 4:2:0 add --pixel-format yuv420p"
		case f.Layout == pipeline.GBRP && !planarRGB:
			return astiav.PixelFormatYuv444P, "RGB is encoded as yuv444p, rounded to 8 bits; --codec hevc and ffv1 keep it"
		case f.Layout.Info().RGB && !planarRGB:
			return astiav.PixelFormatYuv444P10Le, "RGB is encoded as yuv444p10le, rounded to 10 bits; --codec hevc and ffv1 keep it"
		}
		return astiav.PixelFormatNone, ""
	}
}

func configureX264(o *encoder, c *C.AVCodecContext, set func(option, value string)) {
	set("a53cc", "0") // see package side
	params := []spec.Param{{Name: "asm", Value: strconv.Itoa(x264CPU())}}
	params = append(append(params, o.Params...), o.EncoderParams...)
	if o.clocks {
		params = append(params, spec.Param{Name: "pic-struct", Value: "1"})
	}
	if c.field_order == C.AV_FIELD_BB {
		// FFmpeg passes it to x264 with the first frame, too late for the first packets.
		params = append(params, spec.Param{Name: "bff", Value: "1"})
	}
	if o.Threads == 0 {
		c.thread_count += c.thread_count / 2 // as x264 chooses them by the cores
	}
	if c.width*c.height > mostPixelsAFrameThread {
		c.thread_type = C.FF_THREAD_SLICE
	}
	set("x264-params", spec.Params(params).String())
}

// mostPixelsAFrameThread bounds memory: a thread takes three pictures. Threads share larger ones.
const mostPixelsAFrameThread = 40e6

// needsClocks reports whether the encoder must make room for timecodes.
func (o *encoder) needsClocks(f *pipeline.Frame) bool {
	ownStructure := func(p spec.Param) bool { return p.Name == "pic-struct" }
	return o.Encoder == spec.X264 && slices.ContainsFunc(av.Units(f), func(u units.Unit) bool { return u.Kind == units.Timecode }) &&
		!slices.ContainsFunc(o.Params, ownStructure) && !slices.ContainsFunc(o.EncoderParams, ownStructure)
}
