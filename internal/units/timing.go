package units

import (
	"bytes"
	"errors"
)

// seiTiming is the type of pic_timing.
const seiTiming = 1

// clocksOf is the number of clocks by pic_struct (ISO 14496-10, table D-1).
var clocksOf = [16]int{1, 1, 1, 2, 2, 3, 3, 2, 3}

// clocks returns the clocks of H.264's pic_timing as HEVC's time_code, or nil. They differ in the
// length of n_frames and of time_offset.
func (p *sps) clocks(timing []byte) []byte {
	r, w := p.structureOf(timing), writer{}
	n := clocksOf[r.bits(4)]
	given := false
	w.bits(uint32(n), 2)
	for range n {
		flag := r.bits(1)
		w.bits(flag, 1)
		if flag == 0 {
			continue
		}
		given = true
		r.bits(2) // ct_type
		w.bits(r.bits(1), 1)
		clock(r, &w, 8, 9)
		length, offset := p.offset, r.bits(p.offset)
		if offset == 0 {
			length = 0
		}
		w.bits(uint32(length), 5)
		w.bits(offset, length)
	}
	if r.short || !given {
		return nil
	}
	return w.end()
}

// structureOf returns a reader of pic_timing from pic_struct on.
func (p *sps) structureOf(timing []byte) *reader {
	r := &reader{b: timing}
	if p.delays {
		r.at = p.removal + p.output
	}
	return r
}

// timed returns pic_timing with the clocks of a time_code, as many as its pic_struct has.
func (p *sps) timed(timing, code []byte) []byte {
	old, w := p.structureOf(timing), writer{}
	w.copy(timing, 0, old.at)
	structure := old.bits(4)
	w.bits(structure, 4)
	r := &reader{b: code}
	given := int(r.bits(2))
	for i := range clocksOf[structure] {
		if i >= given || r.bits(1) == 0 {
			w.bits(0, 1)
			continue
		}
		w.bits(1, 1)
		w.bits(unknownScan, 2)
		w.bits(r.bits(1), 1)
		clock(r, &w, 9, 8)
		length := int(r.bits(5))
		offset := r.bits(length)
		if length != p.offset {
			offset = 0
		}
		w.bits(offset, p.offset)
	}
	return w.end()
}

// unknownScan is a ct_type.
const unknownScan = 2

var errNoTiming = errors.New("the H.264 encoder writes no pic_timing for timecodes")

// progressive returns pic_timing of a picture without fields, without clocks.
func (p *sps) progressive(timing []byte) []byte {
	old, w := p.structureOf(timing), writer{}
	w.copy(timing, 0, old.at)
	w.bits(0, 4)
	w.bits(0, clocksOf[0])
	return w.end()
}

// time puts a time_code into the pic_timing of an access unit.
func (s Stream) time(all [][]byte, code []byte) error {
	return s.retime(all, func(timing []byte) []byte { return s.sps.timed(timing, code) })
}

// retime changes the pic_timing of an access unit.
func (s Stream) retime(all [][]byte, change func(timing []byte) []byte) error {
	for i, u := range all {
		if s.kindOf(u) != h264SEI {
			continue
		}
		var sei []byte
		found := false
		for kind, body := range Messages(u[1:]) {
			if kind == seiTiming && s.sps.structure {
				body, found = change(body), true
			}
			sei = append(appendSEINumber(appendSEINumber(sei, kind), len(body)), body...)
		}
		if found {
			all[i] = append([]byte{u[0]}, Escaped(append(sei, 0x80))...)
			return nil
		}
	}
	return errNoTiming
}

// Progressive returns a copy of an access unit of H.264 whose pic_timing marks the picture as
// progressive, with any macroblocks; the unit as it is if it has no such message.
func (s Stream) Progressive(au []byte) []byte {
	all, whole := NALUnits(au, s.prefix)
	if !whole || s.codec != "h264" || s.retime(all, s.sps.progressive) != nil {
		return au
	}
	return joined(all, s.prefix)
}

// MayHaveFields reports whether pictures may have fields, by the header of H.264 or MPEG-2, by
// FFmpeg's names of the codecs. For other codecs it reports false.
func MayHaveFields(codec string, extradata []byte) bool {
	switch codec {
	case "h264":
		return StreamOf(codec, extradata).sps.fields
	case "mpeg2video":
		_, extension, found := bytes.Cut(extradata, []byte{0, 0, 1, 0xb5})
		return found && len(extension) > 1 && extension[0]>>4 == 1 && extension[1]&8 == 0 // progressive_sequence
	}
	return false
}
