package units

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Types of OBUs and of metadata (AV1, 6.2.2 and 6.7.1).
const (
	obuFrameHeader = 3
	obuMetadata    = 5
	obuFrame       = 6

	metadataCLL      = 1
	metadataMDCV     = 2
	metadataT35      = 4
	metadataTimecode = 5
)

type obu struct {
	kind           byte
	whole, payload []byte
}

// obus splits a temporal unit.
func obus(tu []byte) (list []obu, whole bool) {
	for len(tu) > 0 {
		header, n, used := 1, 0, 0
		if tu[0]&4 != 0 { // extension
			header = 2
		}
		if header > len(tu) {
			return list, false
		}
		if n = len(tu) - header; tu[0]&2 != 0 { // has a size
			if n, used = leb128(tu[header:]); used == 0 || n > len(tu)-header-used {
				return list, false
			}
		}
		end := header + used + n
		list = append(list, obu{tu[0] >> 3 & 15, tu[:end], tu[header+used : end]})
		tu = tu[end:]
	}
	return list, true
}

// leb128 reads a number of up to 32 bits; used is 0 if there is none.
func leb128(b []byte) (n, used int) {
	v, used := binary.Uvarint(b[:min(len(b), 8)])
	if used <= 0 || v > 1<<32-1 {
		return 0, 0
	}
	return int(v), used
}

func scanOBU(tu []byte) (list []Unit) {
	all, _ := obus(tu)
	for _, o := range all {
		if o.kind != obuMetadata {
			continue
		}
		kind, used := leb128(o.payload)
		if used == 0 {
			continue
		}
		if u := ofMetadata(kind, bytes.TrimRight(bytes.Clone(o.payload[used:]), "\x00")); u.Payload != nil {
			list = append(list, u)
		}
	}
	return list
}

// ofMetadata reads metadata up to its last 1, which ends it.
func ofMetadata(kind int, b []byte) Unit {
	switch {
	case kind == metadataCLL && len(b) == 5:
		return Unit{ContentLight, b[:4]}
	case kind == metadataMDCV && len(b) == 25:
		return Unit{MasteringDisplay, masteringOfAV1(b[:24])}
	case kind == metadataTimecode:
		return Unit{Timecode, clockOfAV1(b)}
	case kind != metadataT35 || len(b) == 0:
		return Unit{}
	case bytes.HasPrefix(b, []byte(dolbyT35)):
		return Unit{DolbyVision, ofEMDF(b[len(dolbyT35):])}
	}
	if b[len(b)-1] == 0x80 {
		b = b[:len(b)-1]
	}
	if k := ofT35(b); k != 0 {
		return Unit{k, b}
	}
	return Unit{}
}

// insertOBU puts metadata before the header of the frame that is shown, which is the last one of a
// temporal unit.
func insertOBU(tu []byte, list []Unit) ([]byte, error) {
	all, whole := obus(tu)
	at := -1
	for i, o := range all {
		if o.kind == obuFrame || o.kind == obuFrameHeader {
			at = i
		}
	}
	if !whole || at < 0 {
		return nil, errDamaged
	}
	var before []byte
	for _, o := range all[:at] {
		before = append(before, o.whole...)
	}
	out := slices.Clip(before)
	for _, u := range list {
		body := toMetadata(u)
		if body == nil {
			continue
		}
		out = append(out, obuMetadata<<3|2)
		out = append(binary.AppendUvarint(out, uint64(len(body))), body...)
	}
	return append(out, tu[len(before):]...), nil
}

// toMetadata returns a metadata OBU's payload, nil if AV1 cannot say it.
func toMetadata(u Unit) []byte {
	switch u.Kind {
	case ContentLight:
		return append(append([]byte{metadataCLL}, u.Payload...), 0x80)
	case MasteringDisplay:
		return append(append([]byte{metadataMDCV}, masteringToAV1(u.Payload)...), 0x80)
	case Timecode:
		if clock := clockToAV1(u.Payload); clock != nil {
			return append([]byte{metadataTimecode}, clock...)
		}
		return nil
	case DolbyVision:
		return slices.Concat([]byte{metadataT35}, []byte(dolbyT35), toEMDF(u.Payload), []byte{0x80})
	}
	return append(append([]byte{metadataT35}, u.Payload...), 0x80)
}

// scales are units of AV1's mastering display colour volume (6.7.4) and of HEVC's: chromaticity,
// highest and lowest luminance.
var scales = [3][2]uint64{{1 << 16, 50000}, {1 << 8, 10000}, {1 << 14, 10000}}

// masteringOfAV1 turns red, green, blue, white, highest, lowest into green, blue, red, and so on.
func masteringOfAV1(b []byte) []byte {
	return masteringIn(slices.Concat(b[4:12], b[:4], b[12:]), 0, 1)
}

func masteringToAV1(b []byte) []byte {
	b = masteringIn(b, 1, 0)
	return slices.Concat(b[8:12], b[:8], b[12:])
}

func masteringIn(b []byte, from, to int) []byte {
	scaled := func(v uint64, i int) uint64 { return (v*scales[i][to] + scales[i][from]/2) / scales[i][from] }
	out := make([]byte, 0, len(b))
	for i := 0; i < 16; i += 2 {
		v := scaled(uint64(binary.BigEndian.Uint16(b[i:])), 0)
		out = binary.BigEndian.AppendUint16(out, uint16(min(v, 1<<16-1)))
	}
	for i := range 2 {
		v := scaled(uint64(binary.BigEndian.Uint32(b[16+4*i:])), 1+i)
		out = binary.BigEndian.AppendUint32(out, uint32(min(v, 1<<32-1)))
	}
	return out
}
