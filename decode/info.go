package decode

//#include "glue.h"
//#include <libavutil/pixdesc.h>
import "C"

import (
	"path/filepath"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// frameRate returns FFmpeg's best guess of a stream's rate, 0/1 when it has none.
func frameRate(fc *astiav.FormatContext, s *astiav.Stream) astiav.Rational {
	if r := fc.GuessFrameRate(s, nil); r.Num() > 0 && r.Den() > 0 {
		return r
	}
	return astiav.NewRational(0, 1)
}

// Context returns the open container; it belongs to the input.
func (in *Input) Context() *astiav.FormatContext { return in.fc }

// Video returns the stream that Next decodes.
func (in *Input) Video() *astiav.Stream { return in.video }

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
func (in *Input) FrameRate() astiav.Rational {
	if in.cutFrom != nil {
		return in.cutFrom.rate
	}
	return frameRate(in.fc, in.video)
}

// Shift returns what is added to the container's times, in microseconds.
func (in *Input) Shift() int64 { return in.clock.shift }

// Threads returns how many threads the decoder uses.
func (in *Input) Threads() int { return in.dec.ThreadCount() }

// Part returns the part of the output's clock that was asked for, in microseconds; end is 0 when open.
func (in *Input) Part() (start, end int64) {
	if in.opts.Duration > 0 {
		end = in.zero() + in.opts.Duration.Microseconds()
	}
	return in.zero(), end
}

// Estimate returns how many frames and how much time will come, as far as the file says; 0 is unknown.
func (in *Input) Estimate() (frames int64, length time.Duration) {
	whole := time.Duration(0)
	if d := in.fc.Duration(); d > 0 {
		whole = time.Duration(d) * time.Microsecond
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

// checkComplete compares what was read with what the container promised, and counts what is missing.
func (in *Input) checkComplete() {
	if in.opts.Start > 0 || in.opts.Duration > 0 || in.opts.Frames > 0 || C.vf_stopped(in.stop) != 0 {
		return
	}
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	if name := C.GoString(fc.iformat.name); name == "avi" || name == "mov,mp4,m4a,3gp,3g2,mj2" {
		promised := int64(C.avformat_index_get_entries_count(in.stream(in.video.Index())))
		in.damage.MissingPackets = max(0, promised-in.packets)
	}
	in.damage.MissingBytes = missingBytes(in.path)
	if in.leavesOut() || fc.duration <= 0 || fc.duration_estimation_method != C.AVFMT_DURATION_FROM_STREAM && fc.duration_estimation_method != C.AVFMT_DURATION_FROM_PTS ||
		in.clock.end == av.NoPTS {
		return
	}
	// Headers give the time at which all is over; what FFmpeg finds out by itself is a length.
	promised := int64(fc.duration)
	if fc.duration_estimation_method == C.AVFMT_DURATION_FROM_PTS && fc.start_time != C.AV_NOPTS_VALUE {
		promised += int64(fc.start_time)
	}
	missing := promised - in.clock.end
	if missing > max(second, int64(fc.duration)/50) {
		in.damage.MissingSeconds = float64(missing) / float64(second)
	}
}

// leavesOut tells that streams are not read, which may be the longest ones.
func (in *Input) leavesOut() bool {
	for _, s := range in.fc.Streams() {
		if i := s.Index(); i != in.video.Index() && !in.selected[i] && !in.isPicture(i) {
			return true
		}
	}
	return false
}

// Info is what the program sees in a file.
type Info struct {
	Path     string            `json:"path"`
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

// StreamInfo is one stream of a file. Fields that do not apply are empty.
type StreamInfo struct {
	Index     int               `json:"index"`
	Kind      string            `json:"kind"`
	Codec     string            `json:"codec"`
	Role      string            `json:"role"` // filtered, copied or left out
	Language  string            `json:"language,omitempty"`
	Cover     bool              `json:"cover,omitempty"`
	Width     int               `json:"width,omitempty"`
	Height    int               `json:"height,omitempty"`
	PixFmt    string            `json:"pixel_format,omitempty"`
	Path      string            `json:"path,omitempty"` // how frames reach the filter
	Rate      float64           `json:"frame_rate,omitempty"`
	Frames    int64             `json:"frames,omitempty"`
	Aspect    string            `json:"sample_aspect,omitempty"`
	Rotation  float64           `json:"rotation,omitempty"`
	Fields    string            `json:"field_order,omitempty"`
	Matrix    string            `json:"color_matrix,omitempty"`
	Primaries string            `json:"color_primaries,omitempty"`
	Transfer  string            `json:"color_transfer,omitempty"`
	Range     string            `json:"color_range,omitempty"`
	Sample    int               `json:"sample_rate,omitempty"`
	Channels  int               `json:"channels,omitempty"`
	TimeBase  string            `json:"time_base"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// Describe returns what the input holds, without decoding more than Open did.
func (in *Input) Describe() Info {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	info := Info{Path: in.path, Format: C.GoString(fc.iformat.name), BitRate: int64(fc.bit_rate), Metadata: entries(fc.metadata)}
	if in.path != "-" {
		info.Path = filepath.Base(in.path)
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
	if s.Index() == in.video.Index() {
		d.Role = "filtered"
	} else if in.selected[s.Index()] {
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
	if r := in.fc.GuessSampleAspectRatio(s, nil); r.Num() > 0 && r.Num() != r.Den() {
		d.Aspect = r.String()
	}
	d.Rotation = float64(C.vf_rotation(par))
	d.Fields = C.GoString(C.vf_field_order(par.field_order))
	d.Matrix, d.Primaries = C.GoString(C.av_color_space_name(par.color_space)), C.GoString(C.av_color_primaries_name(par.color_primaries))
	d.Transfer, d.Range = C.GoString(C.av_color_transfer_name(par.color_trc)), C.GoString(C.av_color_range_name(par.color_range))
	if _, _, native := av.LayoutOf(pf); native {
		d.Path = "as it is"
		return
	}
	layout, lost := av.NearestLayout(pf)
	d.Path = "converted to " + layout.String()
	if lost != "" {
		d.Path += "; " + lost
	}
}

func chapters(fc *C.AVFormatContext) []*C.AVChapter {
	return av.Slice(fc.chapters, int(fc.nb_chapters))
}

func entries(d *C.AVDictionary) map[string]string {
	var m map[string]string
	var e *C.AVDictionaryEntry
	for {
		if e = C.av_dict_iterate(d, e); e == nil {
			return m
		}
		if m == nil {
			m = map[string]string{}
		}
		m[C.GoString(e.key)] = C.GoString(e.value)
	}
}

// Format returns the format of the frames; it is known once the first one is out.
func (in *Input) Format() pipeline.Format { return in.format }
