package units

import "github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

// Types of NAL units of H.264.
const (
	h264Slice = 1
	h264DataA = 2
	h264IDR   = 5
	h264SPS   = 7
)

// sps has the fields of a sequence parameter set of H.264 that describe headers of slices and
// pic_timing (ISO 14496-10, 7.3.2.1.1 and E.1.1). The zero value is unknown.
type sps struct {
	known     bool
	planes    bool // separate_colour_plane_flag
	frameBits int  // of frame_num
	gaps      bool // gaps_in_frame_num_value_allowed_flag: numbers may be left out
	fields    bool // a picture may be a field
	delays    bool // pic_timing has them, of these bits
	removal   int
	output    int
	offset    int  // bits of time_offset
	structure bool // pic_timing has pic_struct, and clocks
}

// spsOf reads the first of the given NAL units that is a sequence parameter set.
func spsOf(list [][]byte) (s sps) {
	for _, u := range list {
		if len(u) > 4 && u[0]&31 == h264SPS {
			return parseSPS(u)
		}
	}
	return sps{}
}

// parseSPS reads a sequence parameter set, up to the damage in its usability information (VUI).
func parseSPS(unit []byte) (s sps) {
	const most = 16 // bits of a frame_num
	var p h264.SPS
	if err := p.Unmarshal(unit); err != nil && p.VUI == nil || p.Log2MaxFrameNumMinus4 > most-4 {
		return sps{}
	}
	s = sps{
		known: true, planes: p.SeparateColourPlaneFlag, frameBits: int(p.Log2MaxFrameNumMinus4) + 4,
		gaps: p.GapsInFrameNumValueAllowedFlag, fields: !p.FrameMbsOnlyFlag, offset: 24,
	}
	if p.VUI == nil {
		return s
	}
	s.structure = p.VUI.PicStructPresentFlag
	for _, hrd := range []*h264.SPS_HRD{p.VUI.NalHRD, p.VUI.VclHRD} {
		if hrd != nil {
			s.delays, s.offset = true, int(hrd.TimeOffsetLength)
			s.removal, s.output = int(hrd.CpbRemovalDelayLengthMinus1)+1, int(hrd.DpbOutputDelayLengthMinus1)+1
		}
	}
	return s
}

// field is the picture of an access unit that is one field of a frame. The zero value is any other.
type field struct {
	single bool
	bottom bool
	frame  uint32 // frame_num
}

// slice reads the header of a slice up to frame_num (7.3.3); r is nil for other units.
func (s *sps) slice(u []byte) (r *reader, frame uint32) {
	const longest = 32 // bytes of a header that are read
	if kind := u[0] & 31; kind != h264Slice && kind != h264DataA && kind != h264IDR {
		return nil, 0
	}
	r = &reader{b: Unescaped(u[1:min(len(u), longest)])}
	r.ue() // first_mb_in_slice
	r.ue() // slice_type
	r.ue() // pic_parameter_set_id
	if s.planes {
		r.bits(2)
	}
	return r, r.bits(s.frameBits)
}

// fieldOf reads the slices of an access unit (7.3.3).
func (s *sps) fieldOf(list [][]byte) (f field) {
	if !s.known || !s.fields {
		return field{}
	}
	for _, u := range list {
		r, frame := s.slice(u)
		if r == nil {
			continue
		}
		now := field{frame: frame}
		now.single, now.bottom = r.bits(1) == 1, r.bits(1) == 1
		if r.short || !now.single || f.single && now != f {
			return field{}
		}
		f = now
	}
	return f
}

// completes reports whether f is the second field of the frame whose first one is g.
func (f field) completes(g field) bool {
	return f.single && g.single && f.frame == g.frame && f.bottom != g.bottom
}

// Fields finds access units that are the second field of a frame, in H.264. The zero value is
// ready.
type Fields struct {
	first field
	alone bool
}

// Alone reports whether a field has come without the other one of its frame, or the last one has if
// no more come.
func (f *Fields) Alone(end bool) bool { return f.alone || end && f.first.single }

// Second reports whether an access unit is the second field of the frame whose first field was the
// one before.
func (f *Fields) Second(s Stream, au []byte) bool {
	if s.codec != "h264" || !s.sps.fields {
		return false
	}
	list, _ := NALUnits(au, s.prefix)
	now := s.sps.fieldOf(list)
	second := now.completes(f.first)
	f.alone = f.alone || f.first.single && !second
	if f.first = now; second {
		f.first = field{}
	}
	return second
}

// FrameNumbers finds gaps in the numbers of reference pictures, in H.264 (7.4.3). The zero value
// begins with any picture.
type FrameNumbers struct {
	last    uint32 // frame_num of the latest reference picture
	other   bool   // the latest picture is not one
	known   bool
	missing map[uint32]int64 // pictures, by their frame_num
	// An encoder may also number the others, against the standard. It never gives a number twice.
	unlike int64 // missing if it does not
	twice  bool  // it does not: a reference picture had the number of another one before it
}

// Restart has the numbers begin with any picture again.
func (f *FrameNumbers) Restart() { f.known = false }

// Missing returns how many pictures were missing so far. Numbers also begin anew by an operation of
// a picture, which only a decoder knows: gap reports whether one found a gap before a frame_num.
func (f *FrameNumbers) Missing(gap func(frame uint32) bool) (n int64) {
	for frame, missing := range f.missing {
		if frame > 1 || gap(frame) {
			n += missing
		}
	}
	if f.twice {
		n += f.unlike
	}
	return n
}

// Take reads an access unit.
func (f *FrameNumbers) Take(s Stream, au []byte) {
	if s.codec != "h264" || !s.sps.known {
		return
	}
	most := uint32(1) << s.sps.frameBits
	list, _ := NALUnits(au, s.prefix)
	for _, u := range list {
		r, now := s.sps.slice(u)
		if r == nil || r.short {
			continue
		}
		reference, step := u[0]>>5&3 != 0, (now-f.last)%most
		switch {
		case !f.known || s.sps.gaps || u[0]&31 == h264IDR:
		case step > most/2: // they began anew
			f.miss(now, 1)
		case step > 2 || step == 2 && !f.other:
			f.miss(now, int64(step-1))
		case step == 2:
			f.unlike++
		case step == 1 && reference && f.other:
			f.twice = true
		}
		f.known, f.other = true, !reference
		if f.last = now; !reference {
			f.last = (now - 1) % most
		}
	}
}

func (f *FrameNumbers) miss(frame uint32, n int64) {
	if f.missing == nil {
		f.missing = map[uint32]int64{}
	}
	f.missing[frame] += n
}

// Learn reads the parameters that an access unit may bring.
func (s *Stream) Learn(au []byte) {
	if s.codec != "h264" {
		return
	}
	list, _ := NALUnits(au, s.prefix)
	if found := spsOf(list); found.known {
		s.sps = found
	}
}
