// Package units finds and places the units of a coded picture with metadata: light levels, HDR10+,
// Dolby Vision, captions, timecodes. They are SEI messages in H.264 (ISO 14496-10, annex D) and
// HEVC (ISO 23008-2, annex D), and metadata OBUs in AV1 (AV1 bitstream specification, 5.8).
package units

import "slices"

// MetadataKind is the kind of a unit's metadata.
type MetadataKind uint8

// The kinds. Payloads have one form for all codecs, HEVC's SEI message.
const (
	MasteringDisplay    MetadataKind = iota + 1 // SEI 137: 24 bytes
	ContentLight                                // SEI 144: 4 bytes
	HDR10Plus                                   // T.35 from its country code on: B5 003C 0001 04, SMPTE ST 2094-40
	HDRVivid                                    // T.35: 26 0004 0005
	Captions                                    // T.35: B5 0031 "GA94" 03, ATSC A/53
	AFD                                         // T.35: B5 0031 "DTG1", ETSI TS 101 154 annex B
	AlternativeTransfer                         // SEI 147: 1 byte
	AmbientViewing                              // SEI 148: 8 bytes
	Timecode                                    // SEI 136, time_code
	FilmGrain                                   // SEI 19, film_grain_characteristics
	FramePacking                                // SEI 45, frame_packing_arrangement: stereo 3D
	DolbyVision                                 // RPU from its prefix 19 on, without emulation prevention
)

var names = map[MetadataKind]string{
	MasteringDisplay: "mastering display", ContentLight: "content light level", HDR10Plus: "HDR10+", HDRVivid: "HDR Vivid",
	Captions: "closed captions", AFD: "active format", AlternativeTransfer: "alternative transfer",
	AmbientViewing: "ambient viewing", Timecode: "timecodes of pictures", FilmGrain: "film grain parameters",
	FramePacking: "stereo 3D", DolbyVision: "Dolby Vision",
}

// String returns the name for people.
func (k MetadataKind) String() string { return names[k] }

// OfOnePicture reports whether a unit is to be shown or read once, however many pictures become of
// the one that carried it.
func (k MetadataKind) OfOnePicture() bool { return k == Captions || k == Timecode }

// Lasting reports whether a unit holds from its key frame up to the next one. Others belong to one
// picture.
func (k MetadataKind) Lasting() bool {
	return k == MasteringDisplay || k == ContentLight || k == AlternativeTransfer || k == AmbientViewing || k == FramePacking
}

// Unit is one unit.
type Unit struct {
	Kind    MetadataKind
	Payload []byte
}

// Stream describes the coding of a video's access units. The zero value has no units.
type Stream struct {
	codec  string
	prefix int // bytes of length before each NAL unit; 0 for start codes
	sps    sps // of H.264
}

// StreamOf returns the coding of h264, hevc or av1, by FFmpeg's names, whose extradata is given;
// the zero value for another codec.
func StreamOf(codec string, extradata []byte) Stream {
	switch codec {
	case "h264":
		return Stream{codec, NALSize(extradata, 4), spsOf(ParameterSets(extradata))}
	case "hevc":
		return Stream{codec: codec, prefix: NALSize(extradata, 21)}
	case "av1":
		return Stream{codec: codec}
	}
	return Stream{}
}

// Carries reports whether a codec has a place for units of a kind. In H.264, timecodes need
// pictures with pic_timing, which the encoder must have been asked for, and FramePacking has
// another form, which x264 writes.
func (s Stream) Carries(k MetadataKind) bool {
	switch s.codec {
	case "h264":
		return k != DolbyVision && k != FramePacking
	case "hevc":
		return true
	case "av1":
		return k != AlternativeTransfer && k != AmbientViewing && k != FilmGrain && k != FramePacking
	}
	return false
}

// Pictured reports whether an access unit has a coded picture. In other codecs every packet counts
// as one, except packets as short as MPEG-4's mark of a picture left out.
func (s Stream) Pictured(au []byte) bool {
	const mark = 16
	var slice func(unit []byte) bool
	switch s.codec {
	case "h264":
		slice = func(u []byte) bool { kind := u[0] & 31; return kind >= h264Slice && kind <= h264IDR }
	case "hevc":
		slice = func(u []byte) bool { return u[0]>>1&63 < hevcFirstAux }
	default:
		return s.codec == "av1" || len(au) > mark
	}
	list, _ := NALUnits(au, s.prefix)
	return slices.ContainsFunc(list, slice)
}

// Scan returns copies of the units of an access unit, in their order, up to the first damage.
// Timecodes of H.264 are found only once the stream's parameters are known: see Learn.
func (s Stream) Scan(au []byte) []Unit {
	switch s.codec {
	case "h264", "hevc":
		return s.scanNAL(au)
	case "av1":
		return scanOBU(au)
	}
	return nil
}

// Layered reports whether an access unit of HEVC has pictures beside the base layer's, such as a
// second eye's.
func (s Stream) Layered(au []byte) bool {
	if s.codec != "hevc" {
		return false
	}
	all, _ := NALUnits(au, s.prefix)
	return slices.ContainsFunc(all, func(u []byte) bool {
		return len(u) > 1 && s.isPicture(s.kindOf(u)) && (u[0]&1 != 0 || u[1]>>3 != 0)
	})
}

// Insert returns a copy of an access unit with units, which the codec must carry, in their places
// before its picture. It fails if the access unit is damaged or has no picture.
func (s Stream) Insert(au []byte, list []Unit) ([]byte, error) {
	if s.codec == "av1" {
		return insertOBU(au, list)
	}
	return s.insertNAL(au, list)
}
