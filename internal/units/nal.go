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

// NALUnits returns the units of a packet that are not empty, without the zeros behind them, up to
// one that is cut off. size is as by NALSize.
func NALUnits(b []byte, size int) (units [][]byte, whole bool) {
	whole = true
	if size == 0 {
		units = bytes.Split(b, []byte{0, 0, 1})[1:]
	} else {
		units, whole = prefixed(b, size)
	}
	for i := range units {
		units[i] = bytes.TrimRight(units[i], "\x00")
	}
	return slices.DeleteFunc(units, func(u []byte) bool { return len(u) == 0 }), whole
}

// prefixed splits a packet whose units have their length before them.
func prefixed(b []byte, size int) (units [][]byte, whole bool) {
	for len(b) >= size {
		n := 0
		for _, x := range b[:size] {
			n = n<<8 | int(x)
		}
		if b = b[size:]; n > len(b) {
			return units, false
		}
		units, b = append(units, b[:n]), b[n:]
	}
	return units, len(b) == 0
}

// ParameterSets returns the SPS and PPS of H.264 (ISO 14496-10, 7.3.2) from avcC, or from between
// start codes.
func ParameterSets(extradata []byte) [][]byte {
	if len(extradata) > 6 && extradata[0] == 1 {
		return parameterSetsOfAVCC(extradata)
	}
	const sps, pps = 7, 8
	var list [][]byte
	found, _ := NALUnits(extradata, 0)
	for _, unit := range found {
		if unit[0]&31 == sps || unit[0]&31 == pps {
			list = append(list, unit)
		}
	}
	return list
}

// parameterSetsOfAVCC reads ISO 14496-15, 5.3.3.1; nil if it is truncated.
func parameterSetsOfAVCC(b []byte) (list [][]byte) {
	at := 5
	for _, mask := range []byte{31, 255} {
		if at >= len(b) {
			return nil
		}
		n := int(b[at] & mask)
		for at++; n > 0; n-- {
			if at+2 > len(b) {
				return nil
			}
			size := int(b[at])<<8 | int(b[at+1])
			if at += 2; at+size > len(b) {
				return nil
			}
			list = append(list, b[at:at+size])
			at += size
		}
	}
	return list
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
	total := 0
	for _, u := range units {
		total += len(u) + 4
	}
	out := make([]byte, 0, total)
	for _, u := range units {
		if size == 0 {
			out = append(append(out, 0, 0, 0, 1), u...)
			continue
		}
		n := binary.BigEndian.AppendUint32(nil, uint32(len(u)))
		out = append(append(out, n[4-size:]...), u...)
	}
	return out
}
