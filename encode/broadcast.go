package encode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/target"
	"vidfilter/internal/av"
)

// sound lays the samples of a stream out for MXF, which has no times: they begin with the first
// picture, follow one another and end with the last. FFmpeg's muxer drops pictures for which there
// is no sound.
type sound struct {
	rate, size int64 // samples a second; bytes of a sample of all channels
	held       []stretch
	done       int64 // samples written
	cut        int64 // samples that no picture is shown with, or others are heard at their time
}

// stretch is sound from a sample on.
type stretch struct {
	at   int64
	data []byte
}

func newSound(par *C.AVCodecParameters) *sound {
	bytes := int64(C.av_get_bits_per_sample(par.codec_id)) / 8
	return &sound{rate: int64(par.sample_rate), size: bytes * int64(par.ch_layout.nb_channels)}
}

// end is the sample behind the last one that is known.
func (s *sound) end() int64 {
	if n := len(s.held); n > 0 {
		return s.held[n-1].at + int64(len(s.held[n-1].data))/s.size
	}
	return s.done
}

// lay adds a copy of sound that is heard from the given sample on. Times that are off by little are
// rounded ones.
func (s *sound) lay(at int64, data []byte) {
	end := s.end()
	if jitter := s.rate / 20; end > 0 && at-end <= jitter && end-at <= jitter {
		at = end
	}
	early := min(max(0, end-at), int64(len(data))/s.size)
	s.cut += early
	if data = data[early*s.size:]; len(data) > 0 {
		s.held = append(s.held, stretch{at + early, append([]byte(nil), data...)})
	}
}

// take returns the sound up to a sample, with silence where there is none.
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

// rest counts the samples that will not be written.
func (s *sound) rest() (n int64) {
	for _, h := range s.held {
		n += int64(len(h.data)) / s.size
	}
	return s.cut + n
}

// laySound takes a packet for MXF.
func (m *muxer) laySound(l *lane, p *C.AVPacket, from C.AVRational) error {
	if l.sound == nil {
		l.sound = newSound(l.st.codecpar)
	}
	unit := C.AVRational{1, C.int(l.sound.rate)}
	at := l.sound.end()
	if p.pts != C.AV_NOPTS_VALUE {
		at = int64(C.av_rescale_q(p.pts, from, unit) - C.av_rescale_q(C.int64_t(m.first), m.unit, unit))
	}
	l.sound.lay(at, unsafe.Slice((*byte)(p.data), int(p.size)))
	return m.writeSound(l, false)
}

// writeSound writes the sound of the pictures that are written, as far as it has come, or all. Some
// seconds behind the pictures there is none to wait for.
func (m *muxer) writeSound(l *lane, all bool) error {
	const patience = 10 // seconds
	if l.sound == nil {
		l.sound = newSound(l.st.codecpar)
	}
	s := l.sound
	until := int64(C.av_rescale_q(C.int64_t(m.written), m.video.time_base, C.AVRational{1, C.int(s.rate)}))
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
	return m.write(p)
}

// finishSound writes the sound that is left, and names what it cuts off.
func (m *muxer) finishSound() error {
	const padding = 10 // parts of a second that codecs add
	var names []string
	for i, l := range m.lanes {
		if err := m.writeSound(l, true); err != nil {
			return err
		}
		if n := l.sound.rest(); n > l.sound.rate/padding {
			names = append(names, fmt.Sprintf("%.1f s of stream %d", float64(n)/float64(l.sound.rate), i))
		}
	}
	if len(names) > 0 {
		m.warn("sound is cut off: %s begins and ends with the pictures, %s do not", m.opts.Format, strings.Join(names, ", "))
	}
	return nil
}

// step writes the latest picture as often as it takes until the one in pkt is due, which it
// keeps: MXF has a constant rate and no times.
func (m *muxer) step(pkt *astiav.Packet) error {
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

// place returns the number of the picture that is shown at a time.
func (m *muxer) place(pts int64) int64 {
	return int64(C.av_rescale_q(C.int64_t(pts-m.first), m.unit, m.video.time_base))
}

func (m *muxer) offRate(at int64) error {
	rate := C.av_inv_q(m.video.time_base)
	return target.Refusal("write .mov or .mkv, which keep the time of each", "%s holds pictures at a constant rate, %.6g a second, and picture %d of the input belongs where %d is",
		m.opts.Format, float64(rate.num)/float64(rate.den), m.frames, at+1)
}

// pauseTooLong reports whether the time until a picture is due is no pause, but a fault.
func (m *muxer) pauseTooLong(until int64) bool {
	const longest = 3600 // seconds
	rate := C.av_inv_q(m.video.time_base)
	return (until-m.written)*int64(rate.den) > longest*int64(rate.num)
}

// repeatLatest writes the latest picture once, and again until the given one is next.
func (m *muxer) repeatLatest(until int64) error {
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

// writeStep writes a picture, which it borrows, and the sound that goes with it.
func (m *muxer) writeStep(picture *astiav.Packet) error {
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
	for _, l := range m.lanes {
		if err := m.writeSound(l, false); err != nil {
			return err
		}
	}
	return nil
}

// finishBroadcast writes the rest, and names its changes.
func (m *muxer) finishBroadcast() error {
	if m.latest != nil {
		if err := m.repeatLatest(m.place(m.latest.Pts() + m.latest.Duration())); err != nil {
			return err
		}
	}
	if m.repeated > 0 {
		m.warn("%s holds pictures at a constant rate: some are repeated, %d in all", m.opts.Format, m.repeated)
	}
	return m.finishSound()
}
