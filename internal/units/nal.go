package units

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// NALSize returns the bytes of length before each NAL unit of H.264 or HEVC, which avcC or hvcC
// give at the given place; 0 means start codes.
func NALSize(extradata []byte, at int) int {
	if len(extradata) <= at || extradata[0] != 1 {
		return 0
	}
	return int(extradata[at]&3) + 1
}

// NALUnits returns the units of a packet that are not empty, up to one that is cut off. size is as
// by NALSize; units between start codes keep the zeros that follow them.
func NALUnits(b []byte, size int) (units [][]byte, whole bool) {
	if size == 0 {
		units = bytes.Split(b, []byte{0, 0, 1})[1:]
		return slices.DeleteFunc(units, func(u []byte) bool { return len(u) == 0 }), true
	}
	for len(b) >= size {
		n := 0
		for _, x := range b[:size] {
			n = n<<8 | int(x)
		}
		if b = b[size:]; n > len(b) {
			return units, false
		}
		if n > 0 {
			units = append(units, b[:n])
		}
		b = b[n:]
	}
	return units, len(b) == 0
}

// Unescaped returns a copy of a NAL unit without the 3 of every 00 00 03 (ISO 14496-10, 7.4.1).
func Unescaped(b []byte) []byte {
	out, zeros := make([]byte, 0, len(b)), 0
	for _, c := range b {
		if zeros >= 2 && c == 3 {
			zeros = 0
			continue
		}
		if zeros++; c != 0 {
			zeros = 0
		}
		out = append(out, c)
	}
	return out
}

// Escaped is the inverse of Unescaped.
func Escaped(b []byte) []byte {
	out, zeros := make([]byte, 0, len(b)+len(b)/64+1), 0
	for _, c := range b {
		if zeros >= 2 && c <= 3 {
			out, zeros = append(out, 3), 0
		}
		if zeros++; c != 0 {
			zeros = 0
		}
		out = append(out, c)
	}
	if zeros > 0 { // the last byte of a unit must not be 0
		out = append(out, 3)
	}
	return out
}

// joined is the inverse of NALUnits.
func joined(units [][]byte, size int) []byte {
	var out []byte
	for _, u := range units {
		if size == 0 {
			out = append(append(out, 0, 0, 0, 1), bytes.TrimRight(u, "\x00")...)
			continue
		}
		n := binary.BigEndian.AppendUint32(nil, uint32(len(u)))
		out = append(append(out, n[4-size:]...), u...)
	}
	return out
}
