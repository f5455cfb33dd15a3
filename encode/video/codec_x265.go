package video

//#cgo pkg-config: x265
//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unsafe"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/units"
)

var x265 = Codec{
	Name:    "libx265",
	Common:  "hevc",
	Aliases: []string{"h265", "h.265", "x265", "hvc1", "hev1"},
	Presets: strings.Fields("ultrafast superfast veryfast faster fast medium slow slower veryslow placebo"),
	faster:  -1,
	Tunes:   strings.Fields("psnr ssim grain zerolatency fastdecode animation"),
	Preset:  "medium",
	CRF:     20,
	Quality: Quality{Max: 51, About: "20 looks like the input, 28 is x265's own, 51 is worst; --encoder-params lossless=1"},

	minSide:    16,
	fields:     noFields,
	linesACore: 70,
	// The most of its delay by reordering: it counts back by a time that the next picture sets.
	untimedDelay: 2,
	formats: map[int][]string{
		8:  {"yuv420p", "yuv422p", "yuv444p", "gray", "gbrp", "yuvj420p", "yuvj422p", "yuvj444p"},
		10: {"yuv420p10le", "yuv422p10le", "yuv444p10le", "gray10le", "gbrp10le"},
		12: {"yuv420p12le", "yuv422p12le", "yuv444p12le", "gray12le", "gbrp12le"},
	},
	tags:      map[formats.Family]string{formats.ISO: "hvc1"}, // Apple's players know no other
	choose:    fullChroma("HEVC", 12, true),
	configure: configureX265,
	headers:   parameterSetsHEVC,
	check:     checkX265,
	// All but those that open files, set up the stream that FFmpeg describes, or change messages.
	params: strings.Fields(`
		aq-mode aq-motion aq-strength amp asm aud b-adapt b-intra b-pyramid bframe-bias bframes bitrate cbqpoffs
		chromaloc colormatrix colorprim const-vbv constrained-intra cplxblur crf crf-max crf-min crqpoffs ctu cu-lossless cutree
		deblock dynamic-rd dynamic-refine early-skip fades fast-intra fps frame-threads gop-lookahead
		hash hdr10 hdr10-opt high-tier hist-scenecut hme hme-range hme-search hrd idr-recovery-sei
		intra-refresh ipratio keyint level-idc limit-modes limit-refs limit-sao limit-tu lookahead-slices
		lookahead-threads lossless lowpass-dct master-display max-ausize-factor max-cll max-luma max-merge max-tu-size me
		merange min-cu-size min-keyint min-luma nr-inter nr-intra open-gop opt-cu-delta-qp opt-qp-pps
		opt-ref-list-length-pps overscan pbratio pme pmode pools psy-rd psy-rdoq qblur qcomp qg-size qp qpmax qpmin
		qpstep radl range rc-grain rc-lookahead rd rd-refine rdoq-level rdpenalty rect ref rskip
		rskip-edge-threshold sao sao-non-deblock sar scenecut scenecut-bias selective-sao signhide
		slices splitrd-skip ssim-rd strict-cbr strong-intra-smoothing subme temporal-layers temporal-mvp transfer tskip
		tskip-fast tu-inter-depth tu-intra-depth vbv-bufsize vbv-init vbv-maxrate videoformat vui-hrd-info
		vui-timing-info weightb weightp wpp zones`),
}

// configureX265 leaves out the message with the options and the processor, by which equal pictures
// would be other files on other machines. Threads for frames also change the pictures: their number
// depends on --threads alone, if that is given, as x265 itself chooses it.
func configureX265(o *encoder, c *C.AVCodecContext, set func(option, value string)) {
	params := spec.Params{{Name: "log-level", Value: "none"}, {Name: "info", Value: "0"}}
	if n := o.threads(); n > 0 {
		params = append(params, spec.Param{Name: "pools", Value: strconv.Itoa(n)})
		c.thread_count = 1
		for _, cores := range []int{4, 8, 16, 32} {
			if n >= cores {
				c.thread_count++
			}
		}
	}
	params = append(params, o.EncoderParams...)
	if c.width > 32 && c.width <= 48 { // its cutree writes past the end of rows of three blocks
		params = append(params, spec.Param{Name: "cutree", Value: "0"})
	}
	set("x265-params", params.String())
}

func checkX265(name, value string) error {
	cname, cvalue := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(cname))
	defer C.free(unsafe.Pointer(cvalue))
	switch C.vf_x265_param(cname, cvalue) {
	case 0:
		return nil
	case C.X265_PARAM_BAD_NAME:
		return misused("leave it out", "this build's x265 has no parameter %q", name)
	}
	return misused("x265 --fullhelp lists its values", "x265 parameter %q does not take %q", name, value)
}

// parameterSetsHEVC returns VPS, SPS and PPS (ISO 23008-2, 7.3.2) from hvcC or start codes.
func parameterSetsHEVC(extradata []byte) (list [][]byte) {
	const vps, pps = 32, 34
	found := parameterSetsOfHVCC(extradata)
	if found == nil {
		found, _ = units.NALUnits(extradata, 0)
	}
	for _, unit := range found {
		unit = bytes.TrimRight(unit, "\x00")
		if len(unit) > 0 && unit[0]>>1&63 >= vps && unit[0]>>1&63 <= pps {
			list = append(list, unit)
		}
	}
	return list
}

// parameterSetsOfHVCC reads ISO 14496-15, 8.3.3.1; nil if it is truncated or something else.
func parameterSetsOfHVCC(b []byte) (list [][]byte) {
	const fixed = 22
	if len(b) <= fixed || b[0] != 1 {
		return nil
	}
	arrays := b[fixed]
	for b = b[fixed+1:]; arrays > 0; arrays-- {
		if len(b) < 3 {
			return nil
		}
		n := binary.BigEndian.Uint16(b[1:])
		for b = b[3:]; n > 0; n-- {
			if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
				return nil
			}
			size := int(binary.BigEndian.Uint16(b))
			list = append(list, b[2:2+size])
			b = b[2+size:]
		}
	}
	return list
}
