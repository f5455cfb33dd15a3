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
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

func (o *Output) source() *C.AVFormatContext { return (*C.AVFormatContext)(av.FormatPtr(o.in.Context)) }

func inputStream(s *astiav.Stream) *C.AVStream { return (*C.AVStream)(av.StreamPtr(s)) }

// mapStreams makes an output stream for every input stream that the container can hold, in the input's
// order, and names the rest in warnings.
func (o *Output) mapStreams() error {
	all := append(slices.Clone(o.in.Others), o.in.Video)
	slices.SortFunc(all, func(a, b *astiav.Stream) int { return a.Index() - b.Index() })
	for _, s := range all {
		if s.Index() == o.in.Video.Index() {
			if o.video = C.avformat_new_stream(o.oc, nil); o.video == nil {
				return errors.New("encode: out of memory")
			}
			continue
		}
		if Image(o.opts.Format) || o.opts.Format == "null" {
			continue // a picture has no other streams, and nothing is where they would go
		}
		if err := o.mapStream(s); err != nil {
			return err
		}
	}
	return nil
}

func (o *Output) mapStream(s *astiav.Stream) error {
	in := inputStream(s)
	par := in.codecpar
	switch {
	case in.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 && o.opts.Format == "matroska":
		return o.attachPicture(s)
	case o.silent(par):
		return nil
	case par.codec_type == C.AVMEDIA_TYPE_AUDIO && par.sample_rate <= 0: // cut off before its first packet
		o.opts.Warn("%s is left out: the input does not say how it sounds", streamName(s))
		return nil
	case o.holds(in):
		return o.copyStream(s)
	case par.codec_type == C.AVMEDIA_TYPE_SUBTITLE:
		if to, ok := o.textFor(par.codec_id); ok {
			return o.convertSubtitles(s, to)
		}
	case par.codec_type == C.AVMEDIA_TYPE_AUDIO:
		if err := o.convertAudio(s); err == nil {
			return nil
		}
	}
	o.opts.Warn("%s is left out: %s cannot hold it", streamName(s), o.opts.Format)
	return nil
}

// streamName names a stream to a person: "stream 3 (subtitle hdmv_pgs_subtitle, eng)".
func streamName(s *astiav.Stream) string {
	par := inputStream(s).codecpar
	name := fmt.Sprintf("stream %d (%s %s", s.Index(), s.CodecParameters().MediaType(), C.GoString(C.avcodec_get_name(par.codec_id)))
	for _, k := range []string{"language", "filename"} {
		if v := metadata(inputStream(s).metadata, k); v != "" {
			name += ", " + v
		}
	}
	return name + ")"
}

// silent tells a timecode track, which the MP4 family makes anew from the metadata.
func (o *Output) silent(par *C.AVCodecParameters) bool {
	return par.codec_type == C.AVMEDIA_TYPE_DATA && par.codec_tag == tag("tmcd") && o.mp4()
}

// mp4 tells the containers of the MP4 family.
func (o *Output) mp4() bool { return o.opts.Format == "mp4" || o.opts.Format == "mov" }

// tsCodecs is what an MPEG transport stream has stream types for; its muxer takes the rest as private data
// that nothing reads. Blu-ray's own types (PGS, TrueHD, PCM) are not among them: they mean something else
// outside of a .m2ts.
var tsCodecs = []C.enum_AVCodecID{
	C.AV_CODEC_ID_H264, C.AV_CODEC_ID_HEVC, C.AV_CODEC_ID_VVC, C.AV_CODEC_ID_MPEG1VIDEO, C.AV_CODEC_ID_MPEG2VIDEO, C.AV_CODEC_ID_MPEG4,
	C.AV_CODEC_ID_VC1, C.AV_CODEC_ID_DIRAC, C.AV_CODEC_ID_CAVS, C.AV_CODEC_ID_JPEG2000,
	C.AV_CODEC_ID_MP1, C.AV_CODEC_ID_MP2, C.AV_CODEC_ID_MP3, C.AV_CODEC_ID_AAC, C.AV_CODEC_ID_AAC_LATM, C.AV_CODEC_ID_AC3, C.AV_CODEC_ID_EAC3,
	C.AV_CODEC_ID_DTS, C.AV_CODEC_ID_OPUS, C.AV_CODEC_ID_S302M,
	C.AV_CODEC_ID_DVB_SUBTITLE, C.AV_CODEC_ID_DVB_TELETEXT,
	C.AV_CODEC_ID_SMPTE_KLV, C.AV_CODEC_ID_TIMED_ID3, C.AV_CODEC_ID_SCTE_35, C.AV_CODEC_ID_ARIB_CAPTION,
}

// holds tells whether the container takes a stream as it is: the muxer is asked to begin a file of nothing
// else, since the lists of codecs that muxers publish say yes to more than they take.
func (o *Output) holds(in *C.AVStream) bool {
	if o.opts.Format == "mpegts" {
		return slices.Contains(tsCodecs, in.codecpar.codec_id) && C.vf_can_mux(o.oc.oformat, in, 0) != 0
	}
	switch {
	case in.codecpar.codec_type == C.AVMEDIA_TYPE_ATTACHMENT:
		return o.opts.Format == "matroska"
	case in.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 && o.opts.Format == "mov",
		in.codecpar.codec_type == C.AVMEDIA_TYPE_DATA && in.codecpar.codec_tag == tag("text") && o.mp4(): // chapters that lost their list
		return false // it is taken and then not written
	}
	return C.vf_can_mux(o.oc.oformat, in, o.codecTag(in.codecpar)) != 0
}

// codecTag returns the codec tag that a stream keeps in the new container, 0 for the muxer's choice: a tag
// belongs to its container, and is kept only where the new one means the same by it.
func (o *Output) codecTag(par *C.AVCodecParameters) C.uint32_t {
	if tags := o.oc.oformat.codec_tag; tags != nil && C.av_codec_get_id(tags, par.codec_tag) == par.codec_id {
		return par.codec_tag
	}
	return 0
}

// textFor names the codec that text subtitles become in a container that cannot hold them as they are.
func (o *Output) textFor(id C.enum_AVCodecID) (C.enum_AVCodecID, bool) {
	d := C.avcodec_descriptor_get(id)
	if d == nil || d.props&C.AV_CODEC_PROP_TEXT_SUB == 0 {
		return 0, false
	}
	switch o.opts.Format {
	case "mp4", "mov":
		return C.AV_CODEC_ID_MOV_TEXT, true
	case "matroska":
		return C.AV_CODEC_ID_SUBRIP, true
	}
	return 0, false
}

// newStream makes an output stream with all that a stream has beside its codec.
func (o *Output) newStream(s *astiav.Stream) (*C.AVStream, error) {
	st := C.avformat_new_stream(o.oc, nil)
	if st == nil {
		return nil, errors.New("encode: out of memory")
	}
	in := inputStream(s)
	st.disposition = in.disposition
	st.time_base = in.time_base
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	st.sample_aspect_ratio = in.sample_aspect_ratio
	st.discard = in.discard
	if o.opts.Format == "mpegts" && in.id >= 32 {
		st.id = in.id // the PID
	}
	if err := av.Error(int(C.av_dict_copy(&st.metadata, in.metadata, 0))); err != nil {
		return st, err
	}
	if to := quickTimeLanguages[metadata(st.metadata, "language")]; to != "" && o.opts.Format == "mov" {
		set(&st.metadata, "language", to)
	}
	return st, nil
}

// quickTimeLanguages are languages with two codes of which FFmpeg's list for QuickTime has the other one.
var quickTimeLanguages = map[string]string{
	"fre": "fra", "deu": "ger", "nld": "dut", "swe": "sve", "ell": "gre", "isl": "ice", "zho": "chi", "fas": "per", "sqi": "alb",
	"rum": "ron", "cze": "ces", "slo": "slk", "mkd": "mac", "hye": "arm", "kat": "geo",
}

// copyStream carries a stream along bit for bit.
func (o *Output) copyStream(s *astiav.Stream) error {
	st, err := o.newStream(s)
	if err != nil {
		return err
	}
	in := inputStream(s)
	if err := av.Error(int(C.vf_copy_parameters(st.codecpar, in.codecpar, o.codecTag(in.codecpar)))); err != nil {
		return err
	}
	o.lanes[s.Index()] = &lane{st: st, from: in.time_base, last: av.NoPTS}
	return nil
}

// attachPicture makes cover art an attachment, which is how Matroska has it.
func (o *Output) attachPicture(s *astiav.Stream) error {
	in := inputStream(s)
	st := C.avformat_new_stream(o.oc, nil)
	if st == nil {
		return errors.New("encode: out of memory")
	}
	pic := in.attached_pic
	st.codecpar.codec_type, st.codecpar.codec_id = C.AVMEDIA_TYPE_ATTACHMENT, in.codecpar.codec_id
	if err := av.Error(int(C.vf_set_extradata(st.codecpar, pic.data, pic.size))); err != nil {
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

func (o *Output) convertSubtitles(s *astiav.Stream, to C.enum_AVCodecID) error {
	subs := (*C.vf_subs)(C.calloc(1, C.sizeof_vf_subs))
	if err := av.Error(int(C.vf_subs_open(subs, inputStream(s), to))); err != nil {
		C.free(unsafe.Pointer(subs))
		o.opts.Warn("%s is left out: it cannot be converted: %v", streamName(s), err)
		return nil
	}
	st, err := o.newStream(s)
	l := &lane{st: st, from: inputStream(s).time_base, last: av.NoPTS, subs: subs}
	o.lanes[s.Index()] = l // from here on Close frees it
	if err != nil {
		return err
	}
	o.opts.Warn("%s becomes %s", streamName(s), C.GoString(C.avcodec_get_name(to)))
	return av.Error(int(C.avcodec_parameters_from_context(st.codecpar, subs.enc)))
}

// describeVideo fills in the video stream once its encoder is open.
func (o *Output) describeVideo(f *pipeline.Frame) error {
	st, in := o.video, inputStream(o.in.Video)
	if err := av.Error(int(C.avcodec_parameters_from_context(st.codecpar, (*C.AVCodecContext)(o.enc.UnsafePointer())))); err != nil {
		return err
	}
	if err := av.Error(int(C.vf_copy_display(st.codecpar, in.codecpar))); err != nil {
		return err
	}
	if props := propsFrame(f); props != nil {
		if err := av.Error(int(C.vf_frame_rotation(st.codecpar, props))); err != nil {
			return err
		}
		o.keepOrientation(int(C.vf_orientation(props)))
	}
	st.time_base = in.time_base
	st.sample_aspect_ratio = st.codecpar.sample_aspect_ratio
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	st.disposition = in.disposition &^ C.AV_DISPOSITION_ATTACHED_PIC
	if o.opts.Format == "mpegts" && in.id >= 32 {
		st.id = in.id
	}
	return o.videoMetadata(st, in)
}

// stale are tags of a video stream that describe the old encoding.
var stale = []string{"BPS", "NUMBER_OF_BYTES", "NUMBER_OF_FRAMES", "DURATION", "_STATISTICS_WRITING_APP", "_STATISTICS_WRITING_DATE_UTC",
	"_STATISTICS_TAGS", "encoder", "variant_bitrate"}

func (o *Output) videoMetadata(st, in *C.AVStream) error {
	if err := av.Error(int(C.av_dict_copy(&st.metadata, in.metadata, 0))); err != nil {
		return err
	}
	for _, k := range stale {
		set(&st.metadata, k, "")
		set(&st.metadata, k+"-eng", "")
	}
	set(&st.metadata, "encoder", strings.TrimSpace(o.opts.Software+" "+o.encoderName()))
	return nil
}

// container keys say how the input's container was written; the muxer writes its own.
var containerKeys = []string{"major_brand", "minor_version", "compatible_brands", "encoder", "software", "DURATION"}

// fileMetadata copies what the file says of itself: tags, chapters, programs.
func (o *Output) fileMetadata(first int64) error {
	if o.in.Part {
		key, value := o.in.Tag(first)
		set(&o.oc.metadata, key, value)
		return nil
	}
	src := o.source()
	if err := av.Error(int(C.av_dict_copy(&o.oc.metadata, src.metadata, 0))); err != nil {
		return err
	}
	for _, k := range containerKeys {
		set(&o.oc.metadata, k, "")
	}
	for _, c := range av.Slice(src.chapters, int(src.nb_chapters)) {
		us := C.AVRational{1, 1000000}
		start := int64(C.av_rescale_q(c.start, c.time_base, us)) + o.in.Shift
		end := int64(C.av_rescale_q(c.end, c.time_base, us)) + o.in.Shift
		if o.in.Cut {
			if end <= o.in.Start || o.in.End > 0 && start >= o.in.End {
				continue
			}
			start = max(start, o.in.Start)
			if o.in.End > 0 {
				end = min(end, o.in.End)
			}
		}
		if err := av.Error(int(C.vf_add_chapter(o.oc, C.int64_t(c.id), C.int64_t(start), C.int64_t(end), c.metadata))); err != nil {
			return err
		}
	}
	if o.opts.Format != "mpegts" {
		return nil
	}
	indexes := make([]C.int, src.nb_streams)
	for i := range indexes {
		indexes[i] = -1
		if l := o.lanes[i]; l != nil {
			indexes[i] = l.st.index
		}
	}
	indexes[o.in.Video.Index()] = o.video.index
	return av.Error(int(C.vf_copy_programs(o.oc, src, &indexes[0])))
}

func tag(s string) C.uint32_t {
	return C.uint32_t(s[0]) | C.uint32_t(s[1])<<8 | C.uint32_t(s[2])<<16 | C.uint32_t(s[3])<<24
}

// set writes a tag; an empty value removes it.
func set(d **C.AVDictionary, key, value string) {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	var v *C.char
	if value != "" {
		v = C.CString(value)
		defer C.free(unsafe.Pointer(v))
	}
	C.av_dict_set(d, k, v, 0)
}

func setDefault(d **C.AVDictionary, key, value string) {
	if metadata(*d, key) == "" {
		set(d, key, value)
	}
}

func metadata(d *C.AVDictionary, key string) string {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	if e := C.av_dict_get(d, k, nil, 0); e != nil {
		return C.GoString(e.value)
	}
	return ""
}

func tags(d *C.AVDictionary) map[string]string {
	m := map[string]string{}
	var e *C.AVDictionaryEntry
	for {
		if e = C.av_dict_iterate(d, e); e == nil {
			return m
		}
		m[C.GoString(e.key)] = C.GoString(e.value)
	}
}
