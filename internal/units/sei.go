package units

import (
	"errors"
	"iter"
	"slices"
)

// Types of SEI messages.
const (
	seiT35       = 4
	seiFilmGrain = 19
	seiTimecode  = 136
)

var seiKinds = map[int]MetadataKind{
	seiFilmGrain: FilmGrain, 45: FramePacking, seiTimecode: Timecode, 137: MasteringDisplay, 144: ContentLight, 147: AlternativeTransfer,
	148: AmbientViewing,
}

// Sizes of the payloads that have one.
var sizes = map[MetadataKind]int{MasteringDisplay: 24, ContentLight: 4, AlternativeTransfer: 1, AmbientViewing: 8}

// Messages returns type and payload of the messages in an SEI unit behind its header, up to one
// that is cut off (ISO 14496-10, 7.3.2.3.1).
func Messages(sei []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		b := Unescaped(sei)
		for len(b) > 2 {
			kind, rest := seiNumber(b)
			size, rest := seiNumber(rest)
			if size > len(rest) || !yield(kind, rest[:size]) {
				return
			}
			b = rest[size:]
		}
	}
}

// seiNumber reads a number written as bytes to add up, all 255 except the last.
func seiNumber(b []byte) (n int, rest []byte) {
	for i, c := range b {
		n += int(c)
		if c != 0xff {
			return n, b[i+1:]
		}
	}
	return n, nil
}

func appendSEINumber(b []byte, n int) []byte {
	for ; n >= 0xff; n -= 0xff {
		b = append(b, 0xff)
	}
	return append(b, byte(n))
}

// Types of NAL units.
const (
	h264SEI      = 6
	hevcFirstAux = 32 // those below are parts of pictures
	hevcPrefix   = 39
	hevcSuffix   = 40
	hevcRPU      = 62 // unspecified by the standard: ETSI TS 103 572
)

func (s Stream) scanNAL(au []byte) (list []Unit) {
	all, _ := NALUnits(au, s.prefix)
	for _, u := range all {
		switch kind := s.kindOf(u); {
		case s.codec == "h264" && kind == h264SEI:
			list = append(list, s.scanSEI(u[1:])...)
		case s.codec == "h264" || len(u) < 3 || u[0]&1 != 0 || u[1]>>3 != 0: // of another layer
		case kind == hevcPrefix || kind == hevcSuffix:
			list = append(list, s.scanSEI(u[2:])...)
		case kind == hevcRPU:
			if rpu := wholeRPU(Unescaped(u[2:])); rpu != nil {
				list = append(list, Unit{DolbyVision, rpu})
			}
		}
	}
	return list
}

// kindOf returns the type of a NAL unit.
func (s Stream) kindOf(u []byte) byte {
	if s.codec == "hevc" {
		return u[0] >> 1 & 63
	}
	return u[0] & 31
}

func (s Stream) scanSEI(sei []byte) (list []Unit) {
	for kind, body := range Messages(sei) {
		u := Unit{seiKinds[kind], body}
		if kind == seiT35 {
			u.Kind = ofT35(body)
		}
		switch {
		case u.Kind == FilmGrain && s.codec == "h264":
			u.Payload = persistent(body)
		case u.Kind == FilmGrain && repeated(body) == nil: // damaged
			continue
		case s.codec != "h264":
		case kind == seiTiming && s.sps.structure:
			u = Unit{Timecode, s.sps.clocks(body)}
		case u.Kind == Timecode:
			continue // HEVC's own
		}
		if n := sizes[u.Kind]; u.Kind != 0 && s.Carries(u.Kind) && u.Payload != nil && (n == 0 || n == len(body)) {
			list = append(list, u)
		}
	}
	return list
}

var errDamaged = errors.New("the coded picture is cut off")

// insertNAL puts SEI units before the first unit of the picture, and RPUs at the end.
func (s Stream) insertNAL(au []byte, list []Unit) ([]byte, error) {
	all, whole := NALUnits(au, s.prefix)
	at := slices.IndexFunc(all, func(u []byte) bool { return s.isPicture(s.kindOf(u)) })
	if !whole || at < 0 || len(all[at]) < 2 {
		return nil, errDamaged
	}
	layer := all[at][1] & 7
	for _, u := range list {
		if u.Kind == DolbyVision {
			all = append(all, append([]byte{hevcRPU << 1, 1}, Escaped(u.Payload)...))
			continue
		}
		if u.Kind == Timecode && s.codec == "h264" {
			if err := s.time(all, u.Payload); err != nil {
				return nil, err
			}
			continue
		}
		all = slices.Insert(all, at, s.sei(u, layer))
		at++
	}
	return joined(all, s.prefix), nil
}

// isPicture reports whether a NAL unit is a part of the picture or its prefix (types 14 and 20 of
// H.264).
func (s Stream) isPicture(kind byte) bool {
	if s.codec == "hevc" {
		return kind < hevcFirstAux
	}
	return kind >= 1 && kind <= 5 || kind == 14 || kind == 20
}

// sei returns a unit of one message. It is in the temporal layer of the picture, which the second
// byte of HEVC's header has.
func (s Stream) sei(u Unit, layer byte) []byte {
	header, kind, body := []byte{h264SEI}, seiT35, u.Payload
	for k, v := range seiKinds {
		if v == u.Kind {
			kind = k
		}
	}
	if s.codec == "hevc" {
		header = []byte{hevcPrefix << 1, layer}
	} else if u.Kind == FilmGrain {
		body = repeated(body)
	}
	b := appendSEINumber(appendSEINumber(nil, kind), len(body))
	return append(header, Escaped(append(append(b, body...), 0x80))...)
}
