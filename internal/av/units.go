package av

//#include <libavutil/ambient_viewing_environment.h>
//#include <libavutil/hdr_dynamic_metadata.h>
//#include <libavutil/mastering_display_metadata.h>
//#include <libavutil/mem.h>
//#include <libavutil/stereo3d.h>
//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Units returns the units of a frame's coded picture; nil for frames that were not decoded.
func Units(f *pipeline.Frame) []units.Unit { return decoded(f).Units }

// CodedTransfer returns the transfer function that the stream itself is tagged with, where a unit
// of the frame prefers another, or 0.
func CodedTransfer(f *pipeline.Frame) int { return decoded(f).Transfer }

// Timecode returns the timecode that the coded pictures of a video give its first frame, or "".
func Timecode(f *pipeline.Frame) string { return decoded(f).Timecode }

// sideKinds are the kinds of side data that are units.
var sideKinds = []struct {
	from C.enum_AVFrameSideDataType
	kind units.MetadataKind
	read func([]byte) []byte // the payload, nil if it is empty
}{
	{C.AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, units.MasteringDisplay, masteringDisplay},
	{C.AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, units.ContentLight, contentLight},
	{C.AV_FRAME_DATA_AMBIENT_VIEWING_ENVIRONMENT, units.AmbientViewing, ambientViewing},
	{C.AV_FRAME_DATA_AFD, units.AFD, func(b []byte) []byte { return units.ActiveFormat(b[0]) }},
	{C.AV_FRAME_DATA_DYNAMIC_HDR_PLUS, units.HDR10Plus, hdr10Plus},
	{C.AV_FRAME_DATA_STEREO3D, units.FramePacking, framePacking},
}

// FrameUnits returns the side data of a decoded AVFrame, of a video of the given frame rate, as
// units.
func FrameUnits(frame unsafe.Pointer, rate astiav.Rational) (list []units.Unit) {
	f := (*C.AVFrame)(frame)
	for _, s := range sideKinds {
		if d := sideData(f, s.from); len(d) > 0 {
			if b := s.read(d); b != nil {
				list = append(list, units.Unit{Kind: s.kind, Payload: b})
			}
		}
	}
	for _, b := range units.ClosedCaptions(sideData(f, C.AV_FRAME_DATA_A53_CC)) {
		list = append(list, units.Unit{Kind: units.Captions, Payload: b})
	}
	if b := timecodes(sideData(f, C.AV_FRAME_DATA_S12M_TIMECODE), rate); b != nil {
		list = append(list, units.Unit{Kind: units.Timecode, Payload: b})
	}
	return list
}

// sideData returns a frame's own bytes.
func sideData(f *C.AVFrame, kind C.enum_AVFrameSideDataType) []byte {
	d := C.av_frame_get_side_data(f, kind)
	if d == nil {
		return nil
	}
	return Slice((*byte)(d.data), int(d.size))
}

func hdr10Plus(b []byte) []byte {
	var data *C.uint8_t
	var size C.size_t
	if C.av_dynamic_hdr_plus_to_t35((*C.AVDynamicHDRPlus)(unsafe.Pointer(&b[0])), &data, &size) < 0 {
		return nil
	}
	defer C.av_free(unsafe.Pointer(data))
	return units.DynamicHDR(unsafe.Slice((*byte)(data), int(size)))
}

// timecodes reads a number and as many codes of SMPTE ST 12-1.
func timecodes(b []byte, rate astiav.Rational) []byte {
	var words []uint32
	for n := 0; len(b) >= 8 && n < int(binary.NativeEndian.Uint32(b)); n++ {
		words = append(words, binary.NativeEndian.Uint32(b[4*min(n+1, len(b)/4-1):]))
	}
	return units.TimeCode(words, rate.Num(), rate.Den())
}

func scaled(q C.AVRational, unit C.int) uint32 {
	if q.den == 0 {
		return 0
	}
	return uint32(C.av_rescale(C.int64_t(q.num), C.int64_t(unit), C.int64_t(q.den)))
}

// masteringDisplay is ISO 23008-2, D.2.28: green, blue, red, white; 0.00002 and 0.0001 cd/m².
func masteringDisplay(data []byte) (b []byte) {
	m := (*C.AVMasteringDisplayMetadata)(unsafe.Pointer(&data[0]))
	if m.has_primaries == 0 || m.has_luminance == 0 {
		return nil
	}
	for _, colour := range [][2]C.AVRational{m.display_primaries[1], m.display_primaries[2], m.display_primaries[0], m.white_point} {
		for _, v := range colour {
			b = binary.BigEndian.AppendUint16(b, uint16(scaled(v, 50000)))
		}
	}
	b = binary.BigEndian.AppendUint32(b, scaled(m.max_luminance, 10000))
	return binary.BigEndian.AppendUint32(b, scaled(m.min_luminance, 10000))
}

func contentLight(data []byte) []byte {
	l := (*C.AVContentLightMetadata)(unsafe.Pointer(&data[0]))
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(l.MaxCLL)), uint16(l.MaxFALL))
}

func ambientViewing(data []byte) []byte {
	a := (*C.AVAmbientViewingEnvironment)(unsafe.Pointer(&data[0]))
	b := binary.BigEndian.AppendUint32(nil, scaled(a.ambient_illuminance, 10000))
	b = binary.BigEndian.AppendUint16(b, uint16(scaled(a.ambient_light_x, 50000)))
	return binary.BigEndian.AppendUint16(b, uint16(scaled(a.ambient_light_y, 50000)))
}

func framePacking(data []byte) []byte {
	s := (*C.AVStereo3D)(unsafe.Pointer(&data[0]))
	rightFirst := s.flags&C.AV_STEREO3D_FLAG_INVERT != 0
	switch s._type {
	case C.AV_STEREO3D_SIDEBYSIDE:
		return units.Packing(units.SideBySide, false, rightFirst)
	case C.AV_STEREO3D_SIDEBYSIDE_QUINCUNX:
		return units.Packing(units.SideBySide, true, rightFirst)
	case C.AV_STEREO3D_TOPBOTTOM:
		return units.Packing(units.TopBottom, false, rightFirst)
	}
	return nil
}
