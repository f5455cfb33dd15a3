package fidelity

//#include "glue.h"
//#include <libavutil/ambient_viewing_environment.h>
//#include <libavutil/film_grain_params.h>
//#include <libavutil/spherical.h>
import "C"

import (
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"unsafe"

	"vidfilter/internal/units"
)

// side returns side data of the first picture or else of the stream.
func (s *subject) side(picture C.enum_AVFrameSideDataType, stream C.enum_AVPacketSideDataType) []byte {
	if f := s.picture(); f != nil {
		if d := C.av_frame_get_side_data(f, picture); d != nil {
			return unsafe.Slice((*byte)(d.data), int(d.size))
		}
	}
	return s.packetSide(stream)
}

func (s *subject) packetSide(kind C.enum_AVPacketSideDataType) []byte {
	par := s.st.codecpar
	if d := C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, kind); d != nil {
		return unsafe.Slice((*byte)(d.data), int(d.size))
	}
	return nil
}

// as returns side data as a structure of FFmpeg's, or nil.
func as[T any](b []byte) *T {
	if len(b) < int(unsafe.Sizeof(*new(T))) {
		return nil
	}
	return (*T)(unsafe.Pointer(unsafe.SliceData(b)))
}

func ratio(r C.AVRational) float64 {
	if r.den == 0 {
		return 0
	}
	return float64(r.num) / float64(r.den)
}

// hdr is the common name of the kind of HDR.
func (s *subject) hdr() string {
	var kinds []string
	add := func(name string, is bool) {
		if is {
			kinds = append(kinds, name)
		}
	}
	pq, hlg := s.transfer() == "smpte2084", s.transfer() == "arib-std-b67"
	if dv := s.dolbyVision(); dv != "" {
		kinds = append(kinds, "Dolby Vision "+dv)
	}
	dynamic := s.seen.count(units.HDR10Plus) != "" || s.side(C.AV_FRAME_DATA_DYNAMIC_HDR_PLUS, C.AV_PKT_DATA_DYNAMIC_HDR10_PLUS) != nil
	add("HDR10+", dynamic)
	add("HDR10", pq && !dynamic && s.mastering() != "")
	add("PQ", pq && !dynamic && s.mastering() == "")
	add("HLG", hlg)
	add("SDR", len(kinds) == 0)
	return strings.Join(kinds, ", ")
}

// gamuts are primaries of mastering displays, by their usual names: x and y of red, green, blue and
// white (ITU-R BT.709 and BT.2020, SMPTE EG 432-1).
var gamuts = map[string][8]float64{
	"BT.709":     {0.64, 0.33, 0.30, 0.60, 0.15, 0.06, 0.3127, 0.3290},
	"Display P3": {0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.3290},
	"BT.2020":    {0.708, 0.292, 0.170, 0.797, 0.131, 0.046, 0.3127, 0.3290},
}

func gamut(xy [8]float64) string {
	for name, g := range gamuts {
		far := 0.0
		for i := range g {
			far = math.Max(far, math.Abs(xy[i]-g[i]))
		}
		if far < 0.00006 { // units of SMPTE ST 2086 are 0.00002
			return name
		}
	}
	return fmt.Sprintf("red %.4f %.4f, green %.4f %.4f, blue %.4f %.4f, white %.4f %.4f", xy[0], xy[1], xy[2], xy[3], xy[4], xy[5], xy[6], xy[7])
}

// mastering describes the display on which a film was graded (SMPTE ST 2086).
func (s *subject) mastering() string {
	m := as[C.AVMasteringDisplayMetadata](s.side(C.AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, C.AV_PKT_DATA_MASTERING_DISPLAY_METADATA))
	if m == nil {
		return ""
	}
	var parts []string
	if m.has_primaries != 0 {
		var xy [8]float64
		for i := range 3 {
			xy[2*i], xy[2*i+1] = ratio(m.display_primaries[i][0]), ratio(m.display_primaries[i][1])
		}
		xy[6], xy[7] = ratio(m.white_point[0]), ratio(m.white_point[1])
		parts = append(parts, gamut(xy))
	}
	if m.has_luminance != 0 {
		parts = append(parts, fmt.Sprintf("%g to %.6g cd/m2", math.Round(1e4*ratio(m.min_luminance))/1e4, ratio(m.max_luminance)))
	}
	return strings.Join(parts, ", ")
}

// light is the content light level (CTA-861.3).
func (s *subject) light() string {
	l := as[C.AVContentLightMetadata](s.side(C.AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, C.AV_PKT_DATA_CONTENT_LIGHT_LEVEL))
	if l == nil || l.MaxCLL == 0 && l.MaxFALL == 0 {
		return ""
	}
	return fmt.Sprintf("MaxCLL %d, MaxFALL %d cd/m2", uint(l.MaxCLL), uint(l.MaxFALL))
}

// ambient is the light of the room that the pictures were made for (ITU-T H.274, 8.3).
func (s *subject) ambient() string {
	a := as[C.AVAmbientViewingEnvironment](s.side(C.AV_FRAME_DATA_AMBIENT_VIEWING_ENVIRONMENT, C.AV_PKT_DATA_AMBIENT_VIEWING_ENVIRONMENT))
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%.4g lx, x %.4f, y %.4f", ratio(a.ambient_illuminance), ratio(a.ambient_light_x), ratio(a.ambient_light_y))
}

// dolbyVision is the container's record (Dolby Vision Streams Within the ISO Base Media File
// Format, 3.2). A base layer that others can show is part of the profile's name: 8.1.
func (s *subject) dolbyVision() string {
	c := as[C.AVDOVIDecoderConfigurationRecord](s.packetSide(C.AV_PKT_DATA_DOVI_CONF))
	if c == nil {
		return ""
	}
	profile := fmt.Sprint(int(c.dv_profile))
	if c.dv_bl_signal_compatibility_id != 0 {
		profile += fmt.Sprintf(".%d", int(c.dv_bl_signal_compatibility_id))
	}
	return fmt.Sprintf("profile %s, level %d", profile, int(c.dv_level))
}

func unitsOf(kind units.MetadataKind) func(*subject) string {
	return func(s *subject) string { return s.seen.count(kind) }
}

// filmGrain is the model of the grain that players add to the first picture.
func (s *subject) filmGrain() string {
	f := s.picture()
	if f == nil {
		return ""
	}
	d := C.av_frame_get_side_data(f, C.AV_FRAME_DATA_FILM_GRAIN_PARAMS)
	switch {
	case d == nil:
		return ""
	case (*C.AVFilmGrainParams)(unsafe.Pointer(d.data))._type == C.AV_FILM_GRAIN_PARAMS_AV1:
		return "AV1"
	}
	return "H.274"
}

func (s *subject) icc() string {
	b := s.side(C.AV_FRAME_DATA_ICC_PROFILE, C.AV_PKT_DATA_ICC_PROFILE)
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%d bytes, checksum %08x", len(b), crc32.ChecksumIEEE(b))
}

// rotation is how a player turns the picture.
func (s *subject) rotation() string {
	m := s.displayMatrix()
	if m == nil {
		return ""
	}
	var words []string
	if float64(m[0])*float64(m[4]) < float64(m[1])*float64(m[3]) {
		words = append(words, "mirrored")
	}
	switch left := math.Round(float64(C.av_display_rotation_get(&m[0]))); {
	case left > 0:
		words = append(words, fmt.Sprintf("%g degrees counterclockwise", left))
	case left < 0:
		words = append(words, fmt.Sprintf("%g degrees clockwise", -left))
	}
	return strings.Join(words, ", ")
}

// displayMatrix may return nil.
func (s *subject) displayMatrix() *[9]C.int32_t {
	switch {
	case s.video == nil:
		return as[[9]C.int32_t](s.side(C.AV_FRAME_DATA_DISPLAYMATRIX, C.AV_PKT_DATA_DISPLAYMATRIX))
	case s.video.Matrix == [9]int32{}:
		return nil
	}
	return (*[9]C.int32_t)(unsafe.Pointer(&s.video.Matrix))
}

func (s *subject) stereo() string {
	d := as[C.AVStereo3D](s.side(C.AV_FRAME_DATA_STEREO3D, C.AV_PKT_DATA_STEREO3D))
	if d == nil || d._type == C.AV_STEREO3D_2D {
		return ""
	}
	name := C.GoString(C.av_stereo3d_type_name(C.uint(d._type)))
	if d.flags&C.AV_STEREO3D_FLAG_INVERT != 0 {
		name += ", inverted"
	}
	return name
}

func (s *subject) spherical() string {
	d := as[C.AVSphericalMapping](s.side(C.AV_FRAME_DATA_SPHERICAL, C.AV_PKT_DATA_SPHERICAL))
	if d == nil {
		return ""
	}
	return C.GoString(C.av_spherical_projection_name(d.projection))
}
