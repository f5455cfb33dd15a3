package mux

//#include "glue.h"
import "C"

import (
	"errors"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/target"
	"vidfilter/internal/av"
)

// step writes the latest picture as often as it takes until the one in pkt is due, which it
// keeps: MXF has a constant rate and no times.
func (m *pictures) step(pkt *astiav.Packet) error {
	at := m.place(pkt.Pts())
	if m.latest != nil {
		if m.written+1-at > 1 {
			return m.offRate(at)
		}
		if err := m.repeatLatest(at); err != nil {
			return err
		}
	}
	if m.latest = pkt.Clone(); m.latest == nil {
		return errors.New("encode: out of memory")
	}
	return nil
}

// repeatLatest writes the latest picture once, and again until the given one is next.
func (m *pictures) repeatLatest(until int64) error {
	p := m.latest
	m.latest = nil
	defer p.Free()
	if m.pauseTooLong(until) {
		return m.offRate(until)
	}
	m.repeated += max(0, until-m.written-1)
	for range max(1, until-m.written) {
		if err := m.writeStep(p); err != nil {
			return err
		}
	}
	return nil
}

// keepPace writes the picture in pkt, after the one before again if this one is late. It leaves
// out a picture that is early by more than its place.
func (m *pictures) keepPace(pkt *astiav.Packet) error {
	at := m.place(pkt.Pts())
	if m.latest != nil {
		if m.written-at > 1 {
			m.skipped++
			return nil
		}
		if err := m.repeatPicture(at); err != nil {
			return err
		}
		m.latest.Free()
	}
	if m.latest = pkt.Clone(); m.latest == nil {
		return errors.New("encode: out of memory")
	}
	return m.writeStep(m.latest)
}

// repeatPicture writes the latest picture again until the given one is next.
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

// place returns the number of the picture that is shown at a time.
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

// finishBroadcast writes the rest, and names its changes.
func (m *pictures) finishBroadcast() error {
	if m.latest != nil {
		if err := m.repeatLatest(m.place(m.latest.Pts() + m.latest.Duration())); err != nil {
			return err
		}
	}
	if m.repeated > 0 {
		m.Warn("%s holds pictures at a constant rate: some are repeated, %d in all", m.Format, m.repeated)
	}
	return m.finishSound()
}

// finishPace shows the latest picture to its end, and names the changes.
func (m *pictures) finishPace() error {
	if m.latest != nil {
		if err := m.repeatPicture(m.place(m.latest.Pts() + m.latest.Duration())); err != nil {
			return err
		}
	}
	if m.repeated+m.skipped > 0 {
		m.Warn("%s has a rate and no times: %d pictures are repeated, %d left out; --format nut keeps the time of each",
			m.Format, m.repeated, m.skipped)
	}
	return nil
}
