package preview

import (
	"encoding/binary"
	"errors"
	"fmt"

	"vidfilter/internal/units"
)

// NAL unit types (ISO 14496-10, table 7-1).
const (
	nalSEI       = 6
	nalSPS       = 7
	nalPPS       = 8
	nalDelimiter = 9
)

var errUnits = errors.New("the encoder gave NAL units that are cut off")

// avcC returns the header of H.264 with the given SPS and PPS and 4 bytes of length per unit (ISO
// 14496-15, 5.3.3.1). FFmpeg's has surplus bytes for the Baseline profile.
func avcC(units [][]byte) ([]byte, error) {
	var sps, pps []byte
	for _, u := range units {
		if u[0]&31 == nalSPS {
			sps = u
		} else {
			pps = u
		}
	}
	if len(sps) < 4 || len(pps) == 0 {
		return nil, errors.New("the encoder gave no parameter sets")
	}
	b := []byte{1, sps[1], sps[2], sps[3], 0xff, 0xe1}
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(sps))), sps...)
	b = append(b, 1)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(pps))), pps...)
	if high := 100; int(sps[1]) >= high {
		b = append(b, 0xfc|1, 0xf8, 0xf8, 0) // 4:2:0, 8 bits, no extensions
	}
	return b, nil
}

// avcName returns the codec's name by RFC 6381.
func avcName(avcc []byte) string { return fmt.Sprintf("avc1.%02x%02x%02x", avcc[1], avcc[2], avcc[3]) }

// pictureUnits appends the NAL units of an access unit that carry the picture, with 4 bytes of
// length each: no parameter sets, which are in avcC, and no messages of the encoder.
func pictureUnits(dst, unit []byte) ([]byte, error) {
	list, whole := units.NALUnits(unit, 4)
	if !whole {
		return dst, errUnits
	}
	for _, u := range list {
		switch u[0] & 31 {
		case nalSEI, nalSPS, nalPPS, nalDelimiter:
		default:
			dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(u))), u...)
		}
	}
	return dst, nil
}
