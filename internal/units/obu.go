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

// OBU is a unit of AV1.
type OBU struct {
	Kind           byte
	Sized          bool // the header has the size, which the last unit of a packet may lack
	Whole, payload []byte
}

// OBUHeader returns the length of the header (AV1, 5.3) that b begins with, 10 bytes at most, and
// the size of the payload behind it, -1 if the header lacks it. ok is false if it is damaged.
func OBUHeader(b []byte) (header, size int, ok bool) {
	header = 1
	if len(b) > 0 && b[0]&4 != 0 { // extension
		header = 2
	}
	if header > len(b) || b[0]&2 == 0 {
		return header, -1, header <= len(b)
	}
	size, used := leb128(b[header:])
	return header + used, size, used > 0
}

// OBUs splits a temporal unit. whole is false where it is damaged.
func OBUs(tu []byte) (list []OBU, whole bool) {
	for len(tu) > 0 {
		header, size, ok := OBUHeader(tu)
		sized := size >= 0
		if !sized {
			size = len(tu) - header
		}
		if !ok || size > len(tu)-header {
			return list, false
		}
		list = append(list, OBU{tu[0] >> 3 & 15, sized, tu[:header+size], tu[header : header+size]})
		tu = tu[header+size:]
	}
	return list, true
}

// leb128 reads a number of up to 32 bits; used is 0 on failure.
func leb128(b []byte) (n, used int) {
	v, used := binary.Uvarint(b[:min(len(b), 8)])
	if used <= 0 || v > 1<<32-1 {
		return 0, 0
	}
	return int(v), used
}

func scanOBU(tu []byte) (list []Unit) {
	all, _ := OBUs(tu)
	for _, o := range all {
		if o.Kind != obuMetadata {
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
	all, whole := OBUs(tu)
	at := -1
	for i, o := range all {
		if o.Kind == obuFrame || o.Kind == obuFrameHeader {
			at = i
		}
	}
	if !whole || at < 0 {
		return nil, errDamaged
	}
	var before []byte
	for _, o := range all[:at] {
		before = append(before, o.Whole...)
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

// toMetadata returns a metadata OBU's payload, nil if AV1 has no form for it.
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
