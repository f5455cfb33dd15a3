package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/encode"
	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/graph"
	"vidfilter/internal/av"
	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// Options of New.
type Options struct {
	CRF       float64  // constant quality, 0 (lossless) to 51
	Preset    string   // x264's, "" for veryfast: leaves CPU for the session
	FrameRate float64  // expected frames a second, 0 for 30
	Threads   int      // 0 for one per core
	Software  string   // written as the file's encoder
	Inputs    []string // files being read: see target.Open
	Policy    target.Policy
	Log       *slog.Logger // warnings for the user; nil drops them
}

const (
	defaultRate = 30    // frames a second
	second      = 90000 // units of a recording's times
)

// A killed program loses the last fragment and the frames in the encoder: together less than a
// second. At low rates the encoder must not hold any.
const (
	fragmentLength = time.Second / 2
	lookAhead      = "rc-lookahead=5:sync-lookahead=0"
	mostThreads    = 4  // each holds a frame back
	lowRate        = 24 // frames a second
)

// Recorder writes frames to a file as they come. Until Finish they are in a recording file beside
// it, out.recording.mp4 for out.mp4, which is playable at any time except for the last second.
// Finish turns it into the file itself. Apart from Seconds and Bytes it is for one goroutine.
type Recorder struct {
	opts   Options
	format string
	target *target.File
	file   *os.File // the recording file, locked while it grows; FFmpeg writes it by name
	number int      // in its name

	in     *astiav.FormatContext // stands in for an input, with the frames' time base
	out    *encode.Output
	first  pipeline.Format // format of all frames written
	placer av.Placer
	bars   *graph.Filter // adds them to pictures like barred; nil before there are any
	barred shape
	video  *pipeline.Video // of all frames written
	track  *sound.Track    // nil: no sound
	sound  *astiav.Stream  // of in
	packet *astiav.Packet  // for sound
	begin  time.Duration   // of the first frame
	last   int64           // time of the latest, in 1/90000 s from the first
	gap    int64           // between the two latest
	held   *pipeline.Frame // the latest, until its length is known; nil before the first
	err    error           // ended the recording
	done   bool            // finished
	closed bool

	flusher flusher

	length atomic.Int64 // nanoseconds
	bytes  atomic.Int64
}

// New checks that path can be written, as target.Open does with Policy and Inputs, and
// creates the recording file. The ending of path chooses one of the formats that can be recorded.
// If an earlier run has left a recording file, New warns of it and uses another name. Errors wrap
// target.ErrOutput.
func New(path string, o Options) (*Recorder, error) {
	format, ok := formats.ByEnding(filepath.Ext(path))
	if !ok || !format.Recordable {
		endings := formats.Endings(func(f formats.Format) bool { return f.Recordable })
		return nil, target.Refusal("give it a name that ends in "+strings.Join(endings, " or "),
			"record to %q: its ending is none of a format that can be recorded", path)
	}
	r := &Recorder{opts: o.withDefaults(), format: format.Name}
	var err error
	if r.target, err = target.Open(path, r.opts.Policy, r.opts.Inputs); err != nil {
		return nil, err
	}
	if r.target.Direct() {
		return nil, target.Refusal("name a file", "record to %q: it is not a file", path)
	}
	if err := r.reserve(); err != nil {
		_ = r.target.Discard()
		return nil, err
	}
	return r, nil
}

func (o Options) withDefaults() Options {
	o.Preset, o.FrameRate = cmp.Or(o.Preset, "veryfast"), cmp.Or(o.FrameRate, defaultRate)
	if o.Policy == nil {
		o.Policy = target.Refuse
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Seconds returns the length of the recording; safe from any goroutine.
func (r *Recorder) Seconds() float64 { return time.Duration(r.length.Load()).Seconds() }

// Bytes returns the size of the recording file; safe from any goroutine.
func (r *Recorder) Bytes() int64 { return r.bytes.Load() }

// Expect sets the expected frames a second, before the first Put. Below 1 it is ignored.
func (r *Recorder) Expect(rate float64) {
	if rate >= 1 {
		r.opts.FrameRate = rate
	}
}

// Put records a frame, which it takes, at a time since any fixed moment. Times that do not rise are
// moved to the next possible one. The first frame fixes size, format and shape. Others are
// converted, and get black bars if their shape differs. Put takes as long as encoding a frame.
// After an error, which wraps target.ErrOutput if the disk is its cause, the recording is over:
// frames before it stay in the recording file, and every further call returns the same error.
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

var errRecorded = errors.New("record: the recording is finished")

// over returns an error once recording is impossible.
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
		return fmt.Errorf("record: %w", err)
	}
	before := r.last
	r.last = max(ticks(at-r.begin), before+1)
	r.gap = r.last - max(before, 0)
	own.PTS = r.last
	if err := r.release(ctx, own.PTS); err != nil {
		own.Release()
		return err
	}
	r.held = own
	r.length.Store(int64(time.Duration(r.last*100/9) * time.Microsecond))
	return nil
}

// release encodes the held frame, which is shown until next.
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
	r.flusher.flush(r.file)
	return nil
}

func ticks(d time.Duration) int64 { return (d.Nanoseconds()*9 + 50_000) / 100_000 }

// flush encodes the last frame.
func (r *Recorder) flush(ctx context.Context) error {
	if err := r.release(ctx, r.last+r.lastLength()); err != nil {
		return err
	}
	return r.out.Finish(ctx)
}

// lastLength returns the duration of the last frame: the duration before, unless that was a pause.
func (r *Recorder) lastLength() int64 {
	if r.last <= 0 {
		return int64(second / r.opts.FrameRate)
	}
	return min(r.gap, second)
}

// start opens the encoder and the muxer.
func (r *Recorder) start(f *pipeline.Frame) error {
	if r.in = astiav.AllocFormatContext(); r.in == nil {
		return errors.New("record: out of memory")
	}
	stream := r.in.NewStream(nil)
	if stream == nil {
		return errors.New("record: out of memory")
	}
	stream.SetTimeBase(astiav.NewRational(1, second))
	stream.CodecParameters().SetMediaType(astiav.MediaTypeVideo)
	stream.CodecParameters().SetPixelFormat(av.PixelFormat(f.Layout))
	others, err := r.addSound()
	if err != nil {
		return err
	}
	o := r.options(formats.MP4)
	o.Fragment = fragmentLength
	o.CodeSound = true
	if o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0)); o.Threads > mostThreads {
		o.Threads = mostThreads
	}
	if r.opts.FrameRate < lowRate {
		o.Tune = "zerolatency"
	} else if o.EncoderParams, err = video.CodecOf(spec.X264).ParseParams(lookAhead); err != nil {
		return err
	}
	if f.Layout == pipeline.RGBA && (f.Width|f.Height)&1 == 0 {
		o.PixelFormat = "yuv420p" // every player takes it
	}
	r.first = f.Format
	r.out, err = encode.Create("file:"+r.file.Name(), encode.Template{
		Context: r.in, Video: stream, Others: others,
	}, o)
	return err
}

func (r *Recorder) options(format string) encode.Options {
	return encode.Options{Format: format, CRF: r.opts.CRF, Preset: r.opts.Preset, Threads: r.opts.Threads, Software: r.opts.Software, Log: r.opts.Log}
}

// prepare takes f and returns a frame in the recording's format, with times of its own, since f
// may be shared.
func (r *Recorder) prepare(f *pipeline.Frame) (*pipeline.Frame, error) {
	r.describe(f)
	if now := shapeOf(f); now != r.whole() {
		var err error
		if f, err = r.addBars(f, now); err != nil {
			return nil, err
		}
	}
	if f.Format == r.first {
		own := pipeline.NewFrame(f.Format, f.Planes, nil, f.Release)
		own.CopyTiming(f)
		own.Video = r.describe(f)
		return own, nil
	}
	defer f.Release()
	c, err := av.NewCanvas(r.first)
	if err != nil {
		return nil, err
	}
	own := pipeline.NewFrame(r.first, c.View.Planes, nil, c.Close)
	if err := r.placer.Put(own, f); err != nil {
		own.Release()
		return nil, err
	}
	own.CopyTiming(f)
	own.Video = r.describe(f)
	return own, nil
}

// shape is the size of pictures, and the width of a sample for its height.
type shape struct {
	width, height int
	aspect        float64
}

func shapeOf(f *pipeline.Frame) shape {
	s := shape{f.Width, f.Height, 1}
	if f.Video != nil && f.Video.Aspect.Known() {
		s.aspect = f.Video.Aspect.Float64()
	}
	return s
}

// whole is the shape of the recording.
func (r *Recorder) whole() shape {
	s := shape{r.first.Width, r.first.Height, 1}
	if r.video != nil && r.video.Aspect.Known() {
		s.aspect = r.video.Aspect.Float64()
	}
	return s
}

// addBars returns a picture of the recording's size, with f in the middle. It takes f.
func (r *Recorder) addBars(f *pipeline.Frame, now shape) (out *pipeline.Frame, err error) {
	to := r.whole()
	width, height := pipeline.Fit(int(float64(now.width)*now.aspect/to.aspect+0.5), now.height, to.width, to.height)
	if width == to.width && height == to.height {
		return f, nil
	}
	if r.bars == nil || r.barred != now {
		if r.bars != nil {
			r.bars.Discard()
		}
		text := fmt.Sprintf("scale=%d:%d,pad=%d:%d:%d:%d,setsar=1", width, height, to.width, to.height, (to.width-width)/2&^1, (to.height-height)/2&^1)
		if r.bars, err = graph.Open(text, graph.Options{}); err != nil {
			f.Release()
			return nil, err
		}
		r.barred = now
	}
	in := pipeline.NewFrame(f.Format, f.Planes, nil, f.Release)
	in.CopyTiming(f)
	in.Video = r.describe(f) // which a graph needs
	err = r.bars.Process(context.Background(), in, func(made *pipeline.Frame) error {
		out = made
		return nil
	})
	return out, err
}

// describe returns the description of the recording, by its first frame.
func (r *Recorder) describe(f *pipeline.Frame) *pipeline.Video {
	if r.video == nil {
		v := pipeline.Video{}
		if f.Video != nil {
			v = *f.Video
		}
		v.TimeBase, v.MeanRate = pipeline.Ratio{Num: 1, Den: second}, pipeline.Ratio{}
		v.Alpha = r.first.Layout == pipeline.RGBA
		v.Rate = pipeline.Ratio{Num: int(r.opts.FrameRate*1000 + 0.5), Den: 1000}
		r.video = &v
	}
	return r.video
}

// stop ends the recording after an error, and cuts off an incomplete fragment.
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

// Close frees everything. Without Finish the recording file stays, unless it is empty. It may be
// called twice.
func (r *Recorder) Close() {
	if r.closed {
		return
	}
	if r.out != nil {
		if r.over() == nil {
			_ = r.flush(context.Background()) // drains the encoder
			r.bytes.Store(r.out.Bytes())
		}
		r.out.Close()
	}
	r.drop()
	r.closed = true
	if r.in != nil {
		r.in.Free()
	}
	if r.packet != nil {
		r.packet.Free()
	}
	r.placer.Close()
	if r.bars != nil {
		r.bars.Discard()
	}
	_ = r.target.Discard()
	if r.bytes.Load() == 0 {
		_ = r.remove()
	}
	_ = r.file.Close()
}

func (r *Recorder) drop() {
	if r.held != nil {
		r.held.Release()
		r.held = nil
	}
}
