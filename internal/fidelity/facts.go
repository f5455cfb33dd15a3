// Package fidelity describes files by a table of properties, and compares two of them: the source
// of a job and its output, or any others.
package fidelity

//#cgo pkg-config: libavformat libavcodec libavutil
//#include "glue.h"
import "C"

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"vidfilter/internal/av"
)

// ItemKind is the kind of an item of a file.
type ItemKind string

// The kinds.
const (
	Video   ItemKind = "video" // the pictures that are filtered
	Stream  ItemKind = "stream"
	Chapter ItemKind = "chapter"
	Tag     ItemKind = "tag" // of the file as a whole
)

// Item is a part of a file with properties of its own.
type Item struct {
	Kind   ItemKind
	Name   string            // among its kind: a stream's index, a chapter's number, a tag's key
	Values map[string]string // by the keys of properties; those that are not known are missing
}

// String names the item in messages.
func (i Item) String() string { return strings.TrimSpace(string(i.Kind) + " " + i.Name) }

// Facts describe a file.
type Facts []Item

// Partly returns what remains of the facts if only a part of the file is taken: units and field
// orders are there or not, whatever their number, and chapters and timecodes begin elsewhere.
// Chapters that keep refuses are left out.
func (f Facts) Partly(keep func(title string) bool) (part Facts) {
	for _, i := range f {
		if i.Kind == Chapter && !keep(i.Values["title"]) {
			continue
		}
		other := i.uncounted()
		delete(other.Values, "start")
		delete(other.Values, "timecode")
		part = append(part, other)
	}
	return part
}

// uncounted returns an item whose units and field orders are there or not, whatever their number.
func (i Item) uncounted() Item {
	i.Values = maps.Clone(i.Values)
	for k, v := range i.Values {
		switch {
		case properties.of(i.Kind, k).counted:
			i.Values[k] = present
		case k == "field_order":
			i.Values[k] = partlyOrdered(v)
		}
	}
	return i
}

// Fields reports which pictures the video has: progressive, top field first, bottom field first.
func (f Facts) Fields() (some [3]bool) {
	for _, i := range f {
		if i.Kind == Video {
			for k, o := range orders {
				some[k] = strings.Contains(i.Values["field_order"], o)
			}
		}
	}
	return some
}

// Retimed returns the facts for pictures at another rate, without the numbers of units and of field
// orders.
func (f Facts) Retimed() (other Facts) {
	for _, i := range f {
		other = append(other, i.uncounted())
	}
	return other
}

// File is an open file to read facts from.
type File struct {
	Context unsafe.Pointer        // AVFormatContext
	Video   int                   // index of the stream with the pictures
	Seen    *Seen                 // of the pictures; nil: only headers are read
	Takes   func(stream int) bool // streams that count; nil takes all
	Shift   int64                 // microseconds to add to the times of chapters
}

// Read returns the facts of a file.
func Read(f File) (facts Facts) {
	fc := (*C.AVFormatContext)(f.Context)
	facts = append(facts, f.Stream(f.Video))
	for i, st := range av.Slice(fc.streams, int(fc.nb_streams)) {
		if i != f.Video && (f.Takes == nil || f.Takes(i)) && !remade(st) {
			facts = append(facts, read(Stream, fmt.Sprint(i), &subject{fc: fc, st: st}))
		}
	}
	for i, c := range av.Slice(fc.chapters, int(fc.nb_chapters)) {
		facts = append(facts, read(Chapter, fmt.Sprint(i+1), &subject{fc: fc, chapter: c, shift: f.Shift}))
	}
	for _, t := range tagsOf(fc.metadata) {
		if t.key != "timecode" && !OfContainer(t.key) {
			facts = append(facts, read(Tag, t.key, &subject{fc: fc, value: t.value}))
		}
	}
	return facts
}

// Stream returns the facts of one stream. For any video they are as for the counted pictures.
func (f File) Stream(i int) Item {
	fc := (*C.AVFormatContext)(f.Context)
	s := &subject{fc: fc, st: av.Slice(fc.streams, int(fc.nb_streams))[i]}
	switch {
	case i == f.Video:
		s.seen = f.Seen
		return read(Video, "", s)
	case s.st.codecpar.codec_type == C.AVMEDIA_TYPE_VIDEO:
		return read(Video, fmt.Sprint(i), s)
	}
	return read(Stream, fmt.Sprint(i), s)
}

// read fills in the values of an item.
func read(kind ItemKind, name string, s *subject) Item {
	item := Item{kind, name, map[string]string{}}
	for _, p := range properties {
		if p.Kind != kind {
			continue
		}
		if v := p.read(s); v != "" {
			item.Values[p.Key] = v
		}
	}
	return item
}

// containerTags describe a container or name its writer, in lower case: they are true of one file
// only.
var containerTags = strings.Fields(`major_brand minor_version compatible_brands encoder software duration
	application_platform company_name generation_uid material_package_umid file_package_umid
	operational_pattern_ul product_name product_uid product_version product_version_num toolkit_version_num uid modification_date`)

// codingTags describe how a stream is coded, in lower case.
var codingTags = strings.Fields(`bps number_of_bytes number_of_frames duration _statistics_writing_app _statistics_writing_date_utc
	_statistics_tags encoder variant_bitrate vendor_id`)

// OfContainer reports whether a tag of a file describes its container or names its writer, in any
// language.
func OfContainer(key string) bool { return slices.Contains(containerTags, plainKey(key)) }

// OfCoding reports whether a tag of a stream describes how it is coded, in any language.
func OfCoding(key string) bool { return slices.Contains(codingTags, plainKey(key)) }

// plainKey returns a key in lower case without the language that FFmpeg puts behind it, as in
// "title-eng".
func plainKey(key string) string {
	key = strings.ToLower(key)
	if i := strings.LastIndexByte(key, '-'); i > 0 && (len(key)-i == len("-eng") || len(key)-i == len("-en")) {
		return key[:i]
	}
	return key
}

// remade reports whether a muxer makes a stream anew: timecodes are a property of the video, and
// chapters are chapters.
func remade(st *C.AVStream) bool {
	par := st.codecpar
	return par.codec_type == C.AVMEDIA_TYPE_DATA && (par.codec_tag == fourCC("tmcd") || par.codec_tag == fourCC("text"))
}

func fourCC(s string) C.uint32_t {
	return C.uint32_t(s[0]) | C.uint32_t(s[1])<<8 | C.uint32_t(s[2])<<16 | C.uint32_t(s[3])<<24
}

type keyed struct{ key, value string }

// synonyms are names that Matroska has for others.
var synonyms = map[string]string{"lead_performer": "performer", "part_number": "track"}

// tagsOf returns the tags of a dictionary in order of their keys, in lower case and with _ for
// spaces: containers differ in that.
func tagsOf(d *C.AVDictionary) (list []keyed) {
	var e *C.AVDictionaryEntry
	for {
		if e = C.av_dict_iterate(d, e); e == nil {
			slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
			return list
		}
		key := strings.ReplaceAll(strings.ToLower(C.GoString(e.key)), " ", "_")
		list = append(list, keyed{cmp.Or(synonyms[key], key), C.GoString(e.value)})
	}
}
