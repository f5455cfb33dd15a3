package units

import "bytes"

// dolbyT35 begins the T.35 message of AV1 that holds an RPU.
const dolbyT35 = "\xb5\x00\x3b\x00\x00\x08\x00"

const (
	rpuPrefix, rpuEnd = 25, 0x80

	// In AV1 the RPU is in an EMDF container (ETSI TS 102 366, annex H) whose fields are fixed: 27
	// bits before its size and 17 after its end.
	emdfHeader, emdfHeaderBits = 0x01be6841, 27
	emdfFooter, emdfFooterBits = 0x400, 17
)

// wholeRPU removes the zeros that may follow an RPU; nil if it is damaged.
func wholeRPU(b []byte) []byte {
	if b = bytes.TrimRight(b, "\x00"); len(b) < 2 || b[0] != rpuPrefix || b[len(b)-1] != rpuEnd {
		return nil
	}
	return b
}

// ofEMDF returns the RPU in an EMDF container, or nil.
func ofEMDF(b []byte) []byte {
	const longest = 1 << 12
	r := reader{b: b}
	if r.bits(emdfHeaderBits) != emdfHeader {
		return nil
	}
	size := int(r.bits(8))
	for r.bits(1) == 1 && size < longest {
		size = (size+1)<<8 | int(r.bits(8))
	}
	rpu := writer{}
	rpu.bits(rpuPrefix, 8)
	rpu.copy(b, r.at, 8*min(size, longest))
	r.at += 8 * size
	if r.bits(emdfFooterBits) != emdfFooter || r.short {
		return nil
	}
	return wholeRPU(rpu.b)
}

// toEMDF is the inverse of ofEMDF. Ones fill the last byte.
func toEMDF(rpu []byte) []byte {
	rpu = rpu[min(1, len(rpu)):] // without the prefix
	w := writer{}
	w.bits(emdfHeader, emdfHeaderBits)
	if size := uint32(len(rpu)); size > 0xff {
		w.bits(size>>8-1, 8)
		w.bits(1, 1)
	}
	w.bits(uint32(len(rpu)&0xff), 8)
	w.bits(0, 1)
	w.copy(rpu, 0, 8*len(rpu))
	w.bits(emdfFooter, emdfFooterBits)
	for w.at%8 != 0 {
		w.bits(1, 1)
	}
	return w.b
}

// DolbyProfile returns the profile that an RPU belongs to: 5, 7 or 8, HEVC's profiles; 0 if it is
// unknown. A stream's configuration record is the better source.
func DolbyProfile(rpu []byte) int {
	r := reader{b: rpu, at: 8}
	const metadata, extended = 2, 7 << 8
	if kind, format := r.bits(6), r.bits(11); kind != metadata || format&extended != 0 {
		return 0
	}
	profile, level := r.bits(4), r.bits(4)
	if described := r.bits(1); described == 0 || level > 0 && profile == 0 {
		return 0
	}
	r.bits(1) // chroma_resampling_explicit_filter_flag
	if r.bits(2) == 0 {
		r.ue() // coefficient_log2_denom
	}
	r.bits(2) // vdr_rpu_normalized_idc
	full := r.bits(1) == 1
	r.ue() // BL_bit_depth_minus8
	r.ue() // EL_bit_depth_minus8
	r.ue() // vdr_bit_depth_minus8
	r.bits(1 + 3)
	enhanced, plain := r.bits(1) == 1, r.bits(1) == 1 // el_spatial_resampling_filter_flag, disable_residual_flag
	switch {
	case r.short:
		return 0
	case profile == 0 && full:
		return 5
	case profile == 1 && enhanced && !plain:
		return 7 // or 4, which no player supports any more
	case profile == 1:
		return 8
	}
	return 0
}
