package decode

//#include "glue.h"
import "C"

import (
	"fmt"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
)

// groups holds the timecodes of MPEG-1 and MPEG-2, by the time of the picture that begins a group,
// until there is a frame.
type groups map[int64]units.GroupTime

// note reads a packet that is decoded next.
func (g *groups) note(p *C.AVPacket, codec C.enum_AVCodecID) {
	if codec != C.AV_CODEC_ID_MPEG1VIDEO && codec != C.AV_CODEC_ID_MPEG2VIDEO || p.pts == C.AV_NOPTS_VALUE {
		return
	}
	if *g == nil {
		*g = groups{}
	}
	if t, ok := units.GroupTimeOf(av.Slice((*byte)(p.data), int(p.size))); ok {
		(*g)[int64(p.pts)] = t
	}
}

// timecode returns that of the picture at a time: by the group that begins closest to it, in the
// form of FFmpeg. It is empty for clocks that begin at 0, which say nothing.
func (g groups) timecode(pts int64, unit, rate astiav.Rational) string {
	closest := int64(math.MaxInt64)
	for at := range g {
		if d := at - pts; max(d, -d) < max(closest, -closest) {
			closest = d
		}
	}
	t, ok := g[pts+closest]
	if !ok || pts == av.NoPTS || t.Hours|t.Minutes|t.Seconds|t.Pictures == 0 || rate.Num() <= 0 {
		return ""
	}
	separator := ":"
	if t.Drop {
		separator = ";"
	}
	if float64(t.Pictures) >= math.Ceil(rate.Float64()) {
		return "" // damaged
	}
	in := func(r astiav.Rational) C.AVRational { return C.AVRational{C.int(r.Num()), C.int(r.Den())} }
	later := t.Before - int(C.av_rescale_q(C.int64_t(closest), in(unit), C.av_inv_q(in(rate))))
	return av.LaterTimecode(fmt.Sprintf("%02d:%02d:%02d%s%02d", t.Hours, t.Minutes, t.Seconds, separator, t.Pictures), rate, later)
}
