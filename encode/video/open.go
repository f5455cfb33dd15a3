package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/buffer.h>
//#include <stdlib.h>
import "C"

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/text"
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

// freeEncoder frees an encoder, which may be open. The memory of its pictures on a device goes
// last, since the encoder has registered it; Free alone begins with it.
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

// findEncoder returns a video encoder of this build.
func findEncoder(name string) (*astiav.Codec, error) {
	videos := videoEncoders()
	if slices.Contains(videos, name) {
		return astiav.FindEncoderByName(name), nil
	}
	hint := spec.DefaultEncoder + " is the default; this build has " + strings.Join(videos, " ")
	if strings.HasPrefix(name, "nvenc") {
		hint = "did you mean --codec hevc --hwaccel nvenc? NVENC's encoders are h264_nvenc, hevc_nvenc and av1_nvenc"
	} else if of := encoderNamed(name); slices.Contains(videos, of) {
		hint = fmt.Sprintf("that is a codec; its encoder is %s", of)
	} else if near := text.Closest(name, videos); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	if astiav.FindEncoderByName(name) != nil {
		return nil, misused(hint, "the encoder %q is not for video", name)
	}
	return nil, misused(hint, "this build has no encoder %q", name)
}

func videoEncoders() (names []string) {
	var state unsafe.Pointer
	for c := C.av_codec_iterate(&state); c != nil; c = C.av_codec_iterate(&state) {
		if c._type == C.AVMEDIA_TYPE_VIDEO && C.av_codec_is_encoder(c) != 0 {
			names = append(names, C.GoString(c.name))
		}
	}
	return names
}

// encoderNamed returns the encoder of a codec, or "".
func encoderNamed(codec string) string {
	name := C.CString(codec)
	defer C.free(unsafe.Pointer(name))
	d := C.avcodec_descriptor_get_by_name(name)
	if d == nil {
		return ""
	}
	if e := C.avcodec_find_encoder(d.id); e != nil {
		return C.GoString(e.name)
	}
	return ""
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

// dictionary returns the options in the encoder's own terms. Opening the encoder leaves unknown
// ones in the dictionary.
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

// encoderError says that an encoder refuses its options. It wraps ErrOption.
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
