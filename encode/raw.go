package encode

//#include "glue.h"
import "C"

import (
	"errors"

	"github.com/asticode/go-astiav"
)

// setRaw has a pipe get each picture at once.
func (m *muxer) setRaw(**C.AVDictionary, int64) error {
	if !m.seekable() {
		m.oc.flags |= C.AVFMT_FLAG_FLUSH_PACKETS
	}
	return nil
}

// setPace sets the rate of pictures without times, which the muxer takes from the unit of times.
func (m *muxer) setPace(st *C.AVStream) {
	rate := st.avg_frame_rate
	if rate.num <= 0 || rate.den <= 0 {
		rate = C.AVRational{25, 1}
		m.warn("the rate of the input is not known: %s says 25 pictures a second", m.opts.Format)
	}
	st.avg_frame_rate, st.time_base = rate, C.av_inv_q(rate)
}

// keepPace writes the picture in pkt, after the one before again if this one is late. It leaves
// out a picture that is early by more than its place.
func (m *muxer) keepPace(pkt *astiav.Packet) error {
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
func (m *muxer) repeatPicture(until int64) error {
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

// finishPace shows the latest picture to its end, and names the changes.
func (m *muxer) finishPace() error {
	if m.latest != nil {
		if err := m.repeatPicture(m.place(m.latest.Pts() + m.latest.Duration())); err != nil {
			return err
		}
	}
	if m.repeated+m.skipped > 0 {
		m.warn("%s has a rate and no times: %d pictures are repeated, %d left out; --format nut keeps the time of each",
			m.opts.Format, m.repeated, m.skipped)
	}
	return nil
}
