package encode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// RecordOptions of NewRecorder.
type RecordOptions struct {
	CRF       float64 // constant quality, 0 (lossless) to 51
	Preset    string  // x264's, "" for veryfast: a recording is made beside other work
	FrameRate float64 // frames a second that are to be expected, 0 for 30
	Threads   int     // 0 for one a core
	Software  string  // written as the encoder of the file
	Policy    OverwritePolicy
	Warn      func(format string, args ...any)
}

// fragmentLength is how much of a recording may be lost when the program is killed, beside what the encoder holds.
const fragmentLength = time.Second

// Recorder writes frames to a file while they come. Until Finish they are in a recording file beside it, as
// out.recording.mp4 for out.mp4, which can be played whenever writing stops, but for the last second or two; Finish
// makes the file itself of it. It is used from one goroutine, but for Seconds and Bytes.
type Recorder struct {
	opts   RecordOptions
	format string
	target *Target
	file   *os.File // the recording file, locked while it grows; FFmpeg writes it by its name

	in     *astiav.FormatContext // stands for an input: the clock of the frames
	out    *Output
	first  pipeline.Format // all frames are written in it
	placer placer
	begin  time.Duration   // of the first frame
	last   int64           // time of the latest, in 1/90000 s from the first
	held   *pipeline.Frame // the latest, until it is known how long it is shown; nil before the first
	err    error           // what ended the recording
	done   bool            // finished
	closed bool

	length atomic.Int64 // nanoseconds
	bytes  atomic.Int64
}

// NewRecorder checks that path, whose name ends in .mp4, .mov or .mkv, can be written, as OpenTarget does with
// Policy, and makes the recording file. One that an earlier run has left is told through Warn and kept; this one
// gets another name then. Errors wrap ErrOutput.
func NewRecorder(path string, o RecordOptions) (*Recorder, error) {
	format, ok := map[string]string{".mp4": "mp4", ".mov": "mov", ".mkv": "matroska"}[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return nil, refusal("name it .mp4, .mov or .mkv", "recording to %q: its name does not say in which format", path)
	}
	r := &Recorder{opts: o.withDefaults(), format: format}
	var err error
	if r.target, err = OpenTarget(path, r.opts.Policy); err != nil {
		return nil, err
	}
	if r.target.Direct() {
		return nil, refusal("name a file", "recording to %q: it is not a file", path)
	}
	if err := r.reserve(); err != nil {
		_ = r.target.Discard()
		return nil, err
	}
	return r, nil
}

func (o RecordOptions) withDefaults() RecordOptions {
	if o.Preset == "" {
		o.Preset = "veryfast"
	}
	if o.FrameRate == 0 {
		o.FrameRate = defaultPreviewFPS
	}
	if o.Policy == nil {
		o.Policy = Refuse
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	return o
}

// Path returns the name of the recording file.
func (r *Recorder) Path() string { return r.file.Name() }

// Seconds returns how long the recording is; safe from any goroutine.
func (r *Recorder) Seconds() float64 { return time.Duration(r.length.Load()).Seconds() }

// Bytes returns how many bytes are in the recording file; safe from any goroutine.
func (r *Recorder) Bytes() int64 { return r.bytes.Load() }

// Put records a frame, which it takes, at the time since any fixed moment; times that do not rise are moved to the
// next possible one. The first frame fixes size and format: others are scaled to it. Put takes as long as it
// takes to encode a frame. After an error, which wraps ErrOutput where it lies in the disk, the recording is over:
// what came before stays in the recording file, and every further call returns the same error.
func (r *Recorder) Put(ctx context.Context, f *pipeline.Frame, at time.Duration) error {
	if err := r.over(); err != nil {
		f.Release()
		return err
	}
	if err := r.put(ctx, f, at); err != nil {
		r.stop(err)
	}
	return r.err
}

var errRecorded = errors.New("encode: the recording is finished")

// over says why nothing can be recorded any more.
func (r *Recorder) over() error {
	if r.err == nil && (r.done || r.closed) {
		return errRecorded
	}
	return r.err
}

func (r *Recorder) put(ctx context.Context, f *pipeline.Frame, at time.Duration) error {
	if r.out == nil {
		if err := r.start(f); err != nil {
			f.Release()
			return err
		}
		r.begin, r.last = at, -1
	}
	own, err := r.prepare(f)
	if err != nil {
		return fmt.Errorf("encode: record: %w", err)
	}
	r.last = max((at-r.begin).Microseconds()*9/100, r.last+1)
	own.PTS = r.last
	if err := r.release(ctx, own.PTS); err != nil {
		own.Release()
		return err
	}
	r.held = own
	r.length.Store(int64(time.Duration(r.last*100/9) * time.Microsecond))
	return nil
}

// release encodes the frame that is held, which is shown until the time next.
func (r *Recorder) release(ctx context.Context, next int64) error {
	f := r.held
	if f == nil {
		return nil
	}
	r.held = nil
	f.Duration = next - f.PTS
	if err := r.out.Put(ctx, f); err != nil {
		return err
	}
	r.bytes.Store(r.out.Bytes())
	return nil
}

// flush encodes the last frame, which is shown as long as any.
func (r *Recorder) flush(ctx context.Context) error {
	if err := r.release(ctx, r.last+int64(mediaSecond/r.opts.FrameRate)); err != nil {
		return err
	}
	return r.out.Finish(ctx)
}

// start opens the encoder and the muxer.
func (r *Recorder) start(f *pipeline.Frame) error {
	if r.in = astiav.AllocFormatContext(); r.in == nil {
		return errors.New("encode: out of memory")
	}
	video := r.in.NewStream(nil)
	if video == nil {
		return errors.New("encode: out of memory")
	}
	video.SetTimeBase(astiav.NewRational(1, mediaSecond))
	video.CodecParameters().SetMediaType(astiav.MediaTypeVideo)
	video.CodecParameters().SetPixelFormat(av.PixelFormat(f.Layout))
	o := r.options("mp4")
	o.Fragment = fragmentLength
	if f.Layout == pipeline.RGBA && !odd(f.Format, astiav.PixelFormatYuv420P) {
		o.PixelFormat = "yuv420p" // what any player takes
	}
	var err error
	r.first = f.Format
	r.out, err = Create("file:"+r.file.Name(), Template{
		Context: r.in, Video: video, FrameRate: astiav.NewRational(int(r.opts.FrameRate*1000+0.5), 1000),
	}, o)
	return err
}

func (r *Recorder) options(format string) Options {
	return Options{Format: format, CRF: r.opts.CRF, Preset: r.opts.Preset, Threads: r.opts.Threads, Software: r.opts.Software, Warn: r.opts.Warn}
}

// prepare takes f and returns a frame of the recording's format, with times of its own: others may have f, too.
func (r *Recorder) prepare(f *pipeline.Frame) (*pipeline.Frame, error) {
	if f.Format == r.first {
		own := pipeline.NewFrame(f.Format, f.Planes, nil, f.Release)
		own.CopyTiming(f)
		return own, nil
	}
	defer f.Release()
	c, err := newCanvas(r.first)
	if err != nil {
		return nil, err
	}
	own := pipeline.NewFrame(r.first, c.view.Planes, nil, c.close)
	if err := r.placer.put(own, f); err != nil {
		own.Release()
		return nil, err
	}
	own.CopyTiming(f)
	return own, nil
}

// stop ends the recording for an error. A fragment that was written in part is cut off.
func (r *Recorder) stop(err error) {
	r.err = err
	r.drop()
	if r.out == nil {
		return
	}
	whole := r.out.Bytes()
	r.out.Close()
	_ = r.file.Truncate(whole)
	r.bytes.Store(whole)
	r.err = r.leave(err)
}

// Close frees everything. Without Finish what was recorded stays in the recording file; one that has nothing in it
// goes. It may be called twice.
func (r *Recorder) Close() {
	if r.closed {
		return
	}
	if r.out != nil {
		if r.over() == nil {
			_ = r.flush(context.Background()) // brings out what the encoder holds
			r.bytes.Store(r.out.Bytes())
		}
		r.out.Close()
	}
	r.drop()
	r.closed = true
	if r.in != nil {
		r.in.Free()
	}
	r.placer.scaler.Close()
	_ = r.target.Discard()
	if r.bytes.Load() == 0 {
		_ = os.Remove(r.file.Name())
	}
	_ = r.file.Close()
}

func (r *Recorder) drop() {
	if r.held != nil {
		r.held.Release()
		r.held = nil
	}
}
