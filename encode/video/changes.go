package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
import "C"

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vidfilter/encode/side"
	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// interlacing is the coding of interlaced pictures.
type interlacing struct {
	*encoder
	coded    bool   // the encoder codes fields
	topFirst bool   // their order
	asFrame  bool   // the next picture is a progressive one in a stream with fields
	unfit    string // why the pictures cannot be coded as interlaced
	told     bool
	kinds    [3]bool // of pictures so far: progressive, top field first, bottom field first
}

// LateFieldsError reports interlaced pictures where the encoder was opened or chosen for
// progressive ones. The job can begin again with Options.Interlaced.
type LateFieldsError struct {
	At            float64 // seconds
	TopFieldFirst bool
}

func (e *LateFieldsError) Error() string {
	if e.At == 0 {
		return "the pictures are interlaced, which the header does not say"
	}
	return fmt.Sprintf("the pictures from %s on are interlaced, those before are not", text.Seconds(e.At))
}

func kindOf(f *pipeline.Frame) int {
	switch {
	case !f.Interlaced:
		return 0
	case f.TopFieldFirst:
		return 1
	}
	return 2
}

func (s *interlacing) mixed() bool {
	return s.kinds != [3]bool{s.kinds[0]} && s.kinds != [3]bool{1: s.kinds[1]} && s.kinds != [3]bool{2: s.kinds[2]}
}

// open has an encoder, whose picture is set up, code fields if pictures like f need it.
func (s *interlacing) open(c *C.AVCodecContext, f *pipeline.Frame) {
	codec := s.about
	s.coded, s.topFirst = f.Interlaced, f.TopFieldFirst
	if codec.fields == mixedFields && !f.Interlaced && s.Interlaced {
		s.coded, s.topFirst = true, s.TopFieldFirst
	}
	d := C.av_pix_fmt_desc_get(c.pix_fmt)
	switch {
	case codec.fields == noFields:
		s.unfit = fmt.Sprintf("the encoder %s has none", codec.Name)
	case codec.fields == mixedFields && d != nil && f.Height%(2<<d.log2_chroma_h) != 0: // whole rows of chroma in each field
		s.unfit = fmt.Sprintf("%d lines cannot be coded as interlaced", f.Height)
	}
	if s.coded = s.coded && s.unfit == "" && !s.IsPicture(); !s.coded {
		return
	}
	c.flags |= C.AV_CODEC_FLAG_INTERLACED_DCT | C.AV_CODEC_FLAG_INTERLACED_ME
	c.field_order = C.AV_FIELD_BB
	if s.topFirst {
		c.field_order = C.AV_FIELD_TT
	}
}

// follow reports whether a frame needs an encoder of its own, and names fields that are lost.
func (s *interlacing) follow(f *pipeline.Frame) (anew bool, err error) {
	how := s.fieldCoding()
	s.kinds[kindOf(f)] = true
	s.asFrame = how == mixedFields && s.coded && !f.Interlaced
	if s.IsPicture() || how == ownFields {
		return false, nil
	}
	otherOrder := s.coded && f.Interlaced && f.TopFieldFirst != s.topFirst
	late := f.Interlaced && !s.coded
	switch {
	case late && s.Undecided && s.In.Again, late && how == mixedFields && s.unfit == "" && (s.In.Again || s.part):
		return false, &LateFieldsError{s.seconds(f), f.TopFieldFirst}
	case s.unfit != "":
		if f.Interlaced {
			s.tell(f, "the fields are filtered apart, but %s: the output is tagged progressive", s.unfit)
		}
	case how == apartFields:
		return f.Interlaced != s.coded, nil
	case how == mixedFields && otherOrder: // which no header has
		return true, nil
	case how == mixedFields && late && !s.globalHeader:
		return true, nil
	case late:
		s.tell(f, "interlaced pictures come behind progressive ones, of which the output cannot have both: they are tagged progressive")
	case otherOrder:
		s.tell(f, "the order of the fields changes, and the output has one for all")
	case how == streamFields && s.coded && !f.Interlaced:
		s.tell(f, "progressive pictures come behind interlaced ones, of which the output cannot have both: they are tagged interlaced")
	}
	return false, nil
}

func (s *interlacing) tell(f *pipeline.Frame, format string, args ...any) {
	if s.told {
		return
	}
	s.told = true
	s.Told.Add(fidelity.Video, "", "field_order")
	s.Warn("%s%s", fmt.Sprintf(format, args...), s.since(f))
}

// changes follows properties of pictures that a stream has once for all.
type changes struct {
	*encoder
	stated fidelity.Stated
	told   []string // keys of properties whose change was named
}

// headed are the properties that the headers of H.264 and HEVC have, where those are repeated.
var headed = strings.Fields("primaries transfer chroma_location sample_aspect")

var missing = map[string]string{"sample_aspect": "1:1"}

var inUnits = map[string]units.MetadataKind{
	"mastering_display": units.MasteringDisplay, "content_light": units.ContentLight, "ambient": units.AmbientViewing, "stereo": units.FramePacking,
}

// follow reports whether a frame describes the video so differently that it needs an encoder of its
// own. Where the output has one for all frames, it names the change, once.
func (c *changes) follow(f *pipeline.Frame, carrier *side.Carrier) (anew bool) {
	props := av.FrameProps(f)
	if props == nil || c.IsPicture() {
		return false
	}
	codec := c.about
	repeats := !c.globalHeader && codec.headers != nil && codec.OnDevice == "" && !carrier.Grained()
	for _, is := range c.stated.Follow(av.FormatPtr(c.In.Context), av.StreamPtr(c.In.Video), props, f.Video) {
		kind := inUnits[is.Key]
		switch {
		case kind != 0 && carrier.Carries(kind), is.Key == "stereo" && codec.Name == spec.X264: // which codes it with each picture
		case repeats && slices.Contains(headed, is.Key):
			anew = true
		case !slices.Contains(c.told, is.Key):
			c.told = append(c.told, is.Key)
			c.Told.Add(fidelity.Video, "", is.Key)
			c.Warn("the pictures change their %s from %s to %s,%s; the output has one for all, that of the first",
				is.Name, cmp.Or(is.From, missing[is.Key], "none"), cmp.Or(is.To, missing[is.Key], "none"), c.since(f))
		}
	}
	return anew
}
