package video

//#include <libavcodec/avcodec.h>
import "C"

import "strings"

// dnxhd is Avid's codec in its form for all sizes, DNxHR. Its presets are its profiles.
var dnxhd = Codec{
	Name:    "dnxhd",
	Common:  "dnxhd",
	Aliases: []string{"dnxhr", "vc3"},
	Presets: strings.Fields("lb sq hq hqx 444"),
	Preset:  "hq",
	CRF:     -1,

	noBitrate: "its presets fix the bits of a picture",
	noGOP:     "every picture is a key frame",
	ownPreset: true,
	minWidth:  256,
	minSide:   120,
	fields:    noFields, // of DNxHR; only DNxHD proper has fields
	formats:   map[int][]string{8: {"yuv422p"}, 10: {"yuv422p10le", "yuv444p10le", "gbrp10le"}},
	presetFormats: map[string][]string{
		"lb": {"yuv422p"}, "sq": {"yuv422p"}, "hq": {"yuv422p"}, "hqx": {"yuv422p10le"}, "444": {"yuv444p10le", "gbrp10le"},
	},
	params:    strings.Fields("nitris_compat=0|1 ibias"),
	configure: configureDNxHD,
	finish:    tagDNxHD,
}

func configureDNxHD(o *encoder, _ *C.AVCodecContext, set func(option, value string)) {
	set("profile", "dnxhr_"+o.Preset)
	o.EncoderParams.Set(set)
}

// tagDNxHD writes the colour volume into a picture's header (SMPTE ST 2019-1, 5.3).
func tagDNxHD(c *C.AVCodecContext, packet []byte) {
	const at, shift, unknown = 0x2c, 1, 3
	volume, known := map[C.enum_AVColorSpace]byte{
		C.AVCOL_SPC_BT709: 0, C.AVCOL_SPC_UNSPECIFIED: 0, C.AVCOL_SPC_BT2020_NCL: 1, C.AVCOL_SPC_BT2020_CL: 2,
	}[c.colorspace]
	if !known {
		volume = unknown
	}
	if len(packet) > at {
		packet[at] |= volume << shift
	}
}
