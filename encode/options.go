package encode

//#include "glue.h"
import "C"

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// Options of Create.
type Options struct {
	Format  string // FFmpeg's name: see package formats
	Encoder string // FFmpeg's name; "" for the default, or a picture's own

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
	Depth         int    // bits of the samples that are coded; 0: those of the frames
	LeastDepth    int    // the same for frames with fewer; not with Depth
	// Device is for encoders that work on one, as Codec.OnDevice says; nil: there is none.
	Device  Device
	Threads int // 0: one per core

	// Fragment makes an mp4 or mov that plays while it is written, and after writing was cut off,
	// up to the last fragment of about this length. 0 makes an ordinary file.
	Fragment time.Duration

	// CodeSound codes uncompressed sound, which a recording of packets would not keep in step.
	CodeSound bool

	// FilmGrain makes room for the grain of frames in AV1. That of a source in AV1 has it anyway.
	FilmGrain bool

	// Interlaced means that there are interlaced pictures, of this order, though the first is none.
	Interlaced    bool
	TopFieldFirst bool

	// Undecided means that an encoder of interlaced pictures is chosen if there are some.
	Undecided bool

	clocks bool // pictures get timecodes

	Software string       // written as the encoder of the file
	Log      *slog.Logger // warnings for the user; nil drops them
}

// Template describes the input that the output takes streams and metadata from. The input must
// stay open until the output is closed.
type Template struct {
	Context    *astiav.FormatContext
	Video      *astiav.Stream // what frames say goes before it
	Others     []*astiav.Stream
	Shift      int64 // microseconds added to the input's times, for chapters
	Start, End int64 // part of the output's clock, in microseconds; End 0 is open
	Cut        bool  // cut chapters to that part
	// Facts returns what the input says of itself, once there is a frame. What the format has no
	// place for is a warning then; nil says nothing.
	Facts func() fidelity.Facts
	// Look returns what the first frame of the input says. What the first frame that is put says
	// otherwise was changed on purpose. nil: nothing was.
	Look func() *fidelity.Look
	// Allow refuses changes, by the keys of Look.Turned, before anything is written. It borrows the
	// first frame that is put; may be nil.
	Allow func(first *pipeline.Frame, turned []string) error
	// Again means that the job can begin again: Put may return a LateFieldsError.
	Again bool

	// Part writes the video alone, without metadata, into an mp4 or mov. Times count from the
	// first frame and are exact in the unit of Video, which must be that of frames. Tag then adds
	// a tag to the file.
	Part bool
	Tag  func(first int64) (key, value string)
}

// common is what the coder and the muxer of an output go by.
type common struct {
	opts Options
	in   Template
	form formats.Format

	shown  *pipeline.Video // of the first frame
	unit   C.AVRational    // of all times: seconds
	pace   float64         // frames for one of the input
	turned []string        // what filters have changed, as Look.Turned
	frames int64           // put or, if encoded before, written
	told   fidelity.Told
	lost   losses
}

func newCommon(in Template, o Options) *common {
	return &common{opts: o, in: in, form: formats.Of(o.Format)}
}

// mp4 reports whether the file is of the MP4 family.
func (s *common) mp4() bool { return s.form.Family == formats.ISO }

func (s *common) micros(t int64) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), s.unit, C.AVRational{1, 1000000}))
}

func (s *common) warn(format string, args ...any) {
	if s.opts.Log != nil {
		s.opts.Log.Warn(fmt.Sprintf(format, args...))
	}
}

func (s *common) isPicture() bool { return s.form.Family == formats.Picture }

func (s *common) source() *C.AVFormatContext { return (*C.AVFormatContext)(av.FormatPtr(s.in.Context)) }

// carries reports whether the format holds other streams than the video.
func (s *common) carries() bool { return s.form.Video() && !s.form.Alone }

// losses names what the output does not have of the input's pictures.
type losses []string

// add adds a name, once.
func (l *losses) add(name string) {
	if !slices.Contains(*l, name) {
		*l = append(*l, name)
	}
}

func fraction(r pipeline.Ratio) C.AVRational { return C.AVRational{C.int(r.Num), C.int(r.Den)} }
