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

// groups holds the timecodes of MPEG-1 and MPEG-2 until there is a frame: by the time of the first
// picture of the group, or by the number of its packet if that has no time, as in program streams.
type groups struct {
	at      map[int64]units.GroupTime
	untimed map[uintptr]units.GroupTime
}

// note reads a packet that is decoded next.
func (g *groups) note(p *C.AVPacket, codec C.enum_AVCodecID) {
	if codec != C.AV_CODEC_ID_MPEG1VIDEO && codec != C.AV_CODEC_ID_MPEG2VIDEO {
		return
	}
	t, ok := units.GroupTimeOf(av.Slice((*byte)(p.data), int(p.size)))
	switch {
	case !ok:
	case p.pts != C.AV_NOPTS_VALUE:
		setIn(&g.at, int64(p.pts), t)
	default:
		setIn(&g.untimed, uintptr(p.opaque), t)
	}
}

// decoded gives the group that a picture begins the picture's time.
func (g *groups) decoded(c *C.AVFrame, pts int64) {
	if t, ok := g.untimed[uintptr(C.vf_number_of(c))]; ok && pts != av.NoPTS {
		setIn(&g.at, pts, t)
	}
}

// timecode returns the timecode of the picture at a time in FFmpeg's form, by the group that begins
// closest to it; "" for clocks that begin at 0.
func (g groups) timecode(pts int64, unit, rate astiav.Rational) string {
	closest := int64(math.MaxInt64)
	for at := range g.at {
		if d := at - pts; max(d, -d) < max(closest, -closest) {
			closest = d
		}
	}
	t, ok := g.at[pts+closest]
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
