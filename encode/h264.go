package encode

import (
	"bytes"

	"vidfilter/internal/av"
)

// ParameterSets returns the SPS and PPS of H.264 (ISO 14496-10, 7.3.2) from avcC, or from between
// start codes.
func ParameterSets(extradata []byte) [][]byte {
	if len(extradata) > 6 && extradata[0] == 1 {
		return parameterSetsOfAVCC(extradata)
	}
	const sps, pps = 7, 8
	var list [][]byte
	units, _ := av.NALUnits(extradata, 0)
	for _, unit := range units {
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
