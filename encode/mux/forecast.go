package mux

import (
	"fmt"
	"slices"
	"strings"

	"vidfilter/encode/formats"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
)

type forecast struct{ *file }

// missingProperty is a property for which a kind of file has no place.
type missingProperty struct {
	format, codec string // FFmpeg's names of the format and the encoder; "" is any
	kind          fidelity.ItemKind
	keys          string // of properties; "" is the whole item
	only          string // values that it lacks; "" is any
}

var lacks = []missingProperty{
	{"", "", fidelity.Video, "created", ""},
	{"", "", fidelity.Stream, "created", ""},
	{formats.MP4, "", fidelity.Video, "tags", ""},
	{formats.MP4, "", fidelity.Stream, "tags", ""},
	{formats.MOV, "", fidelity.Video, "tags", ""},
	{formats.MOV, "", fidelity.Stream, "tags", ""},
	{formats.TS, "", fidelity.Tag, "", ""},
	{formats.TS, "", fidelity.Chapter, "", ""},
	{formats.TS, "", fidelity.Stream, "title tags", ""},
	{formats.TS, "", fidelity.Video, "title rotation timecode tags", ""},
	{formats.MXF, "", fidelity.Tag, "", ""},
	{formats.MXF, "", fidelity.Chapter, "", ""},
	{formats.MXF, "", fidelity.Stream, "title language tags", ""},
	{formats.MXF, "", fidelity.Video, "title rotation tags", ""},
	{formats.MXF, "dnxhd", fidelity.Video, "sample_aspect", ""},
	{formats.MXF, "dnxhd", fidelity.Video, "transfer matrix", "bt470bg smpte170m"},
	{formats.Y4M, "", fidelity.Video, "primaries transfer matrix rotation timecode title tags", ""},
	{formats.Y4M, "", fidelity.Video, "chroma_location", "bottomleft bottom top"},
	{formats.NUT, "", fidelity.Video, "primaries transfer matrix range chroma_location field_order rotation timecode", ""},
	{formats.MOV, "ffv1", fidelity.Video, "range chroma_location", ""},
	{formats.MKV, "libsvtav1", fidelity.Video, "chroma_location", "bottomleft bottom"},
	{formats.WebM, "libsvtav1", fidelity.Video, "chroma_location", "bottomleft bottom"},
	{"", "ffv1", fidelity.Video, "chroma_location", "bottomleft bottom"},
}

func (l missingProperty) is(format, codec string, i fidelity.Item, key string) bool {
	return (l.format == "" || l.format == format) && (l.codec == "" || l.codec == codec) && l.kind == i.Kind &&
		(l.keys == "" && key == "" || key != "" && slices.Contains(strings.Fields(l.keys), key)) &&
		(l.only == "" || slices.Contains(strings.Fields(l.only), i.Values[key]))
}

// marks lists the marks of streams that formats hold, by kind of stream. Other formats hold all.
var marks = map[string]map[string]string{
	formats.MP4:  {"audio": "dub comment forced hearing_impaired visual_impaired", "subtitle": "dub comment forced hearing_impaired visual_impaired"},
	formats.MOV:  {},
	formats.MXF:  {},
	formats.NUT:  {"audio": "dub original comment lyrics karaoke"},
	formats.TS:   {"audio": "hearing_impaired visual_impaired clean_effects", "subtitle": "hearing_impaired"},
	formats.WebM: {"audio": "forced", "subtitle": "forced captions descriptions metadata"},
}

func unmarked(format string, i fidelity.Item) (lost []string) {
	held, some := marks[format]
	for mark := range strings.SplitSeq(i.Values["disposition"], ", ") {
		if some && mark != "" && mark != "default" && !slices.Contains(strings.Fields(held[i.Values["kind"]]), strings.ReplaceAll(mark, " ", "_")) {
			lost = append(lost, mark)
		}
	}
	return lost
}

func (m forecast) foresee() {
	switch {
	case m.In.Facts == nil || m.In.Part:
		return
	case m.Form.Alone:
		m.nameRest()
		return
	case !m.Carries():
		return
	}
	var names []string
	chapters := 0
	for _, i := range m.In.Facts() {
		switch {
		case m.Told.Covers(i, ""):
		case i.Kind == fidelity.Chapter && m.lacks(i, ""):
			m.Told.Add(i.Kind, i.Name, "")
			chapters++
		case m.lacks(i, ""):
			m.Told.Add(i.Kind, i.Name, "")
			names = append(names, "the "+i.String())
		default:
			names = append(names, m.foreseeItem(i)...)
		}
	}
	if chapters > 0 {
		names = append(names, fmt.Sprintf("%d chapters", chapters))
	}
	if len(names) > 0 {
		m.Warn("%s cannot keep %s", m.Format, strings.Join(names, ", "))
	}
}

func (m forecast) foreseeItem(i fidelity.Item) (names []string) {
	const columns = 100 // of a value
	for _, key := range fidelity.Missed(i) {
		if m.lacks(i, key) && !(i.Kind == fidelity.Video && m.Has(key)) {
			m.Told.Add(i.Kind, i.Name, key)
			names = append(names, fmt.Sprintf("the %s of %s (%s)", fidelity.Name(i.Kind, key), i, text.Clip(i.Values[key], columns)))
		}
	}
	if lost := unmarked(m.Format, i); lost != nil {
		m.Told.Add(i.Kind, i.Name, "disposition")
		names = append(names, fmt.Sprintf("the mark %q of %s", strings.Join(lost, ", "), i))
	}
	return names
}

func (m forecast) lacks(i fidelity.Item, key string) bool {
	if i.Kind == fidelity.Tag && key == "" && m.MP4() && m.hasCover() && !slices.Contains(plain, i.Name) {
		return true // see movFlags
	}
	if key == "language" && m.Form.LanguageCode(i.Values[key]) == "" {
		return true
	}
	if key == "stereo" && strings.Contains(i.Values[key], "inverted") && m.Form.Family != formats.Matroska && m.Encoder != "libx265" {
		return true // see vf_plain_stereo; x264 has the other order alone
	}
	if m.Form.Name == formats.Y4M && key == "chroma_location" && i.Values["depth"] != "8 bits" {
		return true // it is a part of the names of 8 bits
	}
	return slices.ContainsFunc(lacks, func(l missingProperty) bool { return l.is(m.Format, m.Encoder, i, key) })
}

func (m forecast) nameRest() {
	const columns = 40 // of a value
	var names, ofVideo []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, i := range m.In.Facts() {
		switch i.Kind {
		case fidelity.Stream:
			add(strings.Replace(i.Values["kind"], "video", "other video", 1))
		case fidelity.Chapter:
			add("chapters")
		case fidelity.Tag:
			add("tags")
		default:
			for _, key := range fidelity.Missed(i) {
				if m.lacks(i, key) {
					m.Told.Add(i.Kind, i.Name, key)
					ofVideo = append(ofVideo, fmt.Sprintf("%s (%s)", fidelity.Name(i.Kind, key), text.Clip(i.Values[key], columns)))
				}
			}
		}
		if i.Kind != fidelity.Video {
			m.Told.Add(i.Kind, i.Name, "")
		}
	}
	if names = append(names, ofVideo...); len(names) > 0 {
		m.Warn("%s holds pictures alone, without %s", m.Format, strings.Join(names, ", "))
	}
}
