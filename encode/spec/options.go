package spec

import (
	"log/slog"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// X264 is FFmpeg's name of x264.
const X264 = "libx264"

// DefaultEncoder is the encoder of videos for which no other is asked.
const DefaultEncoder = X264

// Options of an output.
type Options struct {
	Format  string // FFmpeg's name: see package formats
	Encoder string // FFmpeg's name; "" for DefaultEncoder; pictures have their own

	CRF     float64 // constant quality if Bitrate is 0; below 0 for the encoder's own
	OwnCRF  bool    // CRF is the user's, not a default
	Bitrate int64   // bits a second
	Preset  string  // "" for the encoder's own
	Tune    string
	GOP     int    // most frames from one key frame to the next; 0: the encoder chooses
	Params  Params // of --x264-params
	// EncoderParams are further parameters of the encoder, by its own names.
	EncoderParams Params
	PixelFormat   string // "" keeps the frames' own
	Depth         int    // bits of the coded samples; 0: the frames'
	LeastDepth    int    // the same for frames with fewer; not with Depth
	SourceDepth   int    // most bits that the frames count as, 0: as many as they have
	// Device is for encoders that work on one, or nil.
	Device  HardwareEncoder
	Threads int // 0: one per core

	// Fragment makes an mp4 or mov that plays while it is written, and after writing was cut off,
	// up to the last fragment of about this length. 0 makes an ordinary file.
	Fragment time.Duration

	// CodeSound codes uncompressed sound, which a recording of packets would not keep in step.
	CodeSound bool

	// FilmGrain makes room for the grain of frames in AV1. A source in AV1 has it anyway.
	FilmGrain bool

	// Interlaced means that there are interlaced pictures, of this order, though the first is
	// progressive.
	Interlaced    bool
	TopFieldFirst bool

	// Undecided means that an encoder of interlaced pictures is chosen if there are some.
	Undecided bool

	Software string       // written as the encoder of the file
	Log      *slog.Logger // warnings for the user; nil drops them
}

func (o *Options) encoder() string {
	switch f := formats.Of(o.Format); {
	case f.Family == formats.Picture:
		return f.Name
	case o.Encoder != "":
		return o.Encoder
	}
	return DefaultEncoder
}

// Template describes the input that the output takes streams and metadata from. The input must
// stay open until the output is closed.
type Template struct {
	Context    *astiav.FormatContext
	Video      *astiav.Stream // the frames' own value comes first
	Others     []*astiav.Stream
	Shift      int64 // microseconds added to the input's times, for chapters
	Start, End int64 // part of the output's clock, in microseconds; End 0 is open
	Cut        bool  // cut chapters to that part
	// Facts returns the input's properties, once there is a frame. Properties that the format has
	// no place for then give a warning; nil gives no warning.
	Facts func() fidelity.Facts
	// Look returns the properties of the input's first frame. Differences of the first output frame
	// were made on purpose. nil: no changes.
	Look func() *fidelity.Look
	// Allow refuses changes, by the keys of Look.Turned, before anything is written. It borrows the
	// first frame that is put; may be nil.
	Allow func(first *pipeline.Frame, turned []string) error
	// Again means that the job can begin again: Put may return a LateFieldsError.
	Again bool

	// Part writes the video alone, without metadata, into an mp4 or mov. Times count from the first
	// frame and are exact in the unit of frames: Video's, or half of it. Tag then adds a tag to the
	// file.
	Part bool
	Tag  func(first int64) (key, value string)
}

// HardwareEncoder encodes in hardware, from pictures in its memory. It is for one output.
type HardwareEncoder interface {
	// Supports returns nil, or the reason why the device does not encode frames of the layout to
	// video of a codec, by FFmpeg's name.
	Supports(codec string, l pipeline.Layout, width, height int) error

	// Handles returns a CUcontext and a CUstream for FFmpeg.
	Handles() (context, stream unsafe.Pointer)

	// Call makes a call of FFmpeg's encoder. Its error is the call's, or states that the device
	// does not answer. Then the call may still go on, so that its arguments must not be freed.
	Call(f func() error) error

	// Give fills a surface of the encoder's with a frame's samples, wherever they are, and returns
	// when that is done.
	Give(f *pipeline.Frame, to pipeline.Surface) error

	// Host returns a frame with f's samples in the host's memory: f with one more owner, or a copy.
	Host(f *pipeline.Frame) (*pipeline.Frame, error)

	// Failed returns the error of an operation in which FFmpeg's encoder failed with its own error
	// or the system's. said is the reason in its log, possibly empty.
	Failed(err error, op, said string) error
}

// Param is a parameter of an encoder, by the encoder's own name.
type Param struct{ Name, Value string }

// Params are parameters that were checked.
type Params []Param

// String returns the parameters as NAME=VALUE:NAME=VALUE.
func (all Params) String() string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = p.Name + "=" + p.Value
	}
	return strings.Join(parts, ":")
}

// Has reports whether a parameter is given.
func (all Params) Has(name string) bool {
	return slices.ContainsFunc(all, func(p Param) bool { return p.Name == name })
}

// Value returns the value of a parameter, the last one if it is given again; "" if it is not given.
func (all Params) Value(name string) (value string) {
	for _, p := range all {
		if p.Name == name {
			value = p.Value
		}
	}
	return value
}

// tagging lists parameters of x264 and x265 that set a property of the video, by its key.
var tagging = map[string]string{
	"colorprim": "primaries", "transfer": "transfer", "colormatrix": "matrix", "fullrange": "range", "range": "range",
	"chromaloc": "chroma_location", "sar": "sample_aspect", "mastering-display": "mastering_display", "master-display": "mastering_display",
	"cll": "content_light", "max-cll": "content_light", "frame-packing": "stereo", "interlaced": "field_order", "fake-interlaced": "field_order",
	"tff": "field_order", "bff": "field_order", "pic-struct": "field_order", "alternative-transfer": "transfer", "atc-sei": "transfer",
}

// Tell notes the properties that the parameters may change.
func (all Params) Tell(told *fidelity.Told) {
	for _, p := range all {
		if key := tagging[p.Name]; key != "" {
			told.Add(fidelity.Video, "", key)
		}
	}
}

// Set sets the parameters as FFmpeg's options of the encoder.
func (all Params) Set(set func(option, value string)) {
	for _, p := range all {
		set(p.Name, p.Value)
	}
}
