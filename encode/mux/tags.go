package mux

//#include <stdlib.h>
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
	"vidfilter/pipeline"
)

func inputStream(s *astiav.Stream) *C.AVStream { return (*C.AVStream)(av.StreamPtr(s)) }

// streamName names a stream in messages: "stream 3 (subtitle hdmv_pgs_subtitle, eng)".
func streamName(s *astiav.Stream) string {
	par := inputStream(s).codecpar
	kind, codec := s.CodecParameters().MediaType().String(), " "+C.GoString(C.avcodec_get_name(par.codec_id))
	switch {
	case par.codec_type == C.AVMEDIA_TYPE_UNKNOWN:
		kind, codec = "of an unknown kind", ""
	case par.codec_id == C.AV_CODEC_ID_NONE:
		codec = " of an unknown codec"
	}
	name := fmt.Sprintf("stream %d (%s%s", s.Index(), kind, codec)
	for _, k := range []string{"language", "filename"} {
		if v := metadata(inputStream(s).metadata, k); v != "" {
			name += ", " + v
		}
	}
	return name + ")"
}

func dropTags(d **C.AVDictionary, match func(key string) bool) {
	for k := range tags(*d) {
		if match(k) {
			set(d, k, "")
		}
	}
}

// stampTime gives a time of creation its zone: muxers take one without for local time.
func stampTime(d **C.AVDictionary) {
	if t := metadata(*d, "creation_time"); t != "" {
		set(d, "creation_time", fidelity.UTC(t))
	}
}

// nameHandler writes a stream's title where most programs look for it in MP4.
func nameHandler(f formats.Format, st *C.AVStream) {
	if title := metadata(st.metadata, "title"); title != "" && f.Family == formats.ISO {
		setDefault(&st.metadata, "handler_name", title)
	}
}

// keepNames keeps FFmpeg's muxer for Matroska from leaving out tags of the given names, and from
// renaming tags that end like a language of two letters.
func keepNames(f formats.Format, d **C.AVDictionary, omitted ...string) {
	if f.Family != formats.Matroska {
		return
	}
	for k, v := range tags(*d) {
		name := strings.ToLower(k)
		if slices.Contains(omitted, name) || len(k) > 3 && k[len(k)-3] == '-' {
			set(d, k, "")
			set(d, k+"-und", v)
		}
	}
}

func tag(s string) C.uint32_t { return C.uint32_t(binary.LittleEndian.Uint32([]byte(s))) }

func set(d **C.AVDictionary, key, value string) {
	av.SetOption(unsafe.Pointer(d), key, value)
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

func tags(d *C.AVDictionary) map[string]string { return av.Entries(unsafe.Pointer(d)) }

func rational(r astiav.Rational) C.AVRational { return C.AVRational{C.int(r.Num()), C.int(r.Den())} }

func fraction(r pipeline.Ratio) C.AVRational { return C.AVRational{C.int(r.Num), C.int(r.Den)} }

func codecNamed(name string) *C.AVCodecDescriptor {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	return C.avcodec_descriptor_get_by_name(cname)
}

func hasSideData(par *C.AVCodecParameters, kind C.enum_AVPacketSideDataType) bool {
	return C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, kind) != nil
}

// plain lists the tags that have atoms in MP4. Any other needs the newer scheme for all.
var plain = []string{"title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
	"lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "episode_sort", "season_number",
	"media_type", "hd_video", "gapless_playback", "compilation", "track", "disc", "tmpo", "creation_time", "timecode"}
