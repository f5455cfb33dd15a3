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
	"vidfilter/encode/target"
	"vidfilter/internal/av"
)

// pictures writes the packets of the video.
type pictures struct {
	*streams
	shift    int64          // subtracted from the times, in their unit
	begin    int64          // earliest time of a packet, in the stream's unit
	end      int64          // latest time; in MP4, which stores the last frame's duration, its end
	latest   *astiav.Packet // in MP4, MXF and Y4M: see hold and keepPace
	decoded  int64          // DTS of the first
	repeated int64          // pictures written again: see keepPace
	skipped  int64          // pictures that came too early for the rate: see keepPace
}

// writeVideo writes the packet of a picture, which it borrows.
func (m *pictures) writeVideo(pkt *astiav.Packet) error {
	p := (*C.AVPacket)(av.PacketPtr(pkt))
	p.stream_index = m.video.index
	if err := m.insertExif(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if m.Form.OneRate {
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

func (m *pictures) insertExif(p *C.AVPacket) error {
	const start = 2
	if len(m.exif) == 0 || p.size < start {
		return nil
	}
	data := av.Slice((*byte)(p.data), int(p.size))
	return av.SetData(unsafe.Pointer(p), slices.Concat(data[:start], m.exif, data[start:]))
}

// hold keeps a packet until the next one: in MP4 the last one lasts until the end of the video.
func (m *pictures) hold(pkt *astiav.Packet) error {
	if m.written == 1 {
		m.decoded = pkt.Dts()
	} else if err := m.writeLatest(); err != nil {
		return err
	}
	return m.keep(pkt)
}

func (m *pictures) keep(pkt *astiav.Packet) error {
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

func (m *pictures) finish() error {
	if m.Form.OneRate {
		return m.finishPace()
	}
	return m.writeLast()
}

// keepPace repeats the picture before one that is late. It leaves out one that is early, or refuses
// it where sound belongs to each picture.
func (m *pictures) keepPace(pkt *astiav.Packet) error {
	at := m.place(pkt.Pts())
	if m.latest != nil {
		switch early := m.written-at > 1; {
		case early && m.Form.Family == formats.Broadcast:
			return m.offRate(at)
		case early:
			m.skipped++
			return nil
		}
		if err := m.repeatPicture(at); err != nil {
			return err
		}
		m.latest.Free()
	}
	if err := m.keep(pkt); err != nil {
		return err
	}
	return m.writeStep(m.latest)
}

func (m *pictures) repeatPicture(until int64) error {
	if m.pauseTooLong(until) {
		return m.offRate(until)
	}
	for m.written < until {
		if err := m.writeStep(m.latest); err != nil {
			return err
		}
		m.repeated++
	}
	return nil
}

func (m *pictures) place(pts int64) int64 {
	return int64(C.av_rescale_q(C.int64_t(pts-m.first), fraction(m.Unit), m.video.time_base))
}

func (m *pictures) offRate(at int64) error {
	rate := C.av_inv_q(m.video.time_base)
	return target.Refusal("write .mov or .mkv, which keep the time of each", "%s holds pictures at a constant rate, %.6g a second, and picture %d of the input belongs where %d is",
		m.Format, float64(rate.num)/float64(rate.den), m.Frames, at+1)
}

// pauseTooLong reports whether the time until a picture is due is no pause, but a fault.
func (m *pictures) pauseTooLong(until int64) bool {
	const longest = 3600 // seconds
	rate := C.av_inv_q(m.video.time_base)
	return (until-m.written)*int64(rate.den) > longest*int64(rate.num)
}

// writeStep writes a picture, which it borrows, and the sound that goes with it.
func (m *pictures) writeStep(picture *astiav.Packet) error {
	p := picture.Clone()
	if p == nil {
		return errors.New("encode: out of memory")
	}
	defer p.Free()
	p.SetPts(m.written)
	p.SetDts(m.written)
	p.SetDuration(1)
	m.begin, m.end = 0, m.written
	m.written++
	if err := m.write((*C.AVPacket)(av.PacketPtr(p))); err != nil {
		return err
	}
	for _, l := range m.tracks {
		if err := l.writeSound(false); err != nil {
			return err
		}
	}
	return nil
}

func (m *pictures) finishPace() error {
	if m.latest != nil {
		if err := m.repeatPicture(m.place(m.latest.Pts() + m.latest.Duration())); err != nil {
			return err
		}
	}
	switch {
	case m.repeated+m.skipped == 0:
	case m.Form.Family == formats.Broadcast:
		m.Warn("%s holds pictures at a constant rate: some are repeated, %d in all", m.Format, m.repeated)
	default:
		m.Warn("%s has a rate and no times: %d pictures are repeated, %d left out; --format nut keeps the time of each",
			m.Format, m.repeated, m.skipped)
	}
	return m.finishSound()
}

// Order gives packets their decode times, as x264 sets them in a single run. The first few lie
// before the first frame is shown, as many as reordering needs. Each later packet is decoded when
// the frame that many places before it is shown, which is never later than its own time.
type Order struct {
	started, led bool
	first        int64
	times        []int64 // sorted: of packets so far, less those used as decode times
}

// Next returns the decode time of a packet whose times a coder gave.
func (o *Order) Next(pts, dts int64) int64 {
	if !o.started {
		o.started, o.first = true, pts
	}
	at, _ := slices.BinarySearch(o.times, pts)
	o.times = slices.Insert(o.times, at, pts)
	if o.led = o.led || dts >= o.first; !o.led {
		return dts
	}
	first := o.times[0]
	o.times = o.times[1:]
	return first
}
