package video

import "strings"

// prores is Apple ProRes: pictures of their own, in 10 bits. Its presets are its profiles.
var prores = Codec{
	Name:    "prores_ks",
	Common:  "prores",
	Aliases: []string{"prores_ks"},
	Presets: strings.Fields("proxy lt standard hq 4444 4444xq"),
	Preset:  "hq",
	CRF:     -1,

	noBitrate: "its presets fix the bits of a picture",
	noGOP:     "every picture is a key frame",
	preset:    "profile",
	formats:   map[int][]string{10: {"yuv422p10le", "yuv444p10le", "yuva444p10le"}},
	presetFormats: map[string][]string{
		"proxy": {"yuv422p10le"}, "lt": {"yuv422p10le"}, "standard": {"yuv422p10le"}, "hq": {"yuv422p10le"},
		"4444": {"yuv444p10le", "yuva444p10le"}, "4444xq": {"yuv444p10le", "yuva444p10le"},
	},
	params:     strings.Fields("mbs_per_slice=1|2|4|8 vendor bits_per_mb quant_mat=auto|proxy|lt|standard|hq|default alpha_bits=0|8|16"),
	maxSide:    65535,
	videoRange: true,
	fields:     apartFields,
	configure:  configureOwn,
}
