package encode

import (
	"bytes"
	"encoding/binary"

	"vidfilter/internal/units"
)

// ParameterSets returns the SPS and PPS of H.264 (ISO 14496-10, 7.3.2) from avcC, or from between
// start codes.
func ParameterSets(extradata []byte) [][]byte {
	if len(extradata) > 6 && extradata[0] == 1 {
		return parameterSetsOfAVCC(extradata)
	}
	const sps, pps = 7, 8
	var list [][]byte
	found, _ := units.NALUnits(extradata, 0)
	for _, unit := range found {
		if unit = bytes.TrimRight(unit, "\x00"); len(unit) > 0 && (unit[0]&31 == sps || unit[0]&31 == pps) {
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

// parameterSetsHEVC returns the VPS, SPS and PPS of HEVC (ISO 23008-2, 7.3.2) from hvcC, or from
// between start codes.
func parameterSetsHEVC(extradata []byte) (list [][]byte) {
	const vps, pps = 32, 34
	found := parameterSetsOfHVCC(extradata)
	if found == nil {
		found, _ = units.NALUnits(extradata, 0)
	}
	for _, unit := range found {
		unit = bytes.TrimRight(unit, "\x00")
		if len(unit) > 0 && unit[0]>>1&63 >= vps && unit[0]>>1&63 <= pps {
			list = append(list, unit)
		}
	}
	return list
}

// parameterSetsOfHVCC reads ISO 14496-15, 8.3.3.1; nil if it is truncated or something else.
func parameterSetsOfHVCC(b []byte) (list [][]byte) {
	const fixed = 22
	if len(b) <= fixed || b[0] != 1 {
		return nil
	}
	arrays := b[fixed]
	for b = b[fixed+1:]; arrays > 0; arrays-- {
		if len(b) < 3 {
			return nil
		}
		n := binary.BigEndian.Uint16(b[1:])
		for b = b[3:]; n > 0; n-- {
			if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
				return nil
			}
			size := int(binary.BigEndian.Uint16(b))
			list = append(list, b[2:2+size])
			b = b[2+size:]
		}
	}
	return list
}
