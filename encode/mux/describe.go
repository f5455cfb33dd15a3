package mux

//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Coded is the encoder's description of the video.
type Coded struct {
	Encoder *astiav.CodecContext
	Format  astiav.PixelFormat // of the coded samples, where Encoder has a device's; or unset
	Tag     string             // codec tag; "" for the muxer's choice
	Least   int                // least side of pictures
	Packed  bool               // coded pictures describe their two views themselves
	// Side completes the stream's AVCodecParameters with the metadata of the pictures.
	Side func(parameters unsafe.Pointer) error
}

type description struct{ *file }

func (m description) of(f *pipeline.Frame, c Coded) error {
	st, in := m.video, inputStream(m.In.Video)
	if err := av.Error(int(C.avcodec_parameters_from_context(st.codecpar, (*C.AVCodecContext)(c.Encoder.UnsafePointer())))); err != nil {
		return err
	}
	if c.Format != astiav.PixelFormatNone {
		st.codecpar.format = C.int(c.Format)
	}
	if c.Tag != "" {
		st.codecpar.codec_tag = tag(c.Tag)
	}
	if err := m.describeDisplay(f); err != nil {
		return err
	}
	if in.disposition&C.AV_DISPOSITION_MULTILAYER != 0 { // where one is left
		C.av_packet_side_data_remove(st.codecpar.coded_side_data, &st.codecpar.nb_coded_side_data, C.AV_PKT_DATA_STEREO3D)
	}
	if m.MP4() {
		C.vf_plain_stereo(st.codecpar)
	}
	if err := m.keepCrop(f, in.codecpar); err != nil {
		return err
	}
	if err := m.hidePadding(f, c.Least); err != nil {
		return err
	}
	m.nameLost(c.Packed)
	if err := c.Side(unsafe.Pointer(st.codecpar)); err != nil {
		return err
	}
	st.time_base = fraction(m.Unit)
	st.sample_aspect_ratio = st.codecpar.sample_aspect_ratio
	rate := fraction(m.Shown.Rate)
	st.avg_frame_rate, st.r_frame_rate = fraction(m.Shown.MeanRate), rate
	// A mean above the rate is wrong: for DV, FFmpeg also counts packets of audio.
	// MXF shows pictures at this rate.
	if m.Shown.Rate.Known() && (m.Form.OneRate || C.av_cmp_q(st.avg_frame_rate, rate) > 0) {
		st.avg_frame_rate = rate
	}
	if m.Form.Family == formats.Raw && m.Form.OneRate {
		m.setPace(st)
	}
	st.disposition = in.disposition &^ (C.AV_DISPOSITION_ATTACHED_PIC | C.AV_DISPOSITION_MULTILAYER)
	if m.Form.KeepsIDs {
		st.id = in.id
	}
	return m.videoMetadata(st, in)
}

func (m description) describeDisplay(f *pipeline.Frame) error {
	par := m.video.codecpar
	if props := (*C.AVFrame)(av.FrameProps(f)); props != nil {
		if err := av.Error(int(C.vf_frame_display(par, props))); err != nil {
			return err
		}
	}
	if m.Has("transfer") { // they are not true any more
		for _, kind := range []C.enum_AVPacketSideDataType{
			C.AV_PKT_DATA_MASTERING_DISPLAY_METADATA, C.AV_PKT_DATA_CONTENT_LIGHT_LEVEL, C.AV_PKT_DATA_AMBIENT_VIEWING_ENVIRONMENT,
		} {
			C.av_packet_side_data_remove(par.coded_side_data, &par.nb_coded_side_data, kind)
		}
	}
	matrix := f.Video.Matrix
	if matrix == [9]int32{} {
		return nil
	}
	m.keepOrientation(int(C.vf_orientation((*C.int32_t)(&matrix[0]))))
	return av.Error(int(C.vf_put_side_data(par, C.AV_PKT_DATA_DISPLAYMATRIX, (*C.uint8_t)(unsafe.Pointer(&matrix[0])), C.size_t(unsafe.Sizeof(matrix)))))
}

// keepCrop has the container hide the edges that the input's hides, or warns that they are shown.
func (m description) keepCrop(f *pipeline.Frame, in *C.AVCodecParameters) error {
	crop := C.av_packet_side_data_get(in.coded_side_data, in.nb_coded_side_data, C.AV_PKT_DATA_FRAME_CROPPING)
	why := ""
	switch {
	case crop == nil || m.In.Part:
		return nil
	case f.Width != int(in.width) || f.Height != int(in.height):
		why = "the pictures have another size than it says"
	case m.Form.Family != formats.ISO && m.Form.Family != formats.Matroska:
		why = m.Format + " has no place for a crop"
	default:
		return av.Error(int(C.vf_put_side_data(m.video.codecpar, crop._type, crop.data, crop.size)))
	}
	m.Told.Add(fidelity.Video, "", "crop")
	m.Warn("the edges that the input's container hides are shown: %s", why)
	return nil
}

// hidePadding has the container hide the padding that the encoder adds to f, and warns.
func (m description) hidePadding(f *pipeline.Frame, least int) error {
	par := m.video.codecpar
	right, bottom := int(par.width)-f.Width, int(par.height)-f.Height
	if right <= 0 && bottom <= 0 {
		return nil
	}
	var crop [16]byte // top, bottom, left, right
	if d := C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, C.AV_PKT_DATA_FRAME_CROPPING); d != nil {
		copy(crop[:], unsafe.Slice((*byte)(d.data), int(d.size)))
	}
	for at, more := range map[int]int{4: bottom, 12: right} {
		binary.LittleEndian.PutUint32(crop[at:], binary.LittleEndian.Uint32(crop[at:])+uint32(more))
	}
	if err := av.Error(int(C.vf_put_side_data(par, C.AV_PKT_DATA_FRAME_CROPPING, (*C.uint8_t)(&crop[0]), C.size_t(len(crop))))); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	m.Told.Add(fidelity.Video, "", "size")
	m.Warn("the encoder %s takes even sides of at least %d only: pictures are coded as %dx%d, of which %s tells players to show %dx%d",
		m.Encoder, least, int(par.width), int(par.height), m.Format, f.Width, f.Height)
	return nil
}

var places = []struct {
	kind    C.enum_AVPacketSideDataType
	name    string
	formats []string
}{
	{C.AV_PKT_DATA_ICC_PROFILE, "ICC profile", []string{formats.MP4, formats.MOV}},
	{C.AV_PKT_DATA_STEREO3D, units.FramePacking.String(), []string{formats.MP4, formats.MKV, formats.WebM}},
	{C.AV_PKT_DATA_SPHERICAL, "spherical projection", []string{formats.MP4, formats.MOV, formats.MKV, formats.WebM}},
}

// nameLost names descriptions that the container has no place for.
func (m description) nameLost(packed bool) {
	par := m.video.codecpar
	for _, p := range places {
		inPictures := p.kind == C.AV_PKT_DATA_STEREO3D && packed
		if hasSideData(par, p.kind) && m.Form.Video() && !slices.Contains(p.formats, m.Form.Name) && !inPictures {
			m.Lost.Add(p.name)
		}
	}
	if hasSideData(par, C.AV_PKT_DATA_ICC_PROFILE) && m.Form.Family == formats.ISO && !m.coloursInPictures() {
		m.Lost.Add("ICC profile")
	}
	// AV1 has two places for chroma, and 0 for all others (6.4.2).
	if par.codec_id == C.AV_CODEC_ID_AV1 && par.chroma_location > C.AVCHROMA_LOC_LEFT && par.chroma_location != C.AVCHROMA_LOC_TOPLEFT &&
		m.Form.Family != formats.Matroska {
		m.Lost.Add("chroma location")
	}
}

// keepOrientation stores how a picture must be turned to be shown; 1 is upright.
func (m description) keepOrientation(orientation int) {
	switch {
	case orientation <= 1 || !m.IsPicture():
	case m.Form.Orientation:
		m.exif = exifSegment(orientation)
	default:
		m.Warn("the picture must be turned when shown, which %s cannot express; a .jpg can", m.Format)
	}
}

// exifSegment returns a JPEG segment with an orientation, which FFmpeg reads and does not write.
func exifSegment(orientation int) []byte {
	const before = "\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08" + // an entry after 8 bytes:
		"\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" // Orientation, one SHORT
	return append([]byte(before), byte(orientation), 0, 0, 0, 0, 0, 0)
}

// setPace sets the rate of pictures without times, which the muxer takes from the unit of times.
func (m description) setPace(st *C.AVStream) {
	rate := st.avg_frame_rate
	if rate.num <= 0 || rate.den <= 0 {
		rate = C.AVRational{25, 1}
		m.Warn("the rate of the input is not known: %s says 25 pictures a second", m.Format)
	}
	st.avg_frame_rate, st.time_base = rate, C.av_inv_q(rate)
}

func (m description) videoMetadata(st, in *C.AVStream) error {
	if err := av.Error(int(C.av_dict_copy(&st.metadata, in.metadata, 0))); err != nil {
		return err
	}
	dropTags(&st.metadata, fidelity.OfCoding)
	stampTime(&st.metadata)
	keepNames(m.Form, &st.metadata, "encoding_tool")
	nameHandler(m.Form, st)
	set(&st.metadata, "encoder", strings.TrimSpace(m.Software+" "+m.Encoder))
	return nil
}

// copied describes a video whose packets are the input's own.
func (m description) copied() error {
	s, in, st := m.In.Video, inputStream(m.In.Video), m.video
	c := &candidate{file: m.file, s: s, in: in}
	if err := av.Error(int(C.vf_copy_parameters(st.codecpar, in.codecpar, c.codecTag()))); err != nil {
		return err
	}
	st.time_base = in.time_base
	st.sample_aspect_ratio = C.av_guess_sample_aspect_ratio((*C.AVFormatContext)(av.FormatPtr(m.In.Context)), in, nil)
	st.codecpar.sample_aspect_ratio = st.sample_aspect_ratio
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	if m.In.Part {
		return nil
	}
	return m.videoMetadata(st, in)
}
