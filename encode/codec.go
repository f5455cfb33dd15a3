package encode

//#include <libavcodec/avcodec.h>
import "C"

import (
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/pipeline"
)

// Codec describes an encoder, as far as FFmpeg's encoders differ. The zero value of a field leaves
// the matter to FFmpeg. Each codec has a file of its own and an entry in codecs.
type Codec struct {
	Name    string   // FFmpeg's name of the encoder
	Presets []string // values of --preset; nil lets the encoder judge
	Tunes   []string // likewise of --tune
	Preset  string   // default of --preset
	CRF     float64  // default of --crf; below 0 for the encoder's own

	quality   string // FFmpeg's option for constant quality, "" for crf
	maxSide   int    // longest side of a picture
	fullRange bool   // samples always mean full-range BT.601
	// choose returns the pixel format for frames that the encoder should not get as they are, with
	// a warning that says why; PixelFormatNone for others.
	choose func(f pipeline.Format) (pf astiav.PixelFormat, warning string)
	// configure sets the encoder's own properties, on its context or as options by FFmpeg's
	// names.
	configure func(o *Options, c *C.AVCodecContext, set func(option, value string))
	// headers returns the pieces of the codec's header that must be equal in joined parts; nil if
	// parts cannot be joined.
	headers func(extradata []byte) [][]byte
}

// codecs lists the encoders that are described. The first one is the default.
var codecs = []Codec{x264, ffv1, rawVideo, mjpeg}

// DefaultEncoder is the encoder of videos for which no other is asked.
var DefaultEncoder = codecs[0].Name

// CodecOf returns the description of an encoder. One that is not described has no defaults, and is
// used as FFmpeg documents it.
func CodecOf(encoder string) Codec {
	if i := slices.IndexFunc(codecs, func(c Codec) bool { return c.Name == encoder }); i >= 0 {
		return codecs[i]
	}
	return Codec{Name: encoder, CRF: -1}
}

// Joins reports whether parts that were encoded apart can be joined.
func (c Codec) Joins() bool { return c.headers != nil }

// Joinable lists the encoders whose parts can be joined.
func Joinable() (encoders []string) {
	for _, c := range codecs {
		if c.Joins() {
			encoders = append(encoders, c.Name)
		}
	}
	return encoders
}

func (o *Options) format() formats.Format { return formats.Of(o.Format) }

// codec returns the description of the encoder that the options choose.
func (o *Options) codec() Codec {
	switch f := o.format(); {
	case f.Family == formats.Picture:
		return CodecOf(f.Name)
	case o.Encoder != "":
		return CodecOf(o.Encoder)
	}
	return CodecOf(DefaultEncoder)
}
