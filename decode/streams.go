package decode

//#include "glue.h"
import "C"

import (
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// containerStreams are all streams of a container.
type containerStreams struct{ fc *astiav.FormatContext }

func (s containerStreams) context() *C.AVFormatContext {
	return (*C.AVFormatContext)(av.FormatPtr(s.fc))
}

func (s containerStreams) list() []*C.AVStream {
	return av.Slice(s.context().streams, int(s.context().nb_streams))
}

func (s containerStreams) programs() []*C.AVProgram {
	return av.Slice(s.context().programs, int(s.context().nb_programs))
}

func (s containerStreams) stream(i int) *C.AVStream { return s.list()[i] }

func (s containerStreams) isPicture(i int) bool {
	return s.stream(i).disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0
}

// sparse reports whether packets of a stream last long, and are not decoded from others.
func (s containerStreams) sparse(i int) bool {
	kind := s.stream(i).codecpar.codec_type
	return kind != C.AVMEDIA_TYPE_VIDEO && kind != C.AVMEDIA_TYPE_AUDIO
}

// movable reports whether a stream is video, sound or subtitles.
func (s containerStreams) movable(i int) bool {
	switch s.stream(i).codecpar.codec_type {
	case C.AVMEDIA_TYPE_VIDEO, C.AVMEDIA_TYPE_AUDIO, C.AVMEDIA_TYPE_SUBTITLE:
		return !s.isPicture(i)
	}
	return false
}

// alike reports whether one decoder fits both streams. The layer of MPEG audio is not known at the
// beginning, so all layers are alike.
func (s containerStreams) alike(a, b int) bool {
	codec := func(i int) C.enum_AVCodecID {
		id := s.stream(i).codecpar.codec_id
		if id == C.AV_CODEC_ID_MP1 || id == C.AV_CODEC_ID_MP2 {
			return C.AV_CODEC_ID_MP3
		}
		return id
	}
	return s.stream(a).codecpar.codec_type == s.stream(b).codecpar.codec_type && codec(a) == codec(b)
}

// programOf returns the identifier of the first program that lists a stream; ok is false without
// one.
func (s containerStreams) programOf(i int) (id int, ok bool) {
	for _, p := range s.programs() {
		for _, n := range av.Slice(p.stream_index, int(p.nb_stream_indexes)) {
			if int(n) == i {
				return int(p.id), true
			}
		}
	}
	return 0, false
}

// listed reports whether a program has the stream now.
func (s containerStreams) listed(i int) bool { _, ok := s.programOf(i); return ok }

// filledPrograms returns how many programs list streams.
func (s containerStreams) filledPrograms() (n int) {
	for _, p := range s.programs() {
		if p.nb_stream_indexes > 0 {
			n++
		}
	}
	return n
}

// pick returns the first of some streams with the language of another, else the first, else -1.
func (s containerStreams) pick(i int, among []int) int {
	language := func(i int) string { return entries(s.stream(i).metadata)["language"] }
	for _, f := range among {
		if language(f) == language(i) {
			return f
		}
	}
	if len(among) > 0 {
		return among[0]
	}
	return -1
}

// nameOf names a stream in messages.
func (s containerStreams) nameOf(i int) string {
	par := s.stream(i).codecpar
	return fmt.Sprintf("stream %d (%s %s)", i, C.GoString(C.av_get_media_type_string(par.codec_type)), C.GoString(C.avcodec_get_name(par.codec_id)))
}

// isChapterTrack recognizes the text track in which MP4 keeps its chapters, which are copied as
// such.
func (s containerStreams) isChapterTrack(i int) bool {
	st := s.stream(i)
	return st.codecpar.codec_type == C.AVMEDIA_TYPE_DATA && st.codecpar.codec_id == C.AV_CODEC_ID_BIN_DATA &&
		st.codecpar.codec_tag == tag("text") && s.context().nb_chapters > 0
}
