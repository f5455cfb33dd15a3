package encode

//#include "glue.h"
import "C"

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vidfilter/internal/av"
)

// NotKept returns what the output does not have of the input's video beside its pictures: those of
// the extras that it lacks, and what its codec or container has no place for. It is known after the
// last frame.
func (o *Output) NotKept(extras []string) []string {
	lost := slices.DeleteFunc(slices.Clone(extras), func(x string) bool { return x == av.Alpha && o.alphaKept })
	for _, name := range o.carrier.lost {
		if !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	return lost
}

// fewer lists the names that streams of want have more often than those of got.
func fewer(want, got *C.AVFormatContext, names func(*C.AVStream) []string) (lost []string) {
	count := map[string]int{}
	for fc, by := range map[*C.AVFormatContext]int{want: 1, got: -1} {
		for _, st := range av.Slice(fc.streams, int(fc.nb_streams)) {
			for _, name := range names(st) {
				count[name] += by
			}
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n <= 0 })
	return slices.Sorted(maps.Keys(count))
}

// languages names the language of audio and subtitles.
func languages(st *C.AVStream) []string {
	l := metadata(st.metadata, "language")
	l = cmp.Or(quickTimeLanguages[l], l)
	if kind := st.codecpar.codec_type; l == "" || l == "und" || kind != C.AVMEDIA_TYPE_AUDIO && kind != C.AVMEDIA_TYPE_SUBTITLE {
		return nil
	}
	return []string{"the language " + l}
}

// flags names the dispositions of audio and subtitles that players choose by, without "default":
// containers that do not have it take the first stream.
func flags(st *C.AVStream) (names []string) {
	kind := map[C.enum_AVMediaType]string{C.AVMEDIA_TYPE_AUDIO: "sound", C.AVMEDIA_TYPE_SUBTITLE: "subtitles"}[st.codecpar.codec_type]
	if kind == "" {
		return nil
	}
	for bit := C.int(1); bit <= st.disposition && bit > 0; bit <<= 1 {
		name := C.av_disposition_to_string(st.disposition & bit)
		if name != nil && bit != C.AV_DISPOSITION_DEFAULT {
			names = append(names, fmt.Sprintf("the mark %q of %s", strings.ReplaceAll(C.GoString(name), "_", " "), kind))
		}
	}
	return names
}

// lostWords names titles and creation times of streams that are nowhere in the file. A creation
// time of the whole file counts as kept.
func lostWords(want, got *C.AVFormatContext) (lost []string) {
	said := []string{metadata(got.metadata, "creation_time")}
	for _, st := range av.Slice(got.streams, int(got.nb_streams)) {
		for _, key := range []string{"title", "handler_name", "creation_time"} {
			said = append(said, metadata(st.metadata, key))
		}
	}
	second := len("2006-01-02T15:04:05") // the precision of containers
	for _, st := range av.Slice(want.streams, int(want.nb_streams)) {
		if title := metadata(st.metadata, "title"); title != "" && !slices.Contains(said, title) {
			lost = append(lost, fmt.Sprintf("the title %q of stream %d", title, st.index))
		}
		t := metadata(st.metadata, "creation_time")
		if t = t[:min(second, len(t))]; t != "" && !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, t) }) {
			lost = append(lost, fmt.Sprintf("the creation time of stream %d", st.index))
		}
	}
	return lost
}
