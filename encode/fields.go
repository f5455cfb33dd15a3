package encode

//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
import "C"

import (
	"fmt"

	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
	"vidfilter/pipeline"
)

// fields is what a coder does with interlaced pictures.
type fields struct {
	coded    bool   // the encoder codes fields
	topFirst bool   // their order
	asFrame  bool   // the next picture is a progressive one in a stream with fields
	unfit    string // why the pictures cannot be coded as interlaced
	told     bool
	kinds    [3]bool // of pictures so far: progressive, top field first, bottom field first
}

// LateFieldsError says that pictures are interlaced, and that the encoder was opened or chosen for
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

// kindOf returns the place of a picture in fields.kinds.
func kindOf(f *pipeline.Frame) int {
	switch {
	case !f.Interlaced:
		return 0
	case f.TopFieldFirst:
		return 1
	}
	return 2
}

// mixed reports whether pictures differed in their fields.
func (s *fields) mixed() bool {
	return s.kinds != [3]bool{s.kinds[0]} && s.kinds != [3]bool{1: s.kinds[1]} && s.kinds != [3]bool{2: s.kinds[2]}
}

// Fields reports which pictures were put: progressive, top field first, bottom field first.
func (o *Output) Fields() [3]bool { return o.fields.kinds }

// fieldCoding is how the chosen encoder codes fields.
func (o *Options) fieldCoding() fieldCoding {
	how := o.codec().fields
	if level := o.EncoderParams.value("level"); how == ownFields && level != "" && level != ffv1Level {
		return streamFields // of FFV1 before version 3
	}
	return how
}

// openFields has an encoder, whose picture is set up, code fields if pictures like f need it.
func (e *coder) openFields(c *C.AVCodecContext, f *pipeline.Frame) {
	s, codec := &e.fields, e.opts.codec()
	s.coded, s.topFirst = f.Interlaced, f.TopFieldFirst
	if codec.fields == mixedFields && !f.Interlaced && e.opts.Interlaced {
		s.coded, s.topFirst = true, e.opts.TopFieldFirst
	}
	d := C.av_pix_fmt_desc_get(c.pix_fmt)
	switch {
	case codec.fields == noFields:
		s.unfit = fmt.Sprintf("the encoder %s has none", codec.Name)
	case codec.fields == mixedFields && d != nil && f.Height%(2<<d.log2_chroma_h) != 0: // whole rows of chroma in each field
		s.unfit = fmt.Sprintf("%d lines cannot be coded as interlaced", f.Height)
	}
	if s.coded = s.coded && s.unfit == "" && !e.isPicture(); !s.coded {
		return
	}
	c.flags |= C.AV_CODEC_FLAG_INTERLACED_DCT | C.AV_CODEC_FLAG_INTERLACED_ME
	c.field_order = C.AV_FIELD_BB
	if s.topFirst {
		c.field_order = C.AV_FIELD_TT
	}
}

// followFields reports whether a frame needs an encoder of its own, and names fields that are lost.
func (e *coder) followFields(f *pipeline.Frame) (anew bool, err error) {
	s, how := &e.fields, e.opts.fieldCoding()
	s.kinds[kindOf(f)] = true
	s.asFrame = how == mixedFields && s.coded && !f.Interlaced
	if e.isPicture() || how == ownFields {
		return false, nil
	}
	otherOrder := s.coded && f.Interlaced && f.TopFieldFirst != s.topFirst
	late := f.Interlaced && !s.coded
	switch {
	case late && e.opts.Undecided && e.in.Again, late && how == mixedFields && s.unfit == "" && (e.in.Again || e.part):
		return false, &LateFieldsError{e.seconds(f), f.TopFieldFirst}
	case s.unfit != "":
		if f.Interlaced {
			e.tellFields(f, "the fields are filtered apart, but %s: the output is tagged progressive", s.unfit)
		}
	case how == apartFields:
		return f.Interlaced != s.coded, nil
	case how == mixedFields && otherOrder: // which no header has
		return true, nil
	case how == mixedFields && late && !e.globalHeader:
		return true, nil
	case late:
		e.tellFields(f, "interlaced pictures come behind progressive ones, of which the output cannot have both: they are tagged progressive")
	case otherOrder:
		e.tellFields(f, "the order of the fields changes, and the output has one for all")
	case how == streamFields && s.coded && !f.Interlaced:
		e.tellFields(f, "progressive pictures come behind interlaced ones, of which the output cannot have both: they are tagged interlaced")
	}
	return false, nil
}

// tellFields names what becomes of fields, once.
func (e *coder) tellFields(f *pipeline.Frame, format string, args ...any) {
	if e.fields.told {
		return
	}
	e.fields.told = true
	e.told.Add(fidelity.Video, "", "field_order")
	e.warn("%s%s", fmt.Sprintf(format, args...), e.since(f))
}

// since says from when on a change is, unless it is from the first frame on.
func (e *coder) since(f *pipeline.Frame) string {
	if e.frames == 0 {
		return ""
	}
	return fmt.Sprintf(" from %s on", text.Seconds(e.seconds(f)))
}

// seconds is a frame's time since the first one.
func (e *coder) seconds(f *pipeline.Frame) float64 {
	if e.frames == 0 {
		return 0
	}
	return float64(f.PTS-e.origin) * e.shown.TimeBase.Float64()
}
