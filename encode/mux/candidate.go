package mux

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/audio"
	"vidfilter/encode/formats"
	"vidfilter/internal/av"
)

type candidate struct {
	*file
	s     *astiav.Stream
	in    *C.AVStream
	early []*C.AVPacket // its first packets
}

// holds reports whether the muxer begins a file of the stream alone: its list of codecs promises
// more.
func (c *candidate) holds() bool {
	switch {
	case c.CodeSound && C.av_get_exact_bits_per_sample(c.in.codecpar.codec_id) > 0:
		return false
	case c.Form.Family == formats.Broadcast: // its muxer takes sound beside pictures only
		return slices.Contains(c.Form.Codecs, C.GoString(C.avcodec_get_name(c.in.codecpar.codec_id))) &&
			c.in.codecpar.codec_type == C.AVMEDIA_TYPE_AUDIO && c.in.codecpar.sample_rate == 48000
	case slices.Contains(c.Form.Misread, C.GoString(C.avcodec_get_name(c.in.codecpar.codec_id))):
		return !audio.FitsFLAC(c.s.CodecParameters()) && muxes(c.oc.oformat, c.Form, c.in, c.codecTag())
	case c.Form.Codecs != nil:
		return muxes(c.oc.oformat, c.Form, c.in, 0)
	case c.in.codecpar.codec_type == C.AVMEDIA_TYPE_ATTACHMENT:
		return c.Form.Attachments
	case c.in.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 && c.Form.NoCoverArt,
		c.in.codecpar.codec_type == C.AVMEDIA_TYPE_DATA && c.in.codecpar.codec_tag == tag("text") &&
			c.MP4(): // chapters without their list
		return false // the muxer takes it and then does not write it
	}
	return muxes(c.oc.oformat, c.Form, c.in, c.codecTag())
}

// readsBack reports whether sound is there when the file is read: muxers write codecs that readers
// do not find.
func (c *candidate) readsBack() bool {
	if c.in.codecpar.codec_type != C.AVMEDIA_TYPE_AUDIO || c.Form.Codecs != nil {
		return true
	}
	if c.MP4() && C.av_codec_get_tag(c.oc.oformat.codec_tag, c.in.codecpar.codec_id) == 0 {
		return false // FFmpeg makes up a tag
	}
	if len(c.early) == 0 || c.refusal() != nil {
		return true // addStream reports a refusal
	}
	list := (**C.AVPacket)(C.calloc(C.size_t(len(c.early)), C.size_t(unsafe.Sizeof(c.early[0]))))
	defer C.free(unsafe.Pointer(list))
	copy(unsafe.Slice(list, len(c.early)), c.early)
	return C.vf_reads_back(c.oc.oformat, c.in, c.codecTag(), list, C.int(len(c.early))) != 0
}

// refusal returns the error if the muxer refuses all first packets: a faulty header shows only in
// packets. The first packet of a broadcast may be cut off.
func (c *candidate) refusal() (err error) {
	if c.Form.Family == formats.Broadcast {
		return nil
	}
	least := 1
	if from := (*C.AVFormatContext)(av.FormatPtr(c.In.Context)).iformat; from != nil && from.flags&C.AVFMT_TS_DISCONT != 0 {
		least = 2
	}
	for _, p := range c.early {
		if err = av.Error(int(C.vf_try_packet(c.oc.oformat, c.in, c.codecTag(), p))); err == nil {
			return nil
		}
	}
	if len(c.early) < least {
		return nil
	}
	return err
}

func (c *candidate) silent() bool {
	return c.in.codecpar.codec_type == C.AVMEDIA_TYPE_DATA && c.in.codecpar.codec_tag == tag("tmcd") && c.MP4()
}

// codecTag returns the tag if it means the same in the new container, else 0: the muxer chooses.
func (c *candidate) codecTag() C.uint32_t {
	par := c.in.codecpar
	if c.Format == formats.MOV && par.codec_tag == tag("gpmd") { // for which its muxer has no table
		return par.codec_tag
	}
	if tags := c.oc.oformat.codec_tag; tags != nil && C.av_codec_get_id(tags, par.codec_tag) == par.codec_id {
		return par.codec_tag
	}
	return 0
}

func (c *candidate) textFor() (C.enum_AVCodecID, bool) {
	d := C.avcodec_descriptor_get(c.in.codecpar.codec_id)
	if d == nil || d.props&C.AV_CODEC_PROP_TEXT_SUB == 0 || c.Form.Text == "" {
		return 0, false
	}
	return codecNamed(c.Form.Text).id, true
}

// Holds reports whether files of a format hold the video of an open encoder.
func Holds(f formats.Format, enc *astiav.CodecContext) bool {
	name := C.CString(f.Muxer())
	defer C.free(unsafe.Pointer(name))
	var fc *C.AVFormatContext
	if C.avformat_alloc_output_context2(&fc, nil, name, nil) < 0 {
		return false
	}
	defer C.avformat_free_context(fc)
	st := C.avformat_new_stream(fc, nil)
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	if st == nil || C.avcodec_parameters_from_context(st.codecpar, c) < 0 {
		return false
	}
	st.time_base = c.time_base
	st.avg_frame_rate = C.AVRational{25, 1}
	return muxes(fc.oformat, f, st, st.codecpar.codec_tag)
}

func muxes(muxer *C.AVOutputFormat, f formats.Format, st *C.AVStream, tag C.uint32_t) bool {
	known := f.Codecs == nil || slices.Contains(f.Codecs, C.GoString(C.avcodec_get_name(st.codecpar.codec_id)))
	return known && C.vf_can_mux(muxer, st, tag) != 0
}
