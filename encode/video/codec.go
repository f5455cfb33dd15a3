package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
import "C"

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/machine"
	"vidfilter/internal/text"
	"vidfilter/pipeline"
)

// Codec describes an encoder where FFmpeg's encoders differ. The zero value of a field leaves the
// matter to FFmpeg. Each codec has a file of its own and an entry in codecs.
type Codec struct {
	Name    string   // FFmpeg's name of the encoder
	Common  string   // common name of the codec: a value of --codec, or ""
	Aliases []string // other common names, in lower case
	Presets []string // values of --preset; nil lets the encoder judge
	Tunes   []string // values of --tune; nil lets the encoder judge
	Preset  string   // default of --preset
	CRF     float64  // default of --crf; below 0 for an encoder without it
	Quality Quality  // values of --crf
	faster  int      // places from one of Presets to the next faster; 0: they differ in something else
	// OnDevice is the common name of the codec that the encoder codes on a device; "" if it works
	// on the CPU.
	OnDevice string

	noBitrate string // why it has no --bitrate; "" if it has
	noGOP     string // why it has no --gop; "" if it has
	preset    string // FFmpeg's option for Presets, "" for preset
	quality   string // FFmpeg's option for constant quality, "" for crf
	maxSide   int    // longest side of a picture
	minSide   int    // shortest side of a picture
	minWidth  int    // if that is more
	evenSides bool   // sides must be even
	// pads means that pictures with sides too short or odd get edges, which the container hides.
	pads       bool
	fields     fieldCoding
	copies     bool // samples are stored as they are
	linesACore int  // lines of a picture that keep a core busy; 0: one encoder uses all cores
	ownPreset  bool // configure sets --preset
	ownTune    bool // configure sets --tune
	fullRange  bool // samples always mean full-range BT.601
	videoRange bool // samples always mean limited range
	// formats lists pixel formats by depth; nil: all that FFmpeg's encoder takes.
	formats map[int][]string
	// presetFormats lists those that a preset takes, if not all.
	presetFormats map[string][]string
	// tags are codec tags by family of the container, for players that know no other.
	tags map[formats.Family]string
	// choose returns another pixel format for frames, and why; PixelFormatNone keeps theirs.
	choose func(f pipeline.Format) (pf astiav.PixelFormat, warning string)
	// configure sets properties on the encoder's context, or options by FFmpeg's names.
	configure func(o *encoder, c *C.AVCodecContext, set func(option, value string))
	// contradiction returns the error of options that exclude each other, or nil.
	contradiction func(o *encoder) error
	// untimedDelay: decode times of a whole video of up to this number of pictures are undefined.
	untimedDelay int64
	// sharesState: opening and closing encoders writes shared variables without a lock.
	sharesState bool
	// finish adds to a packet, in place, fields that FFmpeg's encoder leaves out.
	finish func(c *C.AVCodecContext, packet []byte)
	// params lists the names of --encoder-params, "NAME" or "NAME=VALUE|VALUE"; check refuses
	// values that it can judge.
	params []string
	check  func(name, value string) error
	// headers returns the pieces of a header that joined parts share; nil: parts cannot be joined.
	headers func(extradata []byte) [][]byte
}

// Quality is the range of --crf.
type Quality struct {
	Min, Max float64
	Whole    bool // no fractions
	About    string
}

type encoder struct {
	*spec.Spec
	about  Codec
	clocks bool  // pictures get timecodes
	part   bool  // the pictures are a part of a video
	origin int64 // time of the first frame
	// globalHeader means that the codec's header is not repeated in packets.
	globalHeader bool
}

// coded returns the size at which the encoder gets pictures of a size.
func (c Codec) coded(width, height int) (int, int) {
	if !c.pads {
		return width, height
	}
	side := func(n int) int { return max(n+n&1, c.minSide) }
	return side(width), side(height)
}

// Takes reports whether the encoder takes pictures of a size, if need be with edges.
func (c Codec) Takes(width, height int) bool {
	width, height = c.coded(width, height)
	return (c.maxSide == 0 || max(width, height) <= c.maxSide) && min(width, height) >= c.minSide && width >= c.minWidth &&
		(!c.evenSides || (width|height)&1 == 0)
}

// Lacks returns why the codec has no option of this name; "" if it has.
func (c Codec) Lacks(option string) string {
	return map[string]string{"bitrate": c.noBitrate, "gop": c.noGOP}[option]
}

// Joins reports whether parts that were encoded apart can be joined.
func (c Codec) Joins() bool { return c.headers != nil }

// Fast reports whether an encoder may be faster than one decoder of large pictures.
func (c Codec) Fast() bool { return c.OnDevice != "" || c.copies }

// Faster returns the next faster preset, or "".
func (c Codec) Faster(preset string) string {
	i := slices.Index(c.Presets, preset)
	if to := i + c.faster; i >= 0 && c.faster != 0 && to >= 0 && to < len(c.Presets) {
		return c.Presets[to]
	}
	return ""
}

// Cores returns how many cores one encoder keeps busy with pictures of a height; 0 for all.
func (c Codec) Cores(height int) int {
	if c.linesACore == 0 {
		return 0
	}
	return max(1, height/c.linesACore)
}

// threads returns how many threads the encoder has; 0 leaves that to it.
func (o *encoder) threads() int { return cmp.Or(o.Threads, machine.CoreLimit()) }

func (e *encoder) since(f *pipeline.Frame) string {
	if e.Frames == 0 {
		return ""
	}
	return fmt.Sprintf(" from %s on", text.Seconds(e.seconds(f)))
}

func (e *encoder) seconds(f *pipeline.Frame) float64 {
	if e.Frames == 0 {
		return 0
	}
	return float64(f.PTS-e.origin) * e.Shown.TimeBase.Float64()
}

func odd(width, height int, pf astiav.PixelFormat) bool {
	d := C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(pf))
	return d != nil && (width&(1<<d.log2_chroma_w-1) != 0 || height&(1<<d.log2_chroma_h-1) != 0)
}

// fieldCoding is how an encoder codes interlaced pictures.
type fieldCoding uint8

const (
	streamFields fieldCoding = iota // all pictures are interlaced, in one order, or all progressive
	noFields                        // all pictures are progressive
	ownFields                       // each picture carries its own mark
	apartFields                     // the same, but an encoder codes either kind
	mixedFields                     // an interlaced stream, of one order, may hold progressive pictures
)
