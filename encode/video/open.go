package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/buffer.h>
//#include <stdlib.h>
//#include <libavutil/opt.h>
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/mux"
	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

var shared sync.Mutex // see Codec.sharesState

// alone runs a call that opens or closes an encoder, in turn where encoders share state.
func alone(encoder string, call func() error) error {
	if CodecOf(encoder).sharesState {
		shared.Lock()
		defer shared.Unlock()
	}
	return call()
}

// freeEncoder frees the memory of pictures on a device last: the encoder has registered it.
func freeEncoder(enc *astiav.CodecContext) {
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	var pictures *C.AVBufferRef
	if c.hw_frames_ctx != nil {
		pictures = C.av_buffer_ref(c.hw_frames_ctx)
	}
	name := ""
	if c.codec != nil {
		name = C.GoString(c.codec.name)
	}
	_ = alone(name, func() error { enc.Free(); return nil })
	C.av_buffer_unref(&pictures)
}

// open opens an encoder, whose picture is set up, with the user's options.
func (o *encoder) open(enc *astiav.CodecContext, codec *astiav.Codec) error {
	dict := o.dictionary((*C.AVCodecContext)(enc.UnsafePointer()))
	defer dict.Free()
	if err := alone(codec.Name(), func() error { return enc.Open(codec, dict) }); err != nil {
		picture := fmt.Sprintf(" for %dx%d %s", enc.Width(), enc.Height(), enc.PixelFormat())
		if short := av.OfShortage(err, fmt.Errorf("open the encoder %s%s: %w", codec.Name(), picture, err)); short != nil && o.about.OnDevice == "" {
			return short
		}
		return &encoderError{codec.Name(), picture, err, nil}
	}
	if e := dict.Get("", nil, astiav.NewDictionaryFlags(astiav.DictionaryFlagIgnoreSuffix)); e != nil {
		return lacksOption(codec, e.Key())
	}
	return nil
}

// dictionary returns the options in FFmpeg's terms. Opening the encoder leaves unknown ones there.
func (o *encoder) dictionary(c *C.AVCodecContext) *astiav.Dictionary {
	d := astiav.NewDictionary()
	set := func(option, value string) {
		if value != "" {
			_ = d.Set(option, value, 0)
		}
	}
	codec := o.about
	if o.Form.Family != formats.Picture {
		o.setCommon(codec, c, set)
	}
	if codec.configure != nil {
		codec.configure(o, c, set)
	}
	return d
}

func (o *encoder) setCommon(codec Codec, c *C.AVCodecContext, set func(option, value string)) {
	if o.GOP > 0 {
		c.gop_size = C.int(o.GOP)
	}
	if !codec.ownPreset {
		set(cmp.Or(codec.preset, "preset"), o.Preset)
	}
	if !codec.ownTune {
		set("tune", o.Tune)
	}
	set("x264-params", o.Params.String())
	if o.Bitrate > 0 {
		c.bit_rate = C.int64_t(o.Bitrate)
	} else if o.CRF >= 0 {
		set(cmp.Or(codec.quality, "crf"), strconv.FormatFloat(o.CRF, 'f', -1, 64))
	}
}

func lacksOption(codec *astiav.Codec, name string) error {
	return misused("leave it out; it is an option of other encoders", "the encoder %s has no option --%s", codec.Name(), name)
}

// encoderError is an encoder's refusal of its options. It wraps ErrOption.
type encoderError struct {
	name, picture string
	err           error
	said          []string // the encoder's own messages
}

func (e *encoderError) Error() string {
	why := e.err.Error()
	if len(e.said) > 0 {
		why = e.said[0]
	}
	return fmt.Sprintf("the encoder %s does not take these options%s: %s", e.name, e.picture, why)
}

func (e *encoderError) Hint() string { return "leave out the options of the encoder, or change them" }

func (e *encoderError) Unwrap() []error { return []error{ErrOption, e.err} }

// Check reports whether an output can be made with these options, independent of the input: the
// encoder exists and takes its options, and the format holds its video. It opens the encoder for a
// small picture, and no file. It reads FFmpeg's log, so no other work of FFmpeg may run beside it.
// Its errors wrap ErrOption.
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
	var enc *astiav.CodecContext
	said := av.Overhear(astiav.LogLevelError, func() { enc, err = o.try() })
	if refused, ok := errors.AsType[*encoderError](err); ok {
		refused.said, refused.picture = said, ""
	}
	if err != nil {
		return err
	}
	if of := o.about.OnDevice; of != "" { // its device makes its headers: the codec's on the CPU will do
		freeEncoder(enc)
		about, _ := CodecNamed(of)
		if enc, err = o.as(about).try(); err != nil {
			return err
		}
	}
	defer freeEncoder(enc)
	return o.checkFormat(enc)
}

// as returns another encoder for the same format, with its defaults.
func (o *encoder) as(c Codec) *encoder {
	return newEncoder(spec.Options{Format: o.Format, Encoder: c.Name, Preset: c.Preset, CRF: c.CRF})
}

// try opens the encoder for a small picture. The caller frees it.
func (o *encoder) try() (enc *astiav.CodecContext, err error) {
	const side = 256 // no encoder needs more
	codec, err := findEncoder(o.about.Name)
	if err != nil {
		return nil, err
	}
	pf := astiav.PixelFormatYuv420P
	if o.PixelFormat != "" {
		if pf, err = o.namedFormat(codec, side, side); err != nil {
			return nil, err
		}
	} else if offered := o.offered(codec, o.codedDepth(bits)); len(offered) > 0 && !slices.Contains(offered, pf) {
		pf = offered[0]
	}
	if enc = astiav.AllocCodecContext(codec); enc == nil {
		return nil, errors.New("encode: out of memory")
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
		err = o.tryOptions(c, codec)
	} else {
		err = o.open(enc, codec)
	}
	if err != nil {
		freeEncoder(enc)
		return nil, err
	}
	return enc, nil
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

func (o *encoder) checkFormat(enc *astiav.CodecContext) error {
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
	return misused(hint, "%s cannot hold the video of the encoder %s", o.Format, o.about.Name)
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

func (e *encoder) misfit(width, height int) error {
	about := e.about
	advice := "write .mkv, with --codec ffv1"
	if others := Fitting(e.Options, width, height); len(others) > 0 {
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
func Fitting(o spec.Options, width, height int) (names []string) {
	for _, c := range codecs {
		if c.Common == "" || c.OnDevice != "" || !c.Takes(width, height) {
			continue
		}
		if enc, err := newEncoder(o).as(c).try(); err == nil {
			if mux.Holds(formats.Of(o.Format), enc) {
				names = append(names, c.Common)
			}
			freeEncoder(enc)
		}
	}
	return names
}
