package mux

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/audio"
	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/text"
)

// track is a stream that is copied or converted.
type track struct {
	*file
	st    *C.AVStream
	from  C.AVRational
	last  int64 // dts
	subs  *C.vf_subs
	aud   *audio.Converter
	sound *sound           // in MXF
	adts  adtsHeader       // of AAC that is copied
	held  []*astiav.Packet // hidden by an edit list: see visible
	size  int              // of those, in bytes
	begun bool             // a packet that is not hidden has come
	named bool             // that they are shown, or left out
}

func (l *track) close() {
	for _, p := range l.held {
		p.Free()
	}
	l.held = nil
	if l.subs != nil {
		C.vf_subs_close(l.subs)
		C.free(unsafe.Pointer(l.subs))
		l.subs = nil
	}
	if l.aud != nil {
		l.aud.Close()
		l.aud = nil
	}
}

// carry writes a packet, which it takes.
func (l *track) carry(own *astiav.Packet) error {
	defer own.Free()
	p := (*C.AVPacket)(av.PacketPtr(own))
	if l.aud != nil {
		return l.pushAudio(own)
	}
	if l.subs != nil {
		if p.size > maxSubtitle {
			l.subsLost++
			l.Warn("a subtitle of %s is left out: those up to %s are converted", text.Size(int64(p.size)), text.Size(maxSubtitle))
			return nil
		}
		if n := C.vf_subs_convert(l.subs, p); n <= 0 {
			if n < 0 {
				l.subsLost++
				l.Warn("a subtitle could not be converted: %v", av.Error(int(n)))
			}
			return nil
		}
	}
	l.checkSound(p)
	if l.st.codecpar.codec_id == C.AV_CODEC_ID_WEBVTT {
		if err := av.Error(int(C.vf_cue_settings(p))); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	return l.carryTo(p, l.from)
}

// maxSubtitle is the largest subtitle, in bytes, that is converted: MP4 counts them in 16 bits, and
// FFmpeg's converters take time by the square of the length.
const maxSubtitle = 1<<16 - 1

// carryTo writes a packet whose times are in the given unit.
func (l *track) carryTo(p *C.AVPacket, from C.AVRational) error {
	if l.Form.Family == formats.Broadcast {
		return l.laySound(p, from)
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
	if l.MP4() && p.duration == 0 && l.st.codecpar.codec_type == C.AVMEDIA_TYPE_SUBTITLE {
		// In MP4 the next subtitle ends it. The last one would not be shown at all, so it gets a
		// few seconds.
		p.duration = C.av_rescale_q(3, C.AVRational{1, 1}, l.st.time_base)
	}
	if p.dts != C.AV_NOPTS_VALUE {
		if int64(p.dts) < l.last && p.flags&C.AV_PKT_FLAG_DISCARD == 0 { // FFmpeg makes up the times of hidden ones
			l.fixed++
		}
		if int64(p.dts) <= l.last && !(l.oc.oformat.flags&C.AVFMT_TS_NONSTRICT != 0 && int64(p.dts) == l.last) {
			p.dts = C.int64_t(l.last + 1)
		}
		if p.pts != C.AV_NOPTS_VALUE && p.pts < p.dts {
			p.pts = p.dts
		}
		l.last = int64(p.dts)
	}
	return l.write(p)
}

// pushAudio converts a packet, nil for the end, and writes the packets that are ready.
func (l *track) pushAudio(p *astiav.Packet) error {
	return l.aud.Push(p, func(out *astiav.Packet) error {
		return l.carryTo((*C.AVPacket)(av.PacketPtr(out)), rational(l.aud.Unit()))
	})
}

// checkSound counts packets whose sound differs from that at the start, if the output cannot
// describe it.
func (l *track) checkSound(p *C.AVPacket) {
	par := l.st.codecpar
	if par.codec_id != C.AV_CODEC_ID_AAC || l.Format == "mpegts" {
		return
	}
	a, _, _, ok := readADTS(av.Slice((*byte)(p.data), int(p.size)))
	switch {
	case !ok:
	case l.adts == adtsHeader{}:
		l.adts = a
	case a != l.adts:
		if l.otherSound++; l.otherSound == 1 {
			l.Warn("the sound changes its sample rate or channels in mid-stream; %s players will play it as at the start; write .ts to keep both", l.Format)
		}
	}
}

// laySound takes a packet for MXF.
func (l *track) laySound(p *C.AVPacket, from C.AVRational) error {
	if l.sound == nil {
		l.sound = newSound(l.st.codecpar)
	}
	unit := C.AVRational{1, C.int(l.sound.rate)}
	at := l.sound.end()
	if p.pts != C.AV_NOPTS_VALUE {
		at = int64(C.av_rescale_q(p.pts, from, unit) - C.av_rescale_q(C.int64_t(l.first), fraction(l.Unit), unit))
	}
	l.sound.lay(at, unsafe.Slice((*byte)(p.data), int(p.size)))
	return l.writeSound(false)
}

// writeSound writes the sound of the pictures that are written, as far as it has come, or all. Some
// seconds behind the pictures there is none to wait for.
func (l *track) writeSound(all bool) error {
	const patience = 10 // seconds
	if l.sound == nil {
		l.sound = newSound(l.st.codecpar)
	}
	s := l.sound
	until := int64(C.av_rescale_q(C.int64_t(l.written), l.video.time_base, C.AVRational{1, C.int(s.rate)}))
	if !all {
		until = max(min(until, s.end()), until-patience*s.rate)
	}
	if until <= s.done {
		return nil
	}
	p := C.av_packet_alloc()
	if p == nil {
		return errors.New("encode: out of memory")
	}
	defer C.av_packet_free(&p)
	at := s.done
	data := s.take(until)
	if err := av.Error(int(C.av_new_packet(p, C.int(len(data))))); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	copy(unsafe.Slice((*byte)(p.data), len(data)), data)
	p.stream_index, p.pts, p.dts, p.duration = l.st.index, C.int64_t(at), C.int64_t(at), C.int64_t(until-at)
	return l.write(p)
}
