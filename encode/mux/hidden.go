package mux

//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
)

// Packets that an edit list hides are marked to be decoded and dropped. Copied as they are, most
// would be heard or seen: MP4 hides again what comes before 0, Matroska has a decoder delay for
// sound, and others hide nothing.

// mostHeld bounds the bytes of hidden packets that wait for one that is not.
const mostHeld = 64 << 20

// emptyText is the size of a pause in MP4's text.
const emptyText = 2

// visible returns the packets of a copied stream to write now, of which p, which it takes, is the
// last, if it is not hidden.
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

// preroll returns how many of the hidden packets at the beginning of a stream of sound are written.
// A few are priming, which every encoder puts there. Of more, which were cut off, those remain that
// a decoder needs to give the first sound whole, if the format hides them.
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

// firstVisible returns the time of the first packet of a stream, in its own unit, as far as the
// index of the input tells.
func (l *track) firstVisible(s *astiav.Stream) (t int64, ok bool) {
	var times []int64
	for i := 0; ; i++ {
		e, more := av.IndexEntry(av.StreamPtr(s), i)
		switch {
		case !more:
			return 0, false
		case !e.Hidden && l.aud != nil: // its decoder drops what is hidden of it
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
