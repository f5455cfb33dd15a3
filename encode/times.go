package encode

//#include "glue.h"
import "C"

import (
	"math"

	"vidfilter/encode/formats"
)

// carryTo writes a packet whose times are in the given unit.
func (m *muxer) carryTo(l *lane, p *C.AVPacket, from C.AVRational) error {
	if m.form.Family == formats.Broadcast {
		return m.laySound(l, p, from)
	}
	p.stream_index = l.st.index
	p.pos = -1
	C.av_packet_rescale_ts(p, from, l.st.time_base)
	if p.dts == C.AV_NOPTS_VALUE {
		p.dts = p.pts
	}
	if p.duration < 0 || p.duration > math.MaxInt32 {
		p.duration = 0 // a subtitle without an end; muxers reject a number for that
	}
	if m.mp4() && p.duration == 0 && l.st.codecpar.codec_type == C.AVMEDIA_TYPE_SUBTITLE {
		// In MP4 the next subtitle ends it. The last one would not be shown at all, so it gets a
		// few seconds.
		p.duration = C.av_rescale_q(3, C.AVRational{1, 1}, l.st.time_base)
	}
	if p.dts != C.AV_NOPTS_VALUE {
		if int64(p.dts) < l.last && p.flags&C.AV_PKT_FLAG_DISCARD == 0 { // FFmpeg makes up the times of hidden ones
			m.fixed++
		}
		if int64(p.dts) <= l.last && !(m.oc.oformat.flags&C.AVFMT_TS_NONSTRICT != 0 && int64(p.dts) == l.last) {
			p.dts = C.int64_t(l.last + 1)
		}
		if p.pts != C.AV_NOPTS_VALUE && p.pts < p.dts {
			p.pts = p.dts
		}
		l.last = int64(p.dts)
	}
	return m.write(p)
}
