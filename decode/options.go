package decode

import (
	"log/slog"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// FieldOrder overrides the fields of pictures, which files may state wrongly.
type FieldOrder uint8

// The field orders.
const (
	FieldAuto FieldOrder = iota
	Progressive
	TopFieldFirst
	BottomFieldFirst
)

// Options of Open. The zero value reads the whole file with every stream.
type Options struct {
	Format       string // FFmpeg's name; "" probes, and refuses formats that name other files
	AllowNetwork bool   // the input itself may be a network address
	MaxPixels    int64  // larger pictures are errors; 0 means no limit
	FilterMemory int    // bytes per pixel that the job's filters keep, for the errors of larger pictures
	Threads      int    // of the decoder, 0 for one per core
	FieldOrder   FieldOrder

	// Layouts reports whether frames may have a layout. Other pictures are converted to one that
	// they may have. Nil: the basic ones, which must always be among them.
	Layouts func(pipeline.Layout) bool

	// Depth returns how many bits samples of a format get, at least as many as they have. They keep
	// their values: see [av.Requantise]. Nil: they stay as they are.
	Depth func(pipeline.Format) int

	// Device decodes, if it can, with the same result as the CPU. Its pictures are not converted: a
	// video that changes is decoded on the CPU from there on.
	Device     HardwareDecoder
	MustDevice bool   // an error if it cannot, and even where results differ a little
	Spare      *Spare // keeps its decoder for the next input; may be nil
	OnHost     bool   // the device leaves samples in host memory, where they may get more bits
	Quantisers bool   // Frame.Quantiser is needed also where each block has its own

	Start    time.Duration // skip all before it; times then count from here
	FromKey  bool          // begin earlier, at the key frame that the search for Start finds
	Duration time.Duration // 0 for all
	Frames   int64         // 0 for all

	// Part has only its frames and the frames around it read, without other streams; another number
	// of frames is an error. The path may be a file with CutTag. It excludes Start, Duration and
	// Frames.
	Part      *Range
	VideoOnly bool // leave out every other stream

	// Sketch leaves out what costs the decoder time: pictures that no other depends on, and the
	// smoothing of block edges.
	Sketch bool

	onVideo   func(*astiav.Packet) error // gets each packet of the video
	undecoded bool                       // they are not decoded

	// KeepClock keeps the times of MPEG-TS. Otherwise a clock that starts after 10 s starts at 0.
	KeepClock bool

	// MaxErrorRate is the share of damaged packets (0 to 1) beyond which Next gives up.
	MaxErrorRate float64

	Maps            []string // which streams to copy: see mapRule
	NoAudio, NoSubs bool

	Log *slog.Logger // warnings for the user, a sentence at a time; nil drops them
}
