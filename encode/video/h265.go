package video

import (
	"bytes"
	"encoding/binary"

	"vidfilter/internal/units"
)

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
