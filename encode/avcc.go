package encode

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The types of NAL units that are told apart (ISO 14496-10, table 7-1).
const (
	nalSEI       = 6
	nalSPS       = 7
	nalPPS       = 8
	nalDelimiter = 9
)

var errUnits = errors.New("the encoder gave NAL units that are cut off")

// avcC describes H.264 with the given SPS and PPS, whose units have 4 bytes of length (ISO 14496-15, 5.3.3.1).
// FFmpeg's own has bytes too many for the Baseline profile.
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
		b = append(b, 0xfc|1, 0xf8, 0xf8, 0) // 4:2:0, 8 bits, nothing else
	}
	return b, nil
}

// avcName is the codec's name in RFC 6381.
func avcName(avcc []byte) string { return fmt.Sprintf("avc1.%02x%02x%02x", avcc[1], avcc[2], avcc[3]) }

// pictureUnits appends those NAL units of an access unit, behind 4 bytes of length each, that are needed for the
// picture: no parameter sets, which avcC has, nor what encoders say of themselves.
func pictureUnits(dst, unit []byte) ([]byte, error) {
	for len(unit) > 0 {
		if len(unit) < 5 {
			return dst, errUnits
		}
		size := int64(binary.BigEndian.Uint32(unit)) + 4
		if size < 5 || size > int64(len(unit)) {
			return dst, errUnits
		}
		switch unit[4] & 31 {
		case nalSEI, nalSPS, nalPPS, nalDelimiter:
		default:
			dst = append(dst, unit[:size]...)
		}
		unit = unit[size:]
	}
	return dst, nil
}
