package job

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vidfilter/decode"
	"vidfilter/denoise/noise"
	"vidfilter/interlace"
	"vidfilter/internal/stages"
)

// Advice is an option that suits a file, and the evidence for it in the file.
type Advice struct {
	Option string `json:"option"`
	Reason string `json:"reason"`
}

// masters are the codecs of captures and scans, as opposed to copies for viewers.
var masters = strings.Fields("cfhd dnxhd ffv1 ffvhuff huffyuv jpeg2000 lagarith magicyuv prores rawvideo utvideo v210 v410")

// Advise returns advice for a file. seen is its noise, or nil if not measured, and fields is its
// interlacing, or zero if not judged. Ambiguous evidence gives no advice.
func Advise(info decode.Info, seen *noise.Summary, fields interlace.Found) (all []Advice) {
	i := slices.IndexFunc(info.Streams, func(s decode.StreamInfo) bool { return s.Role == "filtered" && !s.Cover })
	if i < 0 {
		return nil
	}
	v := info.Streams[i]
	chroma, master := v.Properties["chroma"], slices.Contains(masters, v.Codec)
	standard := v.Width >= 640 && v.Width <= 768 && v.Height >= 480 && v.Height <= 608
	switch interlaced := strings.Contains(v.Properties["field_order"], "field first"); {
	case fields.Telecine:
		return []Advice{{"--" + stages.Before.Name + " fieldmatch,decimate", "film in 3:2 pulldown"}}
	case interlaced && fields.Content == interlace.Progressive:
		return nil
	case interlaced && standard && (v.Codec == "dvvideo" || master || chroma == "4:1:1" || chroma == "4:2:2"):
		return []Advice{{footage("tape"), fmt.Sprintf("interlaced %s, %dx%d, chroma %s", v.Codec, v.Width, v.Height, chroma)}}
	case interlaced:
		return []Advice{{"--" + stages.Deinterlace.Name, "interlaced, and screens show whole pictures"}}
	case master && (v.Rate == 16 || v.Rate == 18):
		return []Advice{{footage("film"), fmt.Sprintf("%g frames per second, the rate of silent and amateur film", v.Rate)}}
	case master && v.Rate > 0 && math.Abs(v.Rate-24) < 0.03 && chroma == "none" && grainy(seen):
		return []Advice{{footage("film"), fmt.Sprintf("%.4g frames per second in black and white, with film grain", v.Rate)}}
	}
	return nil
}

func footage(name string) string { return "--" + footageFlag + " " + name }

// grainy reports whether noise resembles film grain in most frames: coarser than a sample, and
// strongest in mid-tones.
func grainy(seen *noise.Summary) bool {
	if seen == nil {
		return false
	}
	frames := 0
	for _, s := range seen.Scenes {
		if n := len(s.Bright); !s.Clean && n > 0 && s.Grain >= 1.5 && s.Bright[n/2].Sigma > 1.3*s.Bright[0].Sigma {
			frames += s.Frames
		}
	}
	return 2*frames > seen.Frames
}
