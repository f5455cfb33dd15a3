package decode

//#include <libavutil/timecode.h>
//#include "glue.h"
import "C"

import (
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
	flags := C.int(0)
	if t.Drop {
		flags = C.AV_TIMECODE_FLAG_DROPFRAME
	}
	var clock C.AVTimecode
	perSecond := C.AVRational{C.int(rate.Num()), C.int(rate.Den())}
	if C.av_timecode_init_from_components(&clock, perSecond, flags, C.int(t.Hours), C.int(t.Minutes), C.int(t.Seconds), C.int(t.Pictures), nil) < 0 {
		return ""
	}
	unitOf := C.AVRational{C.int(unit.Num()), C.int(unit.Den())}
	later := C.int(t.Before) - C.int(C.av_rescale_q(C.int64_t(closest), unitOf, C.av_inv_q(perSecond)))
	if t.Pictures >= int(clock.fps) || clock.start+later < 0 {
		return ""
	}
	var text [C.AV_TIMECODE_STR_SIZE]C.char
	return C.GoString(C.av_timecode_make_string(&clock, &text[0], later))
}
