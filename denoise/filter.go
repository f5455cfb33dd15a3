package denoise

import (
	"context"

	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Options are what a user chooses.
type Options struct {
	Settings
	Sigma float64           // of the noise, in 8-bit levels; 0: measured
	Seen  func(noise.Model) // receives the noise of each frame; may be nil
}

// Filter denoises a stream of frames. It holds back as many as a result depends on after its own.
// Frames of another format, or woven of fields where those before were not, begin anew.
type Filter struct {
	engine Engine
	pool   *pipeline.Pool
	opts   Options

	format     pipeline.Format // of the window's frames
	interlaced bool
	window     []*entry // oldest first
	next       int      // index in the window of the next frame to emit
	put        int      // frames that the meter has seen
	meter      *noise.Meter
}

// entry is a frame of the window.
type entry struct {
	frame    *pipeline.Frame // nil once its result is emitted
	yuv      *pipeline.Frame // the frame, or its samples as YUV
	pictures []Picture       // of the frame, or of its fields
	number   int             // for the meter
	noise    noise.Model
	measured bool
}

var _ pipeline.Filter = (*Filter)(nil)
var _ pipeline.Discarder = (*Filter)(nil)

// NewFilter returns a filter whose results are frames of pool.
func NewFilter(e Engine, pool *pipeline.Pool, o Options) *Filter {
	return &Filter{engine: e, pool: pool, opts: o}
}

// measured is how many frames each way the measurement reads.
const measured = 3

// Held returns how many frames the filter keeps between calls.
func (f *Filter) Held() int {
	_, after := f.opts.Window()
	return after
}

// Process takes a frame, and emits the result of the one whose window it completes.
func (f *Filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if in.Format != f.format || in.Interlaced != f.interlaced {
		if err := f.Flush(ctx, emit); err != nil {
			in.Release()
			return err
		}
		f.format, f.interlaced = in.Format, in.Interlaced
	}
	if err := f.add(ctx, in); err != nil {
		in.Release()
		return err
	}
	if len(f.window)-f.next <= f.Held() {
		return nil
	}
	return f.emit(ctx, emit)
}

// add puts a frame into the window, which owns it unless there is an error.
func (f *Filter) add(ctx context.Context, in *pipeline.Frame) error {
	e := &entry{frame: in, yuv: in, number: f.put}
	if in.Layout == pipeline.RGBA {
		e.yuv = ofRGB(in)
	}
	fields := plane.Fields(in)
	for _, field := range fields {
		p, err := f.engine.Prepare(ctx, e.yuv, field)
		if err != nil {
			e.frame = nil
			e.release()
			return err
		}
		e.pictures = append(e.pictures, p)
	}
	f.window = append(f.window, e)
	f.put++
	if f.opts.Sigma == 0 {
		if f.meter == nil {
			f.meter = noise.NewMeter(measured, min(f.Held(), measured))
		}
		f.meter.Put(plane.Of(e.yuv, fields[0]), float64(in.Quantiser))
		f.measure(f.put - 1 - min(f.Held(), measured))
	}
	return nil
}

// measure sets the noise of the frames up to a number.
func (f *Filter) measure(last int) {
	for _, e := range f.window {
		if e.number <= last && !e.measured {
			e.noise, e.measured = f.meter.Model(e.number), true
		}
	}
}

// emit emits the result of the next frame, and forgets the frames that are not needed any more.
func (f *Filter) emit(ctx context.Context, emit pipeline.Emit) error {
	e := f.window[f.next]
	if !e.frame.Context {
		out, err := f.result(ctx, e)
		if err != nil {
			return err
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	e.frame.Release()
	e.frame = nil
	f.next++
	before, _ := f.opts.Window()
	for ; f.next > before; f.next-- {
		f.window[0].release()
		f.window = f.window[1:]
	}
	return nil
}

// result returns the frame without its noise.
func (f *Filter) result(ctx context.Context, e *entry) (*pipeline.Frame, error) {
	out, err := f.pool.NewFrame(ctx, e.frame.Format)
	if err != nil {
		return nil, err
	}
	out.CopyTiming(e.frame)
	model := e.noise
	if f.opts.Sigma > 0 {
		model = noise.Flat(f.opts.Sigma)
	}
	if f.opts.Seen != nil {
		f.opts.Seen(model)
	}
	if scaled := model.Scale(f.opts.Strength); scaled.Clean() {
		out.CopySamples(e.frame)
		return out, nil
	}
	if err := f.denoise(ctx, e, out, model); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// denoise writes the result to out, in the frame's own format.
func (f *Filter) denoise(ctx context.Context, e *entry, out *pipeline.Frame, m noise.Model) error {
	yuv := out
	if e.yuv != e.frame {
		yuv = emptyYUV(out)
		defer func() { addToRGB(out, e.frame, e.yuv, yuv) }()
	}
	for i, field := range plane.Fields(e.frame) {
		if err := f.engine.Denoise(ctx, f.job(yuv, field, i, m)); err != nil {
			return err
		}
	}
	return nil
}

// job describes the work on picture i of the next frame.
func (f *Filter) job(out *pipeline.Frame, field plane.Field, i int, m noise.Model) Job {
	before, after := f.opts.Window()
	from, to := max(f.next-before, 0), min(f.next+after+1, len(f.window))
	j := Job{Out: out, Field: field, Centre: f.next - from, Noise: m, Settings: f.opts.Settings}
	for _, e := range f.window[from:to] {
		j.Window = append(j.Window, e.pictures[i])
	}
	return j
}

// Flush emits the results of all frames, and forgets them.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if f.meter != nil {
		f.measure(f.put - 1)
	}
	for f.next < len(f.window) {
		if err := f.emit(ctx, emit); err != nil {
			return err
		}
	}
	f.Discard()
	return nil
}

// Discard releases all frames.
func (f *Filter) Discard() {
	for _, e := range f.window {
		e.release()
	}
	f.window, f.next, f.put, f.meter = nil, 0, 0, nil
}

func (e *entry) release() {
	for _, p := range e.pictures {
		p.Release()
	}
	if e.frame != nil {
		e.frame.Release()
	}
}
