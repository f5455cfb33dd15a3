package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/opt.h>
//#include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/mux"
	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Check reports whether an output can be made with these options, as far as that does not depend
// on the input: the encoder exists and takes its options, and the format holds its video. It opens
// the encoder for a small picture, and no file. It reads FFmpeg's log, so no other work of FFmpeg
// may run beside it. Its errors wrap ErrOption.
func Check(options spec.Options) error {
	o := newEncoder(options)
	codec, err := findEncoder(o.about.Name)
	if err != nil {
		return err
	}
	if err := o.checkDepth(codec); err != nil {
		return err
	}
	if o.Form.Family == formats.Picture {
		return nil // its one encoder has no other options
	}
	if contradiction := o.about.contradiction; contradiction != nil {
		if err := contradiction(o); err != nil {
			return err
		}
	}
	enc := astiav.AllocCodecContext(codec)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	defer freeEncoder(enc)
	said := av.Overhear(astiav.LogLevelError, func() { err = o.try(enc, codec) })
	if refused, ok := errors.AsType[*encoderError](err); ok {
		refused.said, refused.picture = said, ""
	}
	if err != nil {
		return err
	}
	if of := o.about.OnDevice; of != "" { // its headers come with its device: those of another will do
		return o.checkFormatOf(codec, of)
	}
	return o.checkFormat(codec, enc)
}

// checkFormatOf is checkFormat with the encoder that codes the same on the CPU, by its common name.
func (o *encoder) checkFormatOf(codec *astiav.Codec, common string) error {
	about, _ := CodecNamed(common)
	other := newEncoder(spec.Options{Encoder: about.Name, Preset: about.Preset, CRF: about.CRF})
	stand, err := findEncoder(about.Name)
	if err != nil {
		return err
	}
	enc := astiav.AllocCodecContext(stand)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	defer freeEncoder(enc)
	if err := other.try(enc, stand); err != nil {
		return err
	}
	return o.checkFormat(codec, enc)
}

func (o *encoder) try(enc *astiav.CodecContext, codec *astiav.Codec) error {
	const side = 256 // no encoder needs more
	pf := astiav.PixelFormatYuv420P
	if o.PixelFormat != "" {
		var err error
		if pf, err = o.namedFormat(codec, side, side); err != nil {
			return err
		}
	} else if offered := o.offered(codec, o.codedDepth(bits)); len(offered) > 0 && !slices.Contains(offered, pf) {
		pf = offered[0]
	}
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	enc.SetWidth(side)
	enc.SetHeight(side)
	enc.SetPixelFormat(pf)
	enc.SetTimeBase(astiav.NewRational(1, 25))
	enc.SetThreadCount(1)
	if o.about.fullRange {
		c.color_range = C.AVCOL_RANGE_JPEG
	}
	c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	if o.about.OnDevice != "" {
		return o.tryOptions(c, codec)
	}
	return o.open(enc, codec)
}

// tryOptions gives the options to an encoder that cannot be opened here, for want of its device.
func (o *encoder) tryOptions(c *C.AVCodecContext, codec *astiav.Codec) error {
	dict := o.dictionary(c)
	defer dict.Free()
	var e *astiav.DictionaryEntry
	for {
		if e = dict.Get("", e, astiav.NewDictionaryFlags(astiav.DictionaryFlagIgnoreSuffix)); e == nil {
			return nil
		}
		key, value := C.CString(e.Key()), C.CString(e.Value())
		code := C.av_opt_set(unsafe.Pointer(c), key, value, C.AV_OPT_SEARCH_CHILDREN)
		C.free(unsafe.Pointer(key))
		C.free(unsafe.Pointer(value))
		switch {
		case code == C.AVERROR_OPTION_NOT_FOUND:
			return lacksOption(codec, e.Key())
		case code < 0:
			return &encoderError{codec.Name(), "", av.Error(int(code)), nil}
		}
	}
}

// checkFormat asks the muxer whether it takes the encoder's video.
func (o *encoder) checkFormat(codec *astiav.Codec, enc *astiav.CodecContext) error {
	if o.Form.Family == formats.None || mux.Holds(o.Form, enc) {
		return nil
	}
	var others []string
	for _, f := range formats.All {
		if f.Video() && mux.Holds(f, enc) {
			others = append(others, f.Endings[0])
		}
	}
	hint := "choose another --codec"
	if len(others) > 0 {
		hint = "write " + strings.Join(others, " or ") + ", or choose another --codec"
	}
	return misused(hint, "%s cannot hold the video of the encoder %s", o.Format, codec.Name())
}

// Fits reports whether a picture of this size can be encoded with the output's options.
func (e *encoder) Fits(width, height int) error {
	about := e.about
	codec, err := findEncoder(about.Name)
	if err != nil {
		return err
	}
	if !about.Takes(width, height) {
		return e.misfit(width, height)
	}
	if e.PixelFormat != "" {
		_, err = e.namedFormat(codec, width, height)
	}
	if err == nil && about.OnDevice != "" && e.Device != nil {
		return e.Device.Supports(about.OnDevice, pipeline.YUV420P, width, height)
	}
	return err
}

// misfit says why an encoder does not take pictures of a size, and which one does.
func (e *encoder) misfit(width, height int) error {
	about := e.about
	advice := "write .mkv, with --codec ffv1"
	if others := e.fitting(width, height); len(others) > 0 {
		advice = "--codec " + strings.Join(others, " or ") + " takes it"
	}
	why := "its sides must be even"
	switch most, least := about.maxSide, about.minSide; {
	case most > 0 && max(width, height) > most:
		why = fmt.Sprintf("sides are at most %d", most)
	case min(width, height) < least || width < about.minWidth:
		why = fmt.Sprintf("pictures are at least %dx%d", max(least, about.minWidth), least)
	}
	return target.Refusal(advice, "%s cannot encode %dx%d: %s", about.Name, width, height, why)
}

// Fitting lists the codecs of the output's format that take pictures of a size, by their common
// names.
func Fitting(o spec.Options, width, height int) []string {
	return newEncoder(o).fitting(width, height)
}

func (o *encoder) fitting(width, height int) (names []string) {
	for _, c := range codecs {
		if c.Common == "" || c.OnDevice != "" || !c.Takes(width, height) {
			continue
		}
		if o.holdsVideoOf(c) {
			names = append(names, c.Common)
		}
	}
	return names
}

// holdsVideoOf reports whether the output's format holds what an encoder codes.
func (o *encoder) holdsVideoOf(c Codec) bool {
	other := newEncoder(spec.Options{Format: o.Format, Encoder: c.Name, Preset: c.Preset, CRF: c.CRF})
	encoder, err := findEncoder(c.Name)
	if err != nil {
		return false
	}
	enc := astiav.AllocCodecContext(encoder)
	if enc == nil {
		return false
	}
	defer freeEncoder(enc)
	return other.try(enc, encoder) == nil && mux.Holds(o.Form, enc)
}
