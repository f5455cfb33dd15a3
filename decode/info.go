package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// Interlaced reports whether pictures are two fields each, by the options or the file's header.
func (v *videoReader) Interlaced() bool {
	if o := v.opts.FieldOrder; o != FieldAuto {
		return o != Progressive
	}
	order := (*C.AVStream)(av.StreamPtr(v.video)).codecpar.field_order
	return order != C.AV_FIELD_UNKNOWN && order != C.AV_FIELD_PROGRESSIVE
}

// Facts returns the properties of the filtered and the copied streams, with the units in packets
// read so far. It may be called from any goroutine after the first frame.
func (v *videoReader) Facts() fidelity.Facts {
	return fidelity.Read(v.file())
}

func (v *videoReader) file() fidelity.File {
	return fidelity.File{
		Context: av.FormatPtr(v.fc), Video: v.video.Index(), Seen: &v.pictured, Shift: v.clock.shift,
		Takes: func(i int) bool { return v.selected[i] },
	}
}

// Part returns the wanted part of the output's clock, in microseconds; end is 0 if open.
func (v *videoReader) Part() (start, end int64) {
	w := v.window()
	if v.opts.Duration > 0 {
		end = w.end
	}
	return w.zero, end
}

// Estimate returns the number of frames and their length by the file's header; 0 is unknown.
func (v *videoReader) Estimate() (frames int64, length time.Duration) {
	whole := time.Duration(0)
	if d := v.fc.Duration(); d > 0 {
		whole = time.Duration(d) * time.Microsecond
	}
	if st := v.videoStream(); v.clock.jumpy && v.filledPrograms() > 1 && st.duration > 0 {
		whole = time.Duration(micros(int64(st.duration), st)) * time.Microsecond
	}
	length = max(0, whole-v.opts.Start)
	if v.opts.Duration > 0 && (whole == 0 || v.opts.Duration < length) {
		length = v.opts.Duration
	}
	rate := v.FrameRate().Float64()
	if v.opts.Part != nil && rate > 0 {
		return v.opts.Part.Frames, time.Duration(float64(v.opts.Part.Frames) / rate * float64(time.Second))
	}
	frames = v.video.NbFrames()
	if frames == 0 || v.opts.Start > 0 || v.opts.Duration > 0 {
		frames = int64(length.Seconds()*rate + 0.5)
	}
	if n := v.opts.Frames; n > 0 && (frames == 0 || n < frames) {
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
	// Properties are of package fidelity, by their keys. Units are counted in the packets read so
	// far.
	Properties map[string]string `json:"properties"`
	facts      fidelity.Item
}

// Lines returns the properties by their names for people.
func (s StreamInfo) Lines() []fidelity.Line { return s.facts.Lines() }

// Describe returns the properties of the input, without decoding any more.
func (v *videoReader) Describe() Info {
	fc := v.context()
	info := Info{Path: contract.Name(v.path), Format: C.GoString(fc.iformat.name), BitRate: int64(fc.bit_rate), Metadata: entries(fc.metadata)}
	if v.path != "-" {
		info.Path = contract.Name(filepath.Base(v.path))
	}
	if fc.start_time != C.AV_NOPTS_VALUE {
		info.Start = float64(fc.start_time) / float64(second)
	}
	if fc.duration > 0 {
		info.Duration = float64(fc.duration) / float64(second)
	}
	for _, c := range av.Slice(fc.chapters, int(fc.nb_chapters)) {
		tb := float64(c.time_base.num) / float64(c.time_base.den)
		info.Chapters = append(info.Chapters, Chapter{float64(c.start) * tb, float64(c.end) * tb, entries(c.metadata)["title"]})
	}
	for _, s := range v.fc.Streams() {
		info.Streams = append(info.Streams, v.describeStream(s))
	}
	return info
}

func (v *videoReader) describeStream(s *astiav.Stream) StreamInfo {
	st := v.stream(s.Index())
	par := st.codecpar
	d := StreamInfo{Index: s.Index(), Kind: s.CodecParameters().MediaType().String(), Codec: C.GoString(C.avcodec_get_name(par.codec_id)),
		Role: "left out", Metadata: entries(st.metadata), TimeBase: s.TimeBase().String(), Cover: v.isPicture(s.Index())}
	d.Language = d.Metadata["language"]
	d.facts = v.file().Stream(s.Index())
	d.Properties = d.facts.Values
	if first := v.moves.first(s.Index()); first == v.video.Index() {
		d.Role, d.NotKept = "filtered", v.Extras()
	} else if v.selected[first] {
		d.Role = "copied"
	}
	switch par.codec_type {
	case C.AVMEDIA_TYPE_AUDIO:
		d.Sample, d.Channels = int(par.sample_rate), int(par.ch_layout.nb_channels)
	case C.AVMEDIA_TYPE_VIDEO:
		v.describeVideo(&d, s, st)
	}
	return d
}

func (v *videoReader) describeVideo(d *StreamInfo, s *astiav.Stream, st *C.AVStream) {
	par := st.codecpar
	pf := astiav.PixelFormat(par.format)
	d.Width, d.Height, d.PixFmt = int(par.width), int(par.height), pf.Name()
	d.Rate, d.Frames = frameRate(v.fc, s).Float64(), int64(st.nb_frames)
	if _, _, native := av.LayoutOf(pf); native {
		d.Path = "as it is"
		return
	}
	layout, lost := av.NearestLayout(pf, v.takes)
	d.Path = "converted to " + layout.String()
	if lost != "" {
		d.Path += "; " + lost
	}
}

// Blank returns an empty frame at time 0 with the header's description, which frames may not have,
// in memory of the input's pool. It is an error if the header lacks the size or the pixel format.
func (v *videoReader) Blank() (*pipeline.Frame, error) {
	par := (*C.AVStream)(av.StreamPtr(v.video)).codecpar
	pf := astiav.PixelFormat(par.format)
	if par.width <= 0 || par.height <= 0 || pf == astiav.PixelFormatNone {
		return nil, errors.New("decode: the header does not say what the pictures are")
	}
	layout, full, native := av.LayoutOf(pf)
	if !native || !v.takes(layout) {
		layout, _ = av.NearestLayout(pf, v.takes)
	}
	picture := astiav.AllocFrame()
	if picture == nil {
		return nil, errors.New("decode: out of memory")
	}
	defer picture.Free()
	c := (*C.AVFrame)(picture.UnsafePointer())
	c.format, c.width, c.height = par.format, par.width, par.height
	c.color_range, c.colorspace = par.color_range, par.color_space
	c.color_primaries, c.color_trc, c.chroma_location = par.color_primaries, par.color_trc, par.chroma_location
	props := av.PropsOf(picture)
	if props == nil {
		return nil, errors.New("decode: out of memory")
	}
	format := pipeline.Format{Layout: layout, Width: int(par.width), Height: int(par.height)}
	format.FullRange = full || par.color_range == C.AVCOL_RANGE_JPEG || layout.Info().RGB
	if !layout.Info().RGB {
		format.Matrix = av.MatrixOf(int(par.color_space), format.Height)
	}
	f, err := v.pool.TakeFrame(format, props)
	if err != nil {
		props.Release()
		return nil, err
	}
	for i, y := range f.Rows() {
		clear(f.Row(i, y))
	}
	video := v.videoOf(c)
	f.Video, f.Interlaced = &video, v.Interlaced() || v.MayBeInterlaced()
	if video.Rate.Known() && video.TimeBase.Known() {
		f.Duration = int64(1/(video.Rate.Float64()*video.TimeBase.Float64()) + 0.5)
	}
	if err := v.addStated(props); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}
