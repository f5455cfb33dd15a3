package video

//#include <libavcodec/avcodec.h>
import "C"

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// nvenc is the part that NVENC's encoders share. The device makes pairs of chroma from planes.
var nvenc = Codec{
	Presets: strings.Fields("ultrafast superfast veryfast faster fast medium slow slower veryslow p1 p2 p3 p4 p5 p6 p7"),
	Tunes:   strings.Fields("hq ll ull lossless"),
	Preset:  "medium",
	Quality: Quality{Min: 1, Max: 51, About: "NVENC's cq: 1 is best, 51 is worst; --tune lossless keeps all"},

	quality:   "cq",
	ownPreset: true,
	evenSides: true,
	fields:    noFields,
	configure: configureNVENC,

	contradiction: contradictionNVENC,
	params: strings.Fields(`
		aq-strength=1|2|3|4|5|6|7|8|9|10|11|12|13|14|15 b_ref_mode=disabled|each|middle bf bufsize cq dpb_size init_qpB init_qpI init_qpP
		intra-refresh=0|1 ldkfs level maxrate multipass=disabled|qres|fullres no-scenecut=0|1 nonref_p=0|1 qmax qmin qp qp_cb_offset qp_cr_offset
		rc=vbr|cbr|constqp rc-lookahead refs spatial-aq=0|1 strict_gop=0|1 temporal-aq=0|1 weighted_pred=0|1 zerolatency=0|1`),
}

var (
	nvencH264 = nvencCodec("h264", 18, map[int][]string{8: {"yuv420p", "yuv444p", "nv12"}}, `
		b_adapt=0|1 coder=cabac|cavlc|ac|vlc constrained-encoding=0|1 max_slice_size profile=baseline|main|high|high444p
		single-slice-intra-refresh=0|1`)
	nvencHEVC = nvencCodec("hevc", 20, map[int][]string{8: {"yuv420p", "yuv444p", "nv12"}, 10: {"yuv420p10le", "yuv444p10le", "p010le"}}, `
		constrained-encoding=0|1 max_slice_size profile=main|main10|rext single-slice-intra-refresh=0|1 tier=main|high`)
	nvencAV1 = nvencCodec("av1", 24, map[int][]string{8: {"yuv420p", "nv12"}, 10: {"yuv420p10le", "p010le"}}, `
		b_adapt=0|1 tier=0|1 tile-columns tile-rows`)
)

func nvencCodec(of string, crf float64, pixelFormats map[int][]string, params string) Codec {
	c := nvenc
	c.Name, c.OnDevice, c.CRF, c.formats = of+"_nvenc", of, crf, pixelFormats
	c.params = slices.Sorted(slices.Values(slices.Concat(nvenc.params, strings.Fields(params))))
	switch of {
	case "hevc":
		c.tags = x265.tags
	case "av1":
		c.Quality = Quality{Min: 1, Max: 63, About: "NVENC's cq: 1 is best, 63 is worst"}
		c.Tunes = strings.Fields("hq ll ull")
	}
	if full := pixelFormats[8]; slices.Contains(full, "yuv444p") {
		c.choose = fullRGB(of, slices.Max(slices.Collect(maps.Keys(pixelFormats))))
	}
	return c
}

// nvencHighTiers are the tiers that leave most bits to a picture.
var nvencHighTiers = map[C.enum_AVCodecID]string{C.AV_CODEC_ID_HEVC: "high", C.AV_CODEC_ID_AV1: "1"}

// nvencPresets maps the presets of x264 and x265 to NVENC's fewer ones.
var nvencPresets = map[string]string{
	"ultrafast": "p1", "superfast": "p1", "veryfast": "p1", "faster": "p2", "fast": "p3", "medium": "p4", "slow": "p5", "slower": "p6", "veryslow": "p7",
}

// nvencLookahead is in frames: NVENC takes up to 31, less its B pictures.
var nvencLookahead = map[string]int{"slow": 16, "slower": 20, "veryslow": 24}

// nvencGOP is the least distance of key frames with the preset's own number of B pictures.
const nvencGOP = 9

// fullRGB returns a codec's choose: RGB is coded as 4:4:4 with up to a number of bits.
func fullRGB(codec string, deepest int) func(pipeline.Format) (astiav.PixelFormat, string) {
	return func(f pipeline.Format) (astiav.PixelFormat, string) {
		if !f.Layout.Info().RGB {
			return astiav.PixelFormatNone, ""
		}
		pf := astiav.PixelFormatYuv444P
		if f.Layout.Info().Depth > 8 && deepest > 8 {
			pf = astiav.PixelFormatYuv444P10Le
		}
		return pf, fmt.Sprintf("RGB is encoded as %s; for players that only take 4:2:0 add --pixel-format yuv420p", pf)
	}
}

func configureNVENC(o *encoder, c *C.AVCodecContext, set func(option, value string)) {
	set("extra_sei", "0") // see package side
	set("rc", "vbr")
	if o.EncoderParams.Has("qp") {
		set("rc", "constqp")
	}
	set("preset", cmp.Or(nvencPresets[o.Preset], o.Preset))
	if n := nvencLookahead[o.Preset]; n > 0 && o.Tune != "ll" && o.Tune != "ull" {
		set("rc-lookahead", strconv.Itoa(n))
	}
	if o.Tune == "lossless" || o.constantQP() {
		set("cq", "0")
	}
	if c.codec_id == C.AV_CODEC_ID_H264 {
		set("profile", "high") // FFmpeg's is main; 4:4:4 and lossless have their own
	}
	switch {
	case o.GOP == 0:
		c.gop_size = 250 // as x264 does; NVENC has no limit of its own
	case o.GOP == 1:
		c.gop_size = 0 // by which FFmpeg asks for key frames alone
	case o.GOP < nvencGOP:
		c.max_b_frames = 0
	}
	if o.Bitrate == 0 && hasHighTier(c) && !o.EncoderParams.Has("level") && !o.EncoderParams.Has("maxrate") {
		set("tier", nvencHighTiers[c.codec_id]) // lest the level limit the bit rate at any quality
	}
	o.EncoderParams.Set(set)
}

func (o *encoder) constantQP() bool {
	return o.EncoderParams.Has("qp") || o.EncoderParams.Value("rc") == "constqp"
}

// contradictionNVENC finds options where FFmpeg or NVENC would ignore one silently.
func contradictionNVENC(o *encoder) error {
	has, rc := o.EncoderParams.Has, o.EncoderParams.Value("rc")
	aims := o.OwnCRF || o.Bitrate > 0 || has("cq")
	b, _ := strconv.Atoi(o.EncoderParams.Value("bf"))
	for _, c := range []struct {
		found        bool
		text, advice string
	}{
		{o.Tune == "lossless" && (aims || has("qp") || rc != ""), "--tune lossless has no quality, bit rate or rate control to choose",
			"leave --crf, --bitrate and the parameters cq, qp and rc out"},
		{has("qp") && aims, "the parameter qp keeps the quantiser constant, which excludes --crf, --bitrate and cq", "give one of them"},
		{has("qp") && rc != "" && rc != "constqp", "the parameter qp keeps the quantiser constant, which excludes rc=" + rc, "leave one of them out"},
		{rc == "constqp" && aims, "rc=constqp keeps the quantiser constant, which excludes --crf, --bitrate and cq", "give qp=N instead of them, or leave rc out"},
		{rc == "constqp" && !has("qp") && !has("init_qpP"), "rc=constqp needs a quantiser", "--encoder-params qp=20 for example"},
		{rc == "cbr" && o.Bitrate == 0, "rc=cbr needs a bit rate", "--bitrate 5M for example"},
		{o.Bitrate > 0 && has("cq"), "--bitrate and the parameter cq exclude each other", "cq keeps the quality constant, --bitrate the size: give one of them"},
		{o.OwnCRF && has("cq"), "--crf and the parameter cq are the same", "give one of them"},
		{b > 0 && o.GOP > 0 && o.GOP < b+2, fmt.Sprintf("--gop %d is too short for bf=%d", o.GOP, b), fmt.Sprintf("--gop %d or more, or fewer B pictures", b+2)},
	} {
		if c.found {
			return misused(c.advice, "%s", c.text)
		}
	}
	return nil
}

// hasHighTier reports whether pictures are of level 4 or above, where HEVC and AV1 have two tiers.
func hasHighTier(c *C.AVCodecContext) bool {
	samples, rate := float64(c.width)*float64(c.height), 0.
	if c.framerate.num > 0 {
		rate = float64(c.framerate.num) / float64(c.framerate.den)
	}
	return samples > 1065024 || samples*rate > 33177600
}
