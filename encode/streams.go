package encode

//#include <stdlib.h>
//#include <libavutil/mem.h>
//#include <libavformat/avformat.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// mapStreams makes an output stream for every input stream that the container can hold, in the
// input's order, and warns of the others.
func (m *muxer) mapStreams() error {
	m.mapped = true
	all := append(slices.Clone(m.in.Others), m.in.Video)
	slices.SortFunc(all, func(a, b *astiav.Stream) int { return a.Index() - b.Index() })
	if m.form.Family == formats.Broadcast { // begins with the video
		all = slices.DeleteFunc(all, func(s *astiav.Stream) bool { return s.Index() == m.in.Video.Index() })
		all = slices.Insert(all, 0, m.in.Video)
	}
	for _, s := range all {
		if s.Index() == m.in.Video.Index() {
			if m.video = C.avformat_new_stream(m.oc, nil); m.video == nil {
				return errors.New("encode: out of memory")
			}
			continue
		}
		if !m.carries() {
			continue
		}
		if err := m.mapStream(s); err != nil {
			return err
		}
	}
	return nil
}

func (m *muxer) mapStream(s *astiav.Stream) error {
	in := inputStream(s)
	par := in.codecpar
	switch {
	case in.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 && m.form.Attachments:
		return m.attachPicture(s)
	case m.silent(par):
		return nil
	case par.codec_type == C.AVMEDIA_TYPE_AUDIO && par.sample_rate <= 0: // cut off early
		m.undescribed[s.Index()] = true
		m.leaveOut(s, "the input does not describe its audio")
		return nil
	case par.codec_type == C.AVMEDIA_TYPE_VIDEO && par.width <= 0 && par.codec_id != C.AV_CODEC_ID_NONE:
		m.undescribed[s.Index()] = true
		m.leaveOut(s, "the input does not describe its pictures")
		return nil
	case m.holds(in) && m.readsBack(s):
		if err := m.refusal(s); err != nil {
			m.spoilt(s, fmt.Errorf("%s takes none of its first packets: %w", m.opts.Format, err))
			return nil
		}
		return m.copyStream(s)
	case par.codec_type == C.AVMEDIA_TYPE_SUBTITLE:
		if to, ok := m.textFor(par.codec_id); ok {
			return m.convertSubtitles(s, to)
		}
	case par.codec_type == C.AVMEDIA_TYPE_AUDIO && m.form.Audio != formats.Dropped:
		err := m.convertAudio(s)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, astiav.ErrInvaliddata) && C.avformat_query_codec(m.oc.oformat, par.codec_id, C.FF_COMPLIANCE_NORMAL) == 1:
			m.spoilt(s, fmt.Errorf("its header is damaged: %w", err))
			return nil
		}
	}
	why := m.opts.Format + " cannot hold it"
	if par.codec_id == C.AV_CODEC_ID_NONE {
		why = "its codec is not known to FFmpeg"
	}
	m.leaveOut(s, why)
	return nil
}

// leaveOut says that a stream is not in the output.
func (m *muxer) leaveOut(s *astiav.Stream, why string) {
	m.told.Add(fidelity.Stream, strconv.Itoa(s.Index()), "")
	m.warn("%s is left out: %s", streamName(s), why)
}

// nameEmpty says which streams MP4 leaves out, since there was no packet of them.
func (m *muxer) nameEmpty() {
	if !m.mp4() {
		return
	}
	for _, s := range m.in.Others {
		l := m.lanes[s.Index()]
		if l != nil && m.given[int(l.st.index)] == nil && l.st.disposition&C.AV_DISPOSITION_ATTACHED_PIC == 0 {
			m.leaveOut(s, "it is empty")
		}
	}
}

// spoilt leaves out a stream with faulty data, and counts it as damage.
func (m *muxer) spoilt(s *astiav.Stream, reason error) {
	m.leftOut++
	m.leaveOut(s, reason.Error())
}

// refusal writes the first packets of a stream, each to a file of its own in memory, and returns
// the error if all fail: a faulty header shows only in packets. The first packet of a broadcast
// may be cut off, and proves nothing.
func (m *muxer) refusal(s *astiav.Stream) (err error) {
	if m.form.Family == formats.Broadcast {
		return nil
	}
	least, tried := 1, 0
	if from := m.source().iformat; from != nil && from.flags&C.AVFMT_TS_DISCONT != 0 {
		least = 2
	}
	in := inputStream(s)
	for _, p := range m.early {
		if p.StreamIndex() != s.Index() {
			continue
		}
		tried++
		if err = av.Error(int(C.vf_try_packet(m.oc.oformat, in, m.codecTag(in.codecpar), (*C.AVPacket)(av.PacketPtr(p))))); err == nil {
			return nil
		}
	}
	if tried < least {
		return nil
	}
	return err
}

// readsBack reports whether sound that the format seems to hold is still there when the file is
// read: muxers write codecs of RIFF that readers find nothing in. The lists of formats with Codecs
// promise it.
func (m *muxer) readsBack(s *astiav.Stream) bool {
	in := inputStream(s)
	if in.codecpar.codec_type != C.AVMEDIA_TYPE_AUDIO || m.form.Codecs != nil {
		return true
	}
	if m.mp4() && C.av_codec_get_tag(m.oc.oformat.codec_tag, in.codecpar.codec_id) == 0 {
		return false // FFmpeg makes up a tag
	}
	var packets []*C.AVPacket
	for _, p := range m.early {
		if p.StreamIndex() == s.Index() {
			packets = append(packets, (*C.AVPacket)(av.PacketPtr(p)))
		}
	}
	if len(packets) == 0 || m.refusal(s) != nil {
		return true // mapStream tells of a refusal
	}
	list := (**C.AVPacket)(C.calloc(C.size_t(len(packets)), C.size_t(unsafe.Sizeof(packets[0]))))
	defer C.free(unsafe.Pointer(list))
	copy(unsafe.Slice(list, len(packets)), packets)
	return C.vf_reads_back(m.oc.oformat, in, m.codecTag(in.codecpar), list, C.int(len(packets))) != 0
}

// silent reports a timecode track, which MP4's muxer makes anew from the metadata.
func (m *muxer) silent(par *C.AVCodecParameters) bool {
	return par.codec_type == C.AVMEDIA_TYPE_DATA && par.codec_tag == tag("tmcd") && m.mp4()
}

// holds reports whether the container takes a stream unchanged. The muxer has to begin a file of
// that stream alone, since the lists of codecs that muxers publish promise too much.
func (m *muxer) holds(in *C.AVStream) bool {
	switch {
	case m.opts.CodeSound && C.av_get_exact_bits_per_sample(in.codecpar.codec_id) > 0:
		return false
	case m.form.Family == formats.Broadcast: // its muxer takes sound beside pictures only
		return slices.Contains(m.form.Codecs, C.GoString(C.avcodec_get_name(in.codecpar.codec_id))) &&
			in.codecpar.codec_type == C.AVMEDIA_TYPE_AUDIO && in.codecpar.sample_rate == 48000
	case slices.Contains(m.form.Misread, C.GoString(C.avcodec_get_name(in.codecpar.codec_id))):
		_, ok := flacOf(pcmOf(in.codecpar), in.codecpar.ch_layout.nb_channels)
		return !ok && muxes(m.oc.oformat, m.form, in, m.codecTag(in.codecpar))
	case m.form.Codecs != nil:
		return muxes(m.oc.oformat, m.form, in, 0)
	case in.codecpar.codec_type == C.AVMEDIA_TYPE_ATTACHMENT:
		return m.form.Attachments
	case in.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 && m.form.NoCoverArt,
		in.codecpar.codec_type == C.AVMEDIA_TYPE_DATA && in.codecpar.codec_tag == tag("text") &&
			m.mp4(): // chapters without their list
		return false // the muxer takes it and then does not write it
	}
	return muxes(m.oc.oformat, m.form, in, m.codecTag(in.codecpar))
}

// codecTag returns the codec tag of a stream in the new container, 0 for the muxer's choice. Tags
// belong to a container, so one is kept only if it means the same in the new one.
func (m *muxer) codecTag(par *C.AVCodecParameters) C.uint32_t {
	if m.opts.Format == formats.MOV && par.codec_tag == tag("gpmd") { // for which its muxer has no table
		return par.codec_tag
	}
	if tags := m.oc.oformat.codec_tag; tags != nil && C.av_codec_get_id(tags, par.codec_tag) == par.codec_id {
		return par.codec_tag
	}
	return 0
}

// textFor returns the codec for text subtitles that the container cannot hold as they are.
func (m *muxer) textFor(id C.enum_AVCodecID) (C.enum_AVCodecID, bool) {
	d := C.avcodec_descriptor_get(id)
	if d == nil || d.props&C.AV_CODEC_PROP_TEXT_SUB == 0 {
		return 0, false
	}
	if m.form.Text == "" {
		return 0, false
	}
	return codecNamed(m.form.Text).id, true
}

// copyStream copies a stream bit for bit.
func (m *muxer) copyStream(s *astiav.Stream) error {
	st, err := m.newStream(s)
	if err != nil {
		return err
	}
	in := inputStream(s)
	if err := av.Error(int(C.vf_copy_parameters(st.codecpar, in.codecpar, m.codecTag(in.codecpar)))); err != nil {
		return err
	}
	m.lanes[s.Index()] = &lane{st: st, from: in.time_base, last: av.NoPTS}
	return nil
}

// attachPicture makes cover art an attachment, as usual in Matroska.
func (m *muxer) attachPicture(s *astiav.Stream) error {
	in := inputStream(s)
	st := C.avformat_new_stream(m.oc, nil)
	if st == nil {
		return errors.New("encode: out of memory")
	}
	pic := in.attached_pic
	st.codecpar.codec_type, st.codecpar.codec_id = C.AVMEDIA_TYPE_ATTACHMENT, in.codecpar.codec_id
	if err := av.SetExtradata(unsafe.Pointer(st.codecpar), av.Slice((*byte)(pic.data), int(pic.size))); err != nil {
		return err
	}
	C.av_dict_copy(&st.metadata, in.metadata, 0)
	kind, ending := "image/jpeg", "jpg"
	if in.codecpar.codec_id == C.AV_CODEC_ID_PNG {
		kind, ending = "image/png", "png"
	}
	setDefault(&st.metadata, "mimetype", kind)
	setDefault(&st.metadata, "filename", "cover."+ending)
	return nil
}

func (m *muxer) convertSubtitles(s *astiav.Stream, to C.enum_AVCodecID) error {
	subs := (*C.vf_subs)(C.calloc(1, C.sizeof_vf_subs))
	if err := av.Error(int(C.vf_subs_open(subs, inputStream(s), to))); err != nil {
		C.free(unsafe.Pointer(subs))
		m.leaveOut(s, fmt.Sprintf("it cannot be converted: %v", err))
		return nil
	}
	st, err := m.newStream(s)
	l := &lane{st: st, from: inputStream(s).time_base, last: av.NoPTS, subs: subs}
	m.lanes[s.Index()] = l // Close frees it from here on
	if err != nil {
		return err
	}
	m.told.Add(fidelity.Stream, strconv.Itoa(s.Index()), "codec")
	m.warn("%s becomes %s", streamName(s), C.GoString(C.avcodec_get_name(to)))
	return av.Error(int(C.avcodec_parameters_from_context(st.codecpar, subs.enc)))
}

// describeVideo fills in the video stream once its encoder is open.
func (o *Output) describeVideo(f *pipeline.Frame) error {
	st, in := o.video, inputStream(o.in.Video)
	if err := av.Error(int(C.avcodec_parameters_from_context(st.codecpar, (*C.AVCodecContext)(o.enc.UnsafePointer())))); err != nil {
		return err
	}
	if o.onDevice != nil {
		st.codecpar.format = C.int(av.PixelFormat(o.onDevice.layout))
	}
	if name := o.opts.codec().tags[o.form.Family]; name != "" {
		st.codecpar.codec_tag = tag(name)
	}
	if err := o.describeDisplay(f); err != nil {
		return err
	}
	if in.disposition&C.AV_DISPOSITION_MULTILAYER != 0 { // of which one is left
		C.av_packet_side_data_remove(st.codecpar.coded_side_data, &st.codecpar.nb_coded_side_data, C.AV_PKT_DATA_STEREO3D)
	}
	if o.mp4() {
		C.vf_plain_stereo(st.codecpar)
	}
	if err := o.keepCrop(f, in.codecpar); err != nil {
		return err
	}
	if err := o.hidePadding(f); err != nil {
		return err
	}
	o.carrier.clear(st.codecpar)
	o.nameLost(st.codecpar, f)
	if err := o.describeDolby(st.codecpar); err != nil {
		return err
	}
	st.time_base = o.unit
	st.sample_aspect_ratio = st.codecpar.sample_aspect_ratio
	rate := fraction(o.shown.Rate)
	st.avg_frame_rate, st.r_frame_rate = fraction(o.shown.MeanRate), rate
	// A mean above the rate is wrong: for DV, FFmpeg also counts packets of audio.
	// MXF shows pictures at this rate.
	if o.shown.Rate.Known() && (o.form.OneRate || C.av_cmp_q(st.avg_frame_rate, rate) > 0) {
		st.avg_frame_rate = rate
	}
	if o.form.Family == formats.Raw && o.form.OneRate {
		o.setPace(st)
	}
	st.disposition = in.disposition &^ (C.AV_DISPOSITION_ATTACHED_PIC | C.AV_DISPOSITION_MULTILAYER)
	if o.form.KeepsIDs {
		st.id = in.id
	}
	return o.videoMetadata(st, in)
}

// describeDisplay has the stream say how pictures like f are shown.
func (m *muxer) describeDisplay(f *pipeline.Frame) error {
	par := m.video.codecpar
	if props := propsFrame(f); props != nil {
		if err := av.Error(int(C.vf_frame_display(par, props))); err != nil {
			return err
		}
	}
	if m.has("transfer") { // see untrue
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

// keepCrop has the container hide the edges that the input's hides, or says that they are shown.
func (m *muxer) keepCrop(f *pipeline.Frame, in *C.AVCodecParameters) error {
	crop := C.av_packet_side_data_get(in.coded_side_data, in.nb_coded_side_data, C.AV_PKT_DATA_FRAME_CROPPING)
	why := ""
	switch {
	case crop == nil || m.in.Part:
		return nil
	case f.Width != int(in.width) || f.Height != int(in.height):
		why = "the pictures have another size than it says"
	case m.form.Family != formats.ISO && m.form.Family != formats.Matroska:
		why = m.opts.Format + " has no place for a crop"
	default:
		return av.Error(int(C.vf_put_side_data(m.video.codecpar, crop._type, crop.data, crop.size)))
	}
	m.told.Add(fidelity.Video, "", "crop")
	m.warn("the edges that the input's container hides are shown: %s", why)
	return nil
}

func (m *muxer) videoMetadata(st, in *C.AVStream) error {
	if err := av.Error(int(C.av_dict_copy(&st.metadata, in.metadata, 0))); err != nil {
		return err
	}
	dropTags(&st.metadata, fidelity.OfCoding)
	stampTime(&st.metadata)
	m.keepNames(&st.metadata, "encoding_tool")
	m.nameHandler(st)
	set(&st.metadata, "encoder", strings.TrimSpace(m.opts.Software+" "+m.opts.codec().Name))
	return nil
}

// fileMetadata copies the file's tags, chapters and programs.
func (m *muxer) fileMetadata(first int64) error {
	if m.in.Part {
		key, value := m.in.Tag(first)
		set(&m.oc.metadata, key, value)
		return nil
	}
	src := m.source()
	if err := av.Error(int(C.av_dict_copy(&m.oc.metadata, src.metadata, 0))); err != nil {
		return err
	}
	dropTags(&m.oc.metadata, fidelity.OfContainer)
	stampTime(&m.oc.metadata)
	m.keepNames(&m.oc.metadata, "encoding_tool", "stereo_mode")
	for _, c := range av.Slice(src.chapters, int(src.nb_chapters)) {
		us := C.AVRational{1, 1000000}
		start := int64(C.av_rescale_q(c.start, c.time_base, us)) + m.in.Shift
		end := int64(C.av_rescale_q(c.end, c.time_base, us)) + m.in.Shift
		if m.in.Cut {
			if end <= m.in.Start || m.in.End > 0 && start >= m.in.End {
				continue
			}
			start = max(start, m.in.Start)
			if m.in.End > 0 {
				end = min(end, m.in.End)
			}
		}
		if err := av.Error(int(C.vf_add_chapter(m.oc, C.int64_t(c.id), C.int64_t(start), C.int64_t(end), c.metadata))); err != nil {
			return err
		}
	}
	if !m.form.KeepsIDs {
		return nil
	}
	indexes := make([]C.int, src.nb_streams)
	for i := range indexes {
		indexes[i] = -1
		if l := m.lanes[i]; l != nil {
			indexes[i] = l.st.index
		}
	}
	indexes[m.in.Video.Index()] = m.video.index
	return av.Error(int(C.vf_copy_programs(m.oc, src, &indexes[0])))
}
