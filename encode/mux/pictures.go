package mux

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
)

// pictures writes the packets of the video. The times of a format with a constant rate are numbers
// of pictures.
type pictures struct {
	*streams
	shift    int64          // subtracted from the times, in their unit
	begin    int64          // earliest time of a packet, in the stream's unit
	end      int64          // latest time; in MP4, which stores the last frame's duration, its end
	latest   *astiav.Packet // in MP4, MXF and Y4M: see hold, step and keepPace
	decoded  int64          // DTS of the first
	repeated int64          // pictures written again: see step and keepPace
	skipped  int64          // pictures that came too early for the rate: see keepPace
}

// writeVideo writes the packet of a picture, which it borrows.
func (m *pictures) writeVideo(pkt *astiav.Packet) error {
	p := (*C.AVPacket)(av.PacketPtr(pkt))
	p.stream_index = m.video.index
	if err := m.insertExif(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	switch {
	case m.Form.Family == formats.Broadcast:
		return m.step(pkt)
	case m.Form.OneRate:
		return m.keepPace(pkt)
	}
	p.pts -= C.int64_t(m.shift)
	p.dts -= C.int64_t(m.shift)
	C.av_packet_rescale_ts(p, fraction(m.Unit), m.video.time_base)
	if p.dts > p.pts {
		return fmt.Errorf("encode: picture %d would be decoded at %d, after it is shown at %d: a fault of vidfilter; please report it", m.written+1, p.dts, p.pts)
	}
	m.written++
	end := p.pts
	if m.MP4() {
		end += p.duration
	}
	m.begin, m.end = min(m.begin, int64(p.pts)), max(m.end, int64(end))
	if m.MP4() {
		return m.hold(pkt)
	}
	return m.write(p)
}

// insertExif puts the segment after the start of the JPEG in p.
func (m *pictures) insertExif(p *C.AVPacket) error {
	const start = 2
	if len(m.exif) == 0 || p.size < start {
		return nil
	}
	data := av.Slice((*byte)(p.data), int(p.size))
	return av.SetData(unsafe.Pointer(p), slices.Concat(data[:start], m.exif, data[start:]))
}

// hold keeps a packet until the next one comes. MP4 counts from one decode time to the
// next, so the packet decoded last must last until the end of the video, not as long as its own
// picture is shown.
func (m *pictures) hold(pkt *astiav.Packet) error {
	if m.written == 1 {
		m.decoded = pkt.Dts()
	} else if err := m.writeLatest(); err != nil {
		return err
	}
	if m.latest = pkt.Clone(); m.latest == nil {
		return errors.New("encode: out of memory")
	}
	return nil
}

func (m *pictures) writeLatest() error {
	p := m.latest
	m.latest = nil
	defer p.Free()
	return m.write((*C.AVPacket)(av.PacketPtr(p)))
}

func (m *pictures) writeLast() error {
	if m.latest == nil {
		return nil
	}
	rest := m.end - m.begin - (m.latest.Dts() - m.decoded)
	m.latest.SetDuration(max(m.latest.Duration(), rest)) // or its picture is also shown last
	return m.writeLatest()
}

// finish writes what is kept back, and names the changes.
func (m *pictures) finish() error {
	switch {
	case m.Form.Family == formats.Broadcast:
		return m.finishBroadcast()
	case m.Form.OneRate:
		return m.finishPace()
	}
	return m.writeLast()
}
