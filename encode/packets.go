package encode

//#include "glue.h"
import "C"

import (
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/text"
)

// writeVideo writes the packet of a picture, which it borrows.
func (m *muxer) writeVideo(pkt *astiav.Packet) error {
	p := (*C.AVPacket)(av.PacketPtr(pkt))
	p.stream_index = m.video.index
	if err := m.insertExif(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	switch {
	case m.form.Family == formats.Broadcast:
		return m.step(pkt)
	case m.form.OneRate:
		return m.keepPace(pkt)
	}
	p.pts -= C.int64_t(m.shift)
	p.dts -= C.int64_t(m.shift)
	C.av_packet_rescale_ts(p, m.unit, m.video.time_base)
	if p.dts > p.pts {
		return fmt.Errorf("encode: picture %d would be decoded at %d, after it is shown at %d: a fault of vidfilter; please report it", m.written+1, p.dts, p.pts)
	}
	m.written++
	end := p.pts
	if m.mp4() {
		end += p.duration
	}
	m.begin, m.end = min(m.begin, int64(p.pts)), max(m.end, int64(end))
	if m.mp4() {
		return m.hold(pkt)
	}
	return m.write(p)
}

// carry takes p, a packet of a stream that is written.
func (m *muxer) carry(own *astiav.Packet) error {
	defer own.Free()
	l := m.lanes[own.StreamIndex()]
	p := (*C.AVPacket)(av.PacketPtr(own))
	if l.aud != nil {
		return m.pushAudio(l, own)
	}
	if l.subs != nil {
		if p.size > maxSubtitle {
			m.subsLost++
			m.warn("a subtitle of %s is left out: those up to %s are converted", text.Size(int64(p.size)), text.Size(maxSubtitle))
			return nil
		}
		if n := C.vf_subs_convert(l.subs, p); n <= 0 {
			if n < 0 {
				m.subsLost++
				m.warn("a subtitle could not be converted: %v", av.Error(int(n)))
			}
			return nil
		}
	}
	m.checkSound(l, p)
	if l.st.codecpar.codec_id == C.AV_CODEC_ID_WEBVTT {
		if err := av.Error(int(C.vf_cue_settings(p))); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	return m.carryTo(l, p, l.from)
}

// maxSubtitle is the largest subtitle, in bytes, that is converted: MP4 counts them in 16 bits, and
// FFmpeg's converters take time by the square of the length.
const maxSubtitle = 1<<16 - 1

// openWith opens the file and writes its header and the packets that wait for it. first is the
// time of the first frame.
func (m *muxer) openWith(first int64) error {
	m.first = first
	if err := m.openFile(); err != nil {
		return err
	}
	waiting := m.early
	m.early = nil
	for _, p := range waiting {
		if l := m.lanes[p.StreamIndex()]; l != nil {
			m.early = append(m.early, m.visible(l, p)...)
		} else {
			p.Free()
		}
	}
	if err := m.writeHeader(first); err != nil {
		return err
	}
	m.header = true
	early := m.early
	m.early = nil
	for i, p := range early {
		if err := m.carry(p); err != nil {
			m.early = early[i+1:] // Close frees the others
			return err
		}
	}
	return nil
}
