package decode

//#include "glue.h"
import "C"

import (
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Context returns the open container; it belongs to the input.
func (in *Input) Context() *astiav.FormatContext { return in.fc }

// Video returns the stream that Next decodes.
func (in *Input) Video() *astiav.Stream { return in.video }

// Interlaced reports whether pictures are two fields each, as far as the options or the file's
// header say.
func (in *Input) Interlaced() bool {
	if o := in.opts.FieldOrder; o != FieldAuto {
		return o != Progressive
	}
	order := (*C.AVStream)(av.StreamPtr(in.video)).codecpar.field_order
	return order != C.AV_FIELD_UNKNOWN && order != C.AV_FIELD_PROGRESSIVE
}

// MayBeInterlaced reports whether pictures may be two fields each, by the file's header.
func (in *Input) MayBeInterlaced() bool {
	par := (*C.AVStream)(av.StreamPtr(in.video)).codecpar
	return units.MayHaveFields(C.GoString(C.avcodec_get_name(par.codec_id)), av.Slice((*byte)(par.extradata), int(par.extradata_size)))
}

// Again reports whether the input can be opened once more, and then says the same.
func (in *Input) Again() bool { return !in.forwards && in.path != "-" && !isAddress(in.path) }

// Others returns the streams whose packets OnPacket gets.
func (in *Input) Others() []*astiav.Stream {
	var others []*astiav.Stream
	for _, s := range in.fc.Streams() {
		if in.selected[s.Index()] {
			others = append(others, s)
		}
	}
	return others
}

// FrameRate returns the usual rate of the video, 0/1 when unknown.
func (in *Input) FrameRate() astiav.Rational { return in.rate() }

// Extras returns the properties of the video, found up to the last frame, that the filter does not
// keep.
func (in *Input) Extras() []string { return slices.Clone(in.extras) }

// Facts returns what the input says of itself, as far as it is filtered and copied, with the units
// in packets read so far. It may be called from any goroutine after the first frame.
func (in *Input) Facts() fidelity.Facts {
	return fidelity.Read(in.file())
}

func (in *Input) file() fidelity.File {
	return fidelity.File{
		Context: av.FormatPtr(in.fc), Video: in.video.Index(), Seen: &in.pictured, Shift: in.clock.shift,
		Takes: func(i int) bool { return in.selected[i] },
	}
}

// Told returns the losses that warnings have told of.
func (in *Input) Told() fidelity.Told { return slices.Clone(in.told) }

// Display returns how to show the video: degrees of clockwise rotation, in quarter turns, and the
// width of a pixel over its height, 1 if unknown.
func (in *Input) Display() (turn int, aspect float64) {
	aspect = 1
	if r := in.fc.GuessSampleAspectRatio(in.video, nil); r.Num() > 0 && r.Den() > 0 {
		aspect = r.Float64()
	}
	st := (*C.AVStream)(av.StreamPtr(in.video))
	quarters := int(math.Round(float64(C.vf_rotation(st.codecpar)) / 90))
	return (quarters%4 + 4) % 4 * 90, aspect
}

// Shift returns the microseconds added to the container's times.
func (in *Input) Shift() int64 { return in.clock.shift }

// OnDevice reports whether a device decodes, so far.
func (in *Input) OnDevice() bool { return in.device != nil }

// Threads returns the number of threads of the decoder.
func (in *Input) Threads() int { return in.dec.ThreadCount() }

// Part returns the wanted part of the output's clock, in microseconds; end is 0 if open.
func (in *Input) Part() (start, end int64) {
	w := in.window()
	if in.opts.Duration > 0 {
		end = w.end
	}
	return w.zero, end
}

// Estimate returns the number of frames and the time to come, as far as the file says; 0 is
// unknown.
func (in *Input) Estimate() (frames int64, length time.Duration) {
	whole := time.Duration(0)
	if d := in.fc.Duration(); d > 0 {
		whole = time.Duration(d) * time.Microsecond
	}
	if st := in.stream(in.video.Index()); in.clock.jumpy && in.programs() > 1 && st.duration > 0 {
		whole = time.Duration(micros(int64(st.duration), st)) * time.Microsecond
	}
	length = max(0, whole-in.opts.Start)
	if in.opts.Duration > 0 && (whole == 0 || in.opts.Duration < length) {
		length = in.opts.Duration
	}
	rate := in.FrameRate().Float64()
	if in.opts.Part != nil && rate > 0 {
		return in.opts.Part.Frames, time.Duration(float64(in.opts.Part.Frames) / rate * float64(time.Second))
	}
	frames = in.video.NbFrames()
	if frames == 0 || in.opts.Start > 0 || in.opts.Duration > 0 {
		frames = int64(length.Seconds()*rate + 0.5)
	}
	if n := in.opts.Frames; n > 0 && (frames == 0 || n < frames) {
		frames = n
		if rate > 0 {
			length = time.Duration(float64(n) / rate * float64(time.Second))
		}
	}
	return frames, length
}

// Info describes a file.
type Info struct {
	Path     contract.Name     `json:"path"`
	Format   string            `json:"format"`
	Start    float64           `json:"start_seconds"`
	Duration float64           `json:"duration_seconds"` // 0 when unknown
	BitRate  int64             `json:"bit_rate"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Chapters []Chapter         `json:"chapters,omitempty"`
	Streams  []StreamInfo      `json:"streams"`
}

// Chapter is a named part of a file, in seconds.
type Chapter struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Title string  `json:"title"`
}

// StreamInfo describes a stream. Fields that do not apply are empty.
type StreamInfo struct {
	Index    int               `json:"index"`
	Kind     string            `json:"kind"`
	Codec    string            `json:"codec"`
	Role     string            `json:"role"` // filtered, copied or left out
	Language string            `json:"language,omitempty"`
	Cover    bool              `json:"cover,omitempty"`
	Width    int               `json:"width,omitempty"`
	Height   int               `json:"height,omitempty"`
	PixFmt   string            `json:"pixel_format,omitempty"`
	Path     string            `json:"path,omitempty"`     // to the filter
	NotKept  []string          `json:"not_kept,omitempty"` // of the filtered stream
	Rate     float64           `json:"frame_rate,omitempty"`
	Frames   int64             `json:"frames,omitempty"`
	Sample   int               `json:"sample_rate,omitempty"`
	Channels int               `json:"channels,omitempty"`
	TimeBase string            `json:"time_base"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Properties are those of package fidelity, by their keys. Units in packets are counted as far
	// as the input was read.
	Properties map[string]string `json:"properties"`
	facts      fidelity.Item
}

// Lines returns the properties by their names for people.
func (s StreamInfo) Lines() []fidelity.Line { return s.facts.Lines() }

// Describe returns the properties of the input, without decoding any more.
func (in *Input) Describe() Info {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	info := Info{Path: contract.Name(in.path), Format: C.GoString(fc.iformat.name), BitRate: int64(fc.bit_rate), Metadata: entries(fc.metadata)}
	if in.path != "-" {
		info.Path = contract.Name(filepath.Base(in.path))
	}
	if fc.start_time != C.AV_NOPTS_VALUE {
		info.Start = float64(fc.start_time) / float64(second)
	}
	if fc.duration > 0 {
		info.Duration = float64(fc.duration) / float64(second)
	}
	for _, c := range chapters(fc) {
		tb := float64(c.time_base.num) / float64(c.time_base.den)
		info.Chapters = append(info.Chapters, Chapter{float64(c.start) * tb, float64(c.end) * tb, entries(c.metadata)["title"]})
	}
	for _, s := range in.fc.Streams() {
		info.Streams = append(info.Streams, in.describeStream(s))
	}
	return info
}

func (in *Input) describeStream(s *astiav.Stream) StreamInfo {
	st := in.stream(s.Index())
	par := st.codecpar
	d := StreamInfo{Index: s.Index(), Kind: s.CodecParameters().MediaType().String(), Codec: C.GoString(C.avcodec_get_name(par.codec_id)),
		Role: "left out", Metadata: entries(st.metadata), TimeBase: s.TimeBase().String(), Cover: in.isPicture(s.Index())}
	d.Language = d.Metadata["language"]
	d.facts = in.file().Stream(s.Index())
	d.Properties = d.facts.Values
	if first := in.moves.first(s.Index()); first == in.video.Index() {
		d.Role, d.NotKept = "filtered", in.Extras()
	} else if in.selected[first] {
		d.Role = "copied"
	}
	switch par.codec_type {
	case C.AVMEDIA_TYPE_AUDIO:
		d.Sample, d.Channels = int(par.sample_rate), int(par.ch_layout.nb_channels)
	case C.AVMEDIA_TYPE_VIDEO:
		in.describeVideo(&d, s, st)
	}
	return d
}

func (in *Input) describeVideo(d *StreamInfo, s *astiav.Stream, st *C.AVStream) {
	par := st.codecpar
	pf := astiav.PixelFormat(par.format)
	d.Width, d.Height, d.PixFmt = int(par.width), int(par.height), pf.Name()
	d.Rate, d.Frames = frameRate(in.fc, s).Float64(), int64(st.nb_frames)
	if _, _, native := av.LayoutOf(pf); native {
		d.Path = "as it is"
		return
	}
	layout, lost := av.NearestLayout(pf, in.takes)
	d.Path = "converted to " + layout.String()
	if lost != "" {
		d.Path += "; " + lost
	}
}

// Format returns the format of the frames; it is known after the first one.
func (in *Input) Format() pipeline.Format { return in.format }

// Look returns what the first frame says of the pictures, nil before it. It may be called from any
// goroutine.
func (in *Input) Look() *fidelity.Look { return in.first.Load() }
