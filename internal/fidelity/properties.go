package fidelity

//#include "glue.h"
import "C"

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Property is an entry of the table: how a value is read, printed and compared. Values are as
// people read them.
type Property struct {
	Kind ItemKind
	Key  string // in JSON and for Told
	Name string // for people
	// compare judges a difference from one value to another; nil: the value is lost.
	compare func(from, to string) verdict
	// moot reports that the value is meaningless for the pictures or stream that another one
	// became.
	moot    func(from, to Item) bool
	counted bool // the value counts units of packets
	stated  bool // each picture has it, and few streams have more than one for all
	read    func(s *subject) string
}

// subject is the source of an item; fields that do not apply are zero.
type subject struct {
	fc      *C.AVFormatContext
	st      *C.AVStream
	seen    *Seen
	video   *pipeline.Video // in place of the stream's and picture's own; may be nil
	chapter *C.AVChapter
	shift   int64
	value   string
}

type table []Property

func (t table) of(kind ItemKind, key string) Property {
	for _, p := range t {
		if p.Kind == kind && p.Key == key {
			return p
		}
	}
	return Property{}
}

// properties lists all properties of all kinds of items, in the order in which they are printed.
var properties = table{
	{Kind: Video, Key: "codec", Name: "codec", compare: byDesign, read: (*subject).codec},
	{Kind: Video, Key: "size", Name: "size", read: (*subject).size},
	{Kind: Video, Key: "pixel_format", Name: "pixel format", compare: byDesign, read: (*subject).pixelFormat},
	{Kind: Video, Key: "depth", Name: "depth", compare: atLeast, read: (*subject).depth},
	{Kind: Video, Key: "chroma", Name: "chroma", compare: atLeast, read: (*subject).chroma},
	{Kind: Video, Key: "alpha", Name: "alpha", compare: gained, read: (*subject).alpha},
	{Kind: Video, Key: "range", Name: "range", compare: unless("limited"), read: (*subject).colourRange},
	{Kind: Video, Key: "primaries", Name: "colour primaries", stated: true, read: (*subject).primaries},
	{Kind: Video, Key: "transfer", Name: "transfer", stated: true, read: (*subject).transfer},
	{Kind: Video, Key: "matrix", Name: "matrix", read: (*subject).matrix},
	{Kind: Video, Key: "chroma_location", Name: "chroma location", compare: unless("left"), moot: noLocation, stated: true, read: (*subject).chromaLocation},
	{Kind: Video, Key: "sample_aspect", Name: "sample aspect", compare: sameRatio, stated: true, read: (*subject).aspect},
	{Kind: Video, Key: "crop", Name: "crop", read: (*subject).crop},
	{Kind: Video, Key: "rotation", Name: "rotation", stated: true, read: (*subject).rotation},
	{Kind: Video, Key: "field_order", Name: "field order", compare: sameOrders, read: (*subject).fields},
	{Kind: Video, Key: "stereo", Name: "stereo 3D", stated: true, read: (*subject).stereo},
	{Kind: Video, Key: "spherical", Name: "projection", compare: unless("rectilinear"), stated: true, read: (*subject).spherical},
	{Kind: Video, Key: "timecode", Name: "timecode", read: (*subject).timecode},
	{Kind: Video, Key: "hdr", Name: "HDR", compare: byDesign, read: (*subject).hdr},
	{Kind: Video, Key: "mastering_display", Name: "mastering display", compare: sameNumbers, stated: true, read: (*subject).mastering},
	{Kind: Video, Key: "content_light", Name: "content light level", stated: true, read: (*subject).light},
	{Kind: Video, Key: "ambient", Name: "ambient viewing", stated: true, read: (*subject).ambient},
	{Kind: Video, Key: "dolby_vision", Name: "Dolby Vision", compare: sameDolby, read: (*subject).dolbyVision},
	{Kind: Video, Key: "title", Name: "title", read: (*subject).title},
	{Kind: Video, Key: "created", Name: "creation time", read: (*subject).created},
	{Kind: Video, Key: "tags", Name: "tags", compare: noTagLess, read: (*subject).tags},
	{Kind: Video, Key: "hdr10plus", Name: "HDR10+", compare: fewer, counted: true, read: unitsOf(units.HDR10Plus)},
	{Kind: Video, Key: "rpu", Name: "Dolby Vision RPUs", compare: fewer, counted: true, read: unitsOf(units.DolbyVision)},
	{Kind: Video, Key: "captions", Name: "closed captions", compare: fewer, counted: true, read: unitsOf(units.Captions)},
	{Kind: Video, Key: "film_grain", Name: "film grain", read: (*subject).filmGrain},
	{Kind: Video, Key: "icc", Name: "ICC profile", stated: true, read: (*subject).icc},
	{Kind: Stream, Key: "kind", Name: "kind", read: (*subject).kind},
	{Kind: Stream, Key: "codec", Name: "codec", compare: sameCodec, read: (*subject).codec},
	{Kind: Stream, Key: "sample_rate", Name: "sample rate", moot: describesItself, read: (*subject).sampleRate},
	{Kind: Stream, Key: "channels", Name: "channels", moot: describesItself, read: (*subject).channels},
	{Kind: Stream, Key: "language", Name: "language", read: (*subject).language},
	{Kind: Stream, Key: "disposition", Name: "marks", compare: noMarkLess, read: (*subject).disposition},
	{Kind: Stream, Key: "title", Name: "title", read: (*subject).title},
	{Kind: Stream, Key: "created", Name: "creation time", read: (*subject).created},
	{Kind: Stream, Key: "tags", Name: "tags", compare: noTagLess, read: (*subject).tags},
	{Kind: Chapter, Key: "start", Name: "start", compare: sameTime, read: (*subject).start},
	{Kind: Chapter, Key: "title", Name: "title", read: (*subject).title},
	{Kind: Tag, Key: "value", Name: "value", compare: sameText, read: func(s *subject) string { return s.value }},
}

func (s *subject) codec() string { return C.GoString(C.avcodec_get_name(s.st.codecpar.codec_id)) }

func (s *subject) size() string {
	return fmt.Sprintf("%dx%d", int(s.st.codecpar.width), int(s.st.codecpar.height))
}

// sampleRate is empty where a header lacks it, and for streams without sound.
func (s *subject) sampleRate() string {
	if s.st.codecpar.sample_rate <= 0 {
		return ""
	}
	return fmt.Sprintf("%d Hz", int(s.st.codecpar.sample_rate))
}

func (s *subject) channels() string {
	if s.st.codecpar.ch_layout.nb_channels <= 0 {
		return ""
	}
	return fmt.Sprint(int(s.st.codecpar.ch_layout.nb_channels))
}

// picture returns the first picture, nil if it is not known.
func (s *subject) picture() *C.AVFrame { return s.seen.first() }

func (s *subject) format() *C.AVPixFmtDescriptor {
	format := s.st.codecpar.format
	if f := s.picture(); f != nil {
		format = f.format
	}
	return C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(format))
}

func (s *subject) pixelFormat() string {
	if d := s.format(); d != nil {
		return C.GoString(d.name)
	}
	return ""
}

func (s *subject) depth() string {
	d := s.format()
	if d == nil {
		return ""
	}
	depth := 0
	for _, c := range d.comp[:d.nb_components] {
		depth = max(depth, int(c.depth))
	}
	return fmt.Sprintf("%d bits", depth)
}

// chromas lists the values of chroma but RGB, from the least.
var chromas = []string{"none", "4:1:0", "4:1:1", "4:2:0", "4:4:0", "4:2:2", "4:4:4"}

func (s *subject) chroma() string {
	d := s.format()
	switch {
	case d == nil:
		return ""
	case d.flags&(C.AV_PIX_FMT_FLAG_RGB|C.AV_PIX_FMT_FLAG_PAL) != 0:
		return "RGB"
	case d.nb_components < 3:
		return "none"
	}
	return map[[2]C.uint8_t]string{{0, 0}: "4:4:4", {1, 0}: "4:2:2", {1, 1}: "4:2:0", {0, 1}: "4:4:0", {2, 0}: "4:1:1", {2, 2}: "4:1:0"}[[2]C.uint8_t{d.log2_chroma_w, d.log2_chroma_h}]
}

// alpha is empty for pictures that are known to be opaque.
func (s *subject) alpha() string {
	if d := s.format(); d == nil || d.flags&C.AV_PIX_FMT_FLAG_ALPHA == 0 || s.seen.opaque() {
		return ""
	}
	return "yes"
}

func (s *subject) colourRange() string {
	value := s.st.codecpar.color_range
	if f := s.picture(); f != nil && f.color_range != 0 {
		value = f.color_range
	}
	if strings.HasPrefix(s.pixelFormat(), "yuvj") {
		value = C.AVCOL_RANGE_JPEG
	}
	if s.chroma() == "RGB" {
		return ""
	}
	return []string{"", "limited", "full"}[value%3]
}

// tag returns the name of a colour tag, "" for one without a meaning.
func tag(name *C.char) string {
	switch s := C.GoString(name); s {
	case "reserved", "unknown", "unspecified":
		return ""
	default:
		return s
	}
}

func (s *subject) primaries() string {
	of := s.st.codecpar.color_primaries
	if f := s.picture(); f != nil && f.color_primaries != C.AVCOL_PRI_UNSPECIFIED {
		of = f.color_primaries
	}
	return tag(C.av_color_primaries_name(of))
}

func (s *subject) transfer() string {
	of := s.st.codecpar.color_trc
	if f := s.picture(); f != nil && f.color_trc != C.AVCOL_TRC_UNSPECIFIED {
		of = f.color_trc
	}
	return tag(C.av_color_transfer_name(of))
}

// matrix is empty for RGB.
func (s *subject) matrix() string {
	if s.chroma() == "RGB" {
		return ""
	}
	of := s.st.codecpar.color_space
	if f := s.picture(); f != nil && f.colorspace != C.AVCOL_SPC_UNSPECIFIED {
		of = f.colorspace
	}
	return tag(C.av_color_space_name(of))
}

// chromaLocation is empty for samples of chroma that lie on luma's, or beside them.
func (s *subject) chromaLocation() string {
	if s.chroma() != "4:2:0" {
		return ""
	}
	of := s.st.codecpar.chroma_location
	if f := s.picture(); f != nil && f.chroma_location != C.AVCHROMA_LOC_UNSPECIFIED {
		of = f.chroma_location
	}
	return tag(C.av_chroma_location_name(of))
}

// aspect is empty for square samples.
func (s *subject) aspect() string {
	r := s.ratio()
	if r.num <= 0 || r.den <= 0 || r.num == r.den {
		return ""
	}
	C.av_reduce(&r.num, &r.den, C.int64_t(r.num), C.int64_t(r.den), 1<<30)
	return fmt.Sprintf("%d:%d", int(r.num), int(r.den))
}

func (s *subject) ratio() C.AVRational {
	if s.video != nil {
		return C.AVRational{C.int(s.video.Aspect.Num), C.int(s.video.Aspect.Den)}
	}
	return C.av_guess_sample_aspect_ratio(s.fc, s.st, s.picture())
}

// crop is the edges of the pictures that a container hides.
func (s *subject) crop() string {
	b := s.packetSide(C.AV_PKT_DATA_FRAME_CROPPING)
	if len(b) < 16 {
		return ""
	}
	var parts []string
	for i, edge := range []string{"top", "bottom", "left", "right"} {
		if n := binary.LittleEndian.Uint32(b[4*i:]); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", edge, n))
		}
	}
	return strings.Join(parts, ", ")
}

// orders are the values of the field order.
var orders = [3]string{"progressive", "top field first", "bottom field first"}

// fields is the order of the fields of all pictures seen, or the header's before there is one: "top
// field first", "progressive in 20, top field first in 20 of 40 pictures".
func (s *subject) fields() string {
	var counts [3]int64
	var all int64
	if s.seen != nil {
		counts, all = s.seen.fields()
	}
	var some []string
	for i, n := range counts {
		switch {
		case n == all && n > 0:
			return orders[i]
		case n > 0:
			some = append(some, fmt.Sprintf("%s in %d", orders[i], n))
		}
	}
	if len(some) > 0 {
		return fmt.Sprintf("%s of %d pictures", strings.Join(some, ", "), all)
	}
	switch s.st.codecpar.field_order {
	case C.AV_FIELD_PROGRESSIVE:
		return "progressive"
	case C.AV_FIELD_TT, C.AV_FIELD_TB:
		return "top field first"
	case C.AV_FIELD_BB, C.AV_FIELD_BT:
		return "bottom field first"
	}
	return ""
}

// timecode is the first picture's, at any place in the container.
func (s *subject) timecode() string {
	value := metadata(s.fc.metadata, "timecode")
	for _, st := range av.Slice(s.fc.streams, int(s.fc.nb_streams)) {
		value = cmp.Or(value, metadata(st.metadata, "timecode"))
	}
	if strings.Trim(value, "0:;") == "" {
		return "" // cameras and muxers without one
	}
	return value
}

func (s *subject) kind() string {
	if s.st.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 {
		return "cover art"
	}
	return C.GoString(C.av_get_media_type_string(s.st.codecpar.codec_type))
}

// chosen reports whether players choose between streams of this kind.
func (s *subject) chosen() bool {
	kind := s.st.codecpar.codec_type
	return kind == C.AVMEDIA_TYPE_AUDIO || kind == C.AVMEDIA_TYPE_SUBTITLE
}

// language is one code of a language for all of them.
func (s *subject) language() string {
	l := metadata(s.st.metadata, "language")
	if l == "und" || !s.chosen() {
		return ""
	}
	return formats.OneLanguage(l)
}

// disposition is the list of marks by which players choose.
func (s *subject) disposition() string {
	var names []string
	for bit := C.int(1); s.chosen() && bit <= s.st.disposition && bit > 0; bit <<= 1 {
		if name := C.av_disposition_to_string(s.st.disposition & bit); name != nil {
			names = append(names, strings.ReplaceAll(C.GoString(name), "_", " "))
		}
	}
	// MP4 has one mark for both of each.
	for mark, also := range map[string]string{"hearing impaired": "captions", "visual impaired": "descriptions"} {
		if slices.Contains(names, mark) {
			names = slices.DeleteFunc(names, func(n string) bool { return n == also })
		}
	}
	return strings.Join(names, ", ")
}

// title is also that which MP4 has for the handler of a stream, unless all have it.
func (s *subject) title() string {
	if s.chapter != nil {
		return metadata(s.chapter.metadata, "title")
	}
	handler := metadata(s.st.metadata, "handler_name")
	if strings.HasSuffix(handler, "Handler") {
		handler = ""
	}
	return cmp.Or(metadata(s.st.metadata, "title"), handler)
}

// created is when a stream was made, to the second, if its file was made at another time.
func (s *subject) created() string {
	t := second(metadata(s.st.metadata, "creation_time"))
	if t == second(metadata(s.fc.metadata, "creation_time")) {
		return ""
	}
	return t
}

// propertyTags are tags of streams that other properties hold.
var propertyTags = strings.Fields("title handler_name language creation_time timecode reel_name rotate stereo_mode alpha_mode filename mimetype")

// tagSeparator is between the tags of a stream.
const tagSeparator = "; "

// tags lists the other tags of a stream.
func (s *subject) tags() string {
	var list []string
	for _, t := range tagsOf(s.st.metadata) {
		if value := strings.TrimSpace(t.value); value != "" && !OfContainer(t.key) && !OfCoding(t.key) && !slices.Contains(propertyTags, plainKey(t.key)) {
			list = append(list, t.key+": "+strings.ReplaceAll(value, tagSeparator, ", "))
		}
	}
	return strings.Join(list, tagSeparator)
}

func (s *subject) start() string {
	us := int64(C.av_rescale_q(s.chapter.start, s.chapter.time_base, C.AVRational{1, 1000000})) + s.shift
	return fmt.Sprintf("%.3f s", float64(us)/1e6)
}

func metadata(d *C.AVDictionary, key string) string {
	for _, t := range tagsOf(d) {
		if t.key == key {
			return t.value
		}
	}
	return ""
}
