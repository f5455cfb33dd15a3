package mux

//#include <stdlib.h>
//#include "glue.h"
//#include <libavcodec/avcodec.h>
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/audio"
	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/text"
)

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

// maxSubtitle, in bytes: MP4 counts in 16 bits, and FFmpeg's converters take quadratic time.
const maxSubtitle = 1<<16 - 1

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

// checkSound counts packets whose sound differs from the start, if the output cannot describe it.
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

// writeSound writes sound up to the latest picture, or all. It does not wait longer than patience.
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

// sound lays out samples for MXF, which has no times: from the first picture to the last, without
// gaps. FFmpeg's muxer drops pictures without sound.
type sound struct {
	rate, size int64 // samples a second; bytes of a sample of all channels
	held       []soundSpan
	done       int64 // samples written
	cut        int64 // samples that no picture is shown with, or others are heard at their time
}

type soundSpan struct {
	at   int64
	data []byte
}

func newSound(par *C.AVCodecParameters) *sound {
	bytes := int64(C.av_get_bits_per_sample(par.codec_id)) / 8
	return &sound{rate: int64(par.sample_rate), size: bytes * int64(par.ch_layout.nb_channels)}
}

func (s *sound) end() int64 {
	if n := len(s.held); n > 0 {
		return s.held[n-1].at + int64(len(s.held[n-1].data))/s.size
	}
	return s.done
}

// lay adds a copy of sound heard from a sample on. Small differences are rounded times.
func (s *sound) lay(at int64, data []byte) {
	end := s.end()
	if jitter := s.rate / 20; end > 0 && at-end <= jitter && end-at <= jitter {
		at = end
	}
	early := min(max(0, end-at), int64(len(data))/s.size)
	s.cut += early
	if data = data[early*s.size:]; len(data) > 0 {
		s.held = append(s.held, soundSpan{at + early, append([]byte(nil), data...)})
	}
}

// take returns the sound up to a sample, with silence in gaps.
func (s *sound) take(until int64) []byte {
	out := make([]byte, (until-s.done)*s.size)
	for len(s.held) > 0 && s.held[0].at < until {
		next := &s.held[0]
		n := copy(out[(next.at-s.done)*s.size:], next.data)
		next.at += int64(n) / s.size
		if next.data = next.data[n:]; len(next.data) > 0 {
			break
		}
		s.held = s.held[1:]
	}
	s.done = until
	return out
}

func (s *sound) rest() (n int64) {
	for _, h := range s.held {
		n += int64(len(h.data)) / s.size
	}
	return s.cut + n
}

// Packets that an edit list hides are marked to be decoded and dropped. Copied as they are, most
// would be heard or seen: MP4 hides again the part before 0, Matroska has a decoder delay for
// sound, and other formats cannot hide any.

const mostHeld = 64 << 20

// emptyText is the size of a pause in MP4's text.
const emptyText = 2

// visible returns the packets of a copied stream to write now. It takes p.
func (l *track) visible(p *astiav.Packet) (list []*astiav.Packet) {
	hidden, kind := p.Flags().Has(astiav.PacketFlagDiscard), l.st.codecpar.codec_type
	switch {
	case l.aud != nil: // its decoder drops them
		return []*astiav.Packet{p}
	case !hidden:
		list = l.needed(p)
		l.begun = true
		return append(list, p)
	case kind == C.AVMEDIA_TYPE_AUDIO && !l.begun, kind == C.AVMEDIA_TYPE_VIDEO:
		l.held = append(l.held, p)
		if l.size += p.Size(); l.size <= mostHeld {
			return nil
		}
		if kind == C.AVMEDIA_TYPE_VIDEO {
			return l.needed(p)
		}
		p = l.held[0]
		l.held = l.held[1:]
		l.size -= p.Size()
	case kind == C.AVMEDIA_TYPE_SUBTITLE && p.Size() > emptyText && !l.named:
		l.named = true
		l.Warn("texts of stream %d that begin before a later part of the input's edit list are left out", p.StreamIndex())
	}
	p.Free()
	return nil
}

// needed returns the hidden packets without which shown cannot be decoded, and frees the others.
func (l *track) needed(shown *astiav.Packet) []*astiav.Packet {
	list := l.held
	l.held, l.size = nil, 0
	if len(list) == 0 {
		return nil
	}
	if l.st.codecpar.codec_type == C.AVMEDIA_TYPE_VIDEO {
		if (l.begun || !l.MP4() || shown.Pts() > 0) && !l.named {
			l.named = true
			l.Warn("%s shows pictures of stream %d that an edit list of the input hides: others are decoded from them", l.Format, shown.StreamIndex())
		}
		return list
	}
	var times []int64
	for _, p := range list {
		times = append(times, p.Pts())
	}
	drop := len(list) - l.preroll(times, shown.Pts())
	for _, p := range list[:drop] {
		p.Free()
	}
	return list[drop:]
}

// preroll returns how many hidden packets at the beginning of a stream of sound are written: a few
// are an encoder's priming. Of more, those remain that the first sound needs, if the format hides
// them.
func (l *track) preroll(times []int64, shown int64) int {
	const few = 2
	brief := int64(C.av_rescale_q(80, C.AVRational{1, 1000}, l.from)) // the most of Opus
	id := l.st.codecpar.codec_id
	d := C.avcodec_descriptor_get(id)
	switch {
	case isPCM(id), d != nil && d.props&C.AV_CODEC_PROP_LOSSLESS != 0 && d.props&C.AV_CODEC_PROP_LOSSY == 0:
		return 0 // no packet needs another
	case len(times) <= few || shown-times[0] <= brief:
		return len(times)
	case shown > 0 || l.Form.Family != formats.ISO && l.Form.Family != formats.Matroska:
		return 0
	case id == C.AV_CODEC_ID_OPUS:
		at := slices.IndexFunc(times, func(t int64) bool { return t >= shown-brief })
		return len(times) - max(at, 0)
	}
	return 1
}

// firstVisible returns the time of the first visible packet, by the index of the input.
func (l *track) firstVisible(s *astiav.Stream) (t int64, ok bool) {
	var times []int64
	for i := 0; ; i++ {
		e, more := av.IndexEntry(av.StreamPtr(s), i)
		switch {
		case !more:
			return 0, false
		case !e.Hidden && l.aud != nil: // its decoder drops the hidden part
			return max(e.Time, 0), true
		case !e.Hidden && l.st.codecpar.codec_type == C.AVMEDIA_TYPE_AUDIO:
			times = append(times, e.Time)
			return times[len(times)-1-l.preroll(times[:len(times)-1], e.Time)], true
		case !e.Hidden:
			return e.Time, true
		}
		times = append(times, e.Time)
	}
}

// skipped returns how many samples at the beginning of a packet are hidden, or more than it has.
func skipped(p *astiav.Packet) int64 {
	data := C.av_packet_get_side_data((*C.AVPacket)(av.PacketPtr(p)), C.AV_PKT_DATA_SKIP_SAMPLES, nil)
	if data == nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(unsafe.Slice((*byte)(unsafe.Pointer(data)), 4)))
}
