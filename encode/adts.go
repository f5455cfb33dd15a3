package encode

//#include <libavformat/avformat.h>
import "C"

import (
	"vidfilter/internal/av"
)

// adtsHeader is what the header of each packet of AAC says in a transport stream: profile, sample
// rate and channels. Other containers say it once for the track: the muxer drops the headers.
type adtsHeader [2]byte

// adtsOf reads a header: ISO/IEC 14496-3, 1.A.2.
func adtsOf(p *C.AVPacket) (a adtsHeader, ok bool) {
	const sync, least = 0xfff0, 7
	b := av.Slice((*byte)(p.data), int(p.size))
	if len(b) < least || (uint(b[0])<<8|uint(b[1]))&0xfff6 != sync {
		return a, false
	}
	return adtsHeader{b[2] &^ 2, b[3] & 0xc0}, true // without the private bit
}

// checkSound counts packets whose sound is another than at the start, if that cannot be said.
func (o *Output) checkSound(l *lane, p *C.AVPacket) {
	par := l.st.codecpar
	if par.codec_id != C.AV_CODEC_ID_AAC || o.opts.Format == "mpegts" {
		return
	}
	a, ok := adtsOf(p)
	switch {
	case !ok:
	case l.adts == adtsHeader{}:
		l.adts = a
	case a != l.adts:
		if o.otherSound++; o.otherSound == 1 {
			o.warn("the sound changes its sample rate or channels in mid-stream; %s players will play it as at the start; write .ts to keep both", o.opts.Format)
		}
	}
}
