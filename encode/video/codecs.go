package video

//#include <libavcodec/avcodec.h>
//#include <stdlib.h>
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/text"
)

var codecs = []Codec{x264, x265, svtAV1, ffv1, prores, dnxhd, rawVideo, mjpeg, nvencH264, nvencHEVC, nvencAV1}

func find(match func(Codec) bool) (Codec, bool) {
	if i := slices.IndexFunc(codecs, match); i >= 0 {
		return codecs[i], true
	}
	return Codec{}, false
}

// CodecOf returns the description of an encoder. One that is not described has no defaults, and is
// used as FFmpeg documents it.
func CodecOf(encoder string) Codec {
	if c, ok := find(func(c Codec) bool { return c.Name == encoder }); ok {
		return c
	}
	return Codec{Name: encoder, CRF: -1, Quality: Quality{Max: 63}}
}

// CodecNamed returns the description of a codec by a value of --codec, an alias or FFmpeg's name of
// the encoder, in any case.
func CodecNamed(name string) (Codec, bool) {
	name = strings.ToLower(name)
	return find(func(c Codec) bool {
		return c.Common != "" && (c.Common == name || c.Name == name || slices.Contains(c.Aliases, name))
	})
}

// CodecOnDevice returns the description of the encoder that codes the codec of another on a device.
func CodecOnDevice(c Codec) (Codec, bool) {
	return find(func(d Codec) bool { return d.OnDevice != "" && d.OnDevice == c.Common })
}

// DefaultFor returns the codec of videos in a format for which no other is asked: H.264, or the
// first that a format without it has.
func DefaultFor(f formats.Format) Codec {
	for _, name := range f.Codecs {
		if c, ok := CodecNamed(name); ok {
			return c
		}
		if name == rawVideo.Name {
			return rawVideo
		}
	}
	return CodecOf(spec.DefaultEncoder)
}

// Commons lists the values of --codec.
func Commons() (names []string) {
	for _, c := range codecs {
		if c.Common != "" {
			names = append(names, c.Common)
		}
	}
	return names
}

func newEncoder(o spec.Options) *encoder { return encoderOf(spec.New(spec.Template{}, o)) }

// encoderOf returns the encoder of an output before its first frame.
func encoderOf(s *spec.Spec) *encoder {
	return &encoder{Spec: s, about: CodecOf(s.Encoder), part: s.In.Part}
}

func findEncoder(name string) (*astiav.Codec, error) {
	videos := videoEncoders()
	if slices.Contains(videos, name) {
		return astiav.FindEncoderByName(name), nil
	}
	hint := spec.DefaultEncoder + " is the default; this build has " + strings.Join(videos, " ")
	if strings.HasPrefix(name, "nvenc") {
		hint = "did you mean --codec hevc --hwaccel nvenc? NVENC's encoders are h264_nvenc, hevc_nvenc and av1_nvenc"
	} else if slices.Contains(videos, "lib"+name) {
		hint = "its name is lib" + name
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
