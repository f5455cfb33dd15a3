package units

import "slices"

// Types of NAL units of H.264.
const (
	h264Slice = 1
	h264DataA = 2
	h264IDR   = 5
	h264SPS   = 7
)

// sps is what a sequence parameter set of H.264 says of the headers of slices and of pic_timing
// (ISO 14496-10, 7.3.2.1.1 and E.1.1). The zero value knows none.
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

// profiles that describe chroma, by profile_idc.
var chromaProfiles = []uint32{100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}

// spsOf reads the first of the given NAL units that is a sequence parameter set.
func spsOf(list [][]byte) (s sps) {
	for _, u := range list {
		if len(u) > 4 && u[0]&31 == h264SPS {
			return parseSPS(Unescaped(u[1:]))
		}
	}
	return sps{}
}

func parseSPS(b []byte) (s sps) {
	r := &reader{b: b}
	profile := r.bits(8)
	r.bits(16) // constraints, level
	r.ue()     // seq_parameter_set_id
	if slices.Contains(chromaProfiles, profile) {
		s.planes = chroma(r)
	}
	s.frameBits = int(r.ue()) + 4
	switch r.ue() { // pic_order_cnt_type
	case 0:
		r.ue()
	case 1:
		r.bits(1)
		r.ue()
		r.ue()
		for n := r.ue(); n > 0 && !r.short; n-- {
			r.ue()
		}
	}
	r.ue() // max_num_ref_frames
	s.gaps = r.bits(1) == 1
	r.ue()              // width
	r.ue()              // height
	if r.bits(1) == 0 { // frame_mbs_only_flag
		s.fields = true
		r.bits(1)
	}
	r.bits(1)           // direct_8x8_inference_flag
	if r.bits(1) == 1 { // frame_cropping_flag
		for range 4 {
			r.ue()
		}
	}
	s.known = !r.short && s.frameBits <= 16
	if r.bits(1) == 1 { // vui_parameters_present_flag
		s.vui(r)
	}
	return s
}

// chroma skips the format of samples, and returns separate_colour_plane_flag.
func chroma(r *reader) (planes bool) {
	const full = 3 // 4:4:4
	format := r.ue()
	if format == full {
		planes = r.bits(1) == 1
	}
	r.ue()    // bit_depth_luma_minus8
	r.ue()    // bit_depth_chroma_minus8
	r.bits(1) // qpprime_y_zero_transform_bypass_flag
	if r.bits(1) == 0 {
		return planes
	}
	lists := 8
	if format == full {
		lists = 12
	}
	for i := range lists {
		if r.bits(1) == 1 {
			scalingList(r, i < 6)
		}
	}
	return planes
}

// scalingList skips a list of 16 or 64 scales (7.3.2.1.1.1).
func scalingList(r *reader, small bool) {
	size := 64
	if small {
		size = 16
	}
	last, next := int32(8), int32(8)
	for range size {
		if next != 0 {
			next = (last + r.se() + 256) & 255
		}
		if next != 0 {
			last = next
		}
	}
}

// vui reads video usability information (E.1.1).
func (s *sps) vui(r *reader) {
	const extended = 255
	if r.bits(1) == 1 && r.bits(8) == extended { // aspect_ratio_idc
		r.bits(32)
	}
	if r.bits(1) == 1 { // overscan_info_present_flag
		r.bits(1)
	}
	if r.bits(1) == 1 { // video_signal_type_present_flag
		r.bits(3 + 1)
		if r.bits(1) == 1 {
			r.bits(24)
		}
	}
	if r.bits(1) == 1 { // chroma_loc_info_present_flag
		r.ue()
		r.ue()
	}
	if r.bits(1) == 1 { // timing_info_present_flag
		r.bits(32)
		r.bits(32)
		r.bits(1)
	}
	offset := 24
	for range 2 { // of NAL units, of slices
		if r.bits(1) == 1 {
			s.delays = true
			offset = s.hrd(r)
		}
	}
	if s.delays {
		r.bits(1) // low_delay_hrd_flag
	}
	s.offset = offset
	s.structure = r.bits(1) == 1 && !r.short
}

// hrd reads hrd_parameters (E.1.2), and returns time_offset_length.
func (s *sps) hrd(r *reader) (offset int) {
	n := min(r.ue(), 31) // cpb_cnt_minus1
	r.bits(8)
	for range n + 1 {
		r.ue()
		r.ue()
		r.bits(1)
	}
	r.bits(5)
	s.removal, s.output = int(r.bits(5))+1, int(r.bits(5))+1
	return int(r.bits(5))
}

// field is the picture of an access unit that is one field of a frame; the zero value is any other.
type field struct {
	single bool
	bottom bool
	frame  uint32 // frame_num
}

// slice reads the header of a slice up to frame_num (7.3.3); r is nil for other units.
func (s *sps) slice(u []byte) (r *reader, frame uint32) {
	const longest = 32 // bytes of a header, as far as it is read
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
	other   bool   // the latest picture is none
	known   bool
	missing map[uint32]int64 // pictures, by the frame_num that says so
	// An encoder may number the others, too, against the standard. It never gives a number twice.
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
