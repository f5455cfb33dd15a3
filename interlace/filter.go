package interlace

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Options are the settings of a Filter.
type Options struct {
	Single      bool // one picture per interlaced frame, from its first field, instead of one per field
	Progressive bool // assume that no frame is interlaced, unless the first is
}

// Filter converts interlaced frames to progressive ones, and passes progressive frames on. It keeps
// a few frames because pictures depend on neighbouring fields.
//
// With one picture per field, each picture lasts half the time to the next frame, and the time base
// is halved. The time base does not change if frames become interlaced against Options.Progressive.
// Times are then rounded down, and a frame of one unit gets only one picture.
//
// Consecutive interlaced frames with the same format and the same field order form a run. Pictures
// depend only on fields of their run.
type Filter struct {
	engine Engine
	pool   *pipeline.Pool
	o      Options

	keepContext bool // emit results for context frames

	begun  bool
	fields bool            // the first frame is interlaced: the rate doubles
	halves bool            // the time base is halved
	from   *pipeline.Video // description of the latest frame
	to     *pipeline.Video // description of its results

	window  []*field // of the run, oldest first
	next    int      // index in window of the next field to fill
	results []*result
	latest  *source // nil before the first frame and between runs
}

// source is an interlaced frame.
type source struct {
	*pipeline.Frame
	fields int   // not released yet
	step   int64 // time to the next frame if followed, else from the previous frame; 0: unknown

	followed bool // the next frame is known
}

type field struct {
	Field
	of     *source
	second bool
}

func (f *field) release() {
	f.Release()
	if f.of.fields--; f.of.fields == 0 {
		f.of.Frame.Release()
	}
}

// result is a picture in progress.
type result struct {
	out  *pipeline.Frame // nil for a field without a picture
	wait Wait
	done []*field // not needed by later pictures
}

func (r *result) release() {
	if r.wait != nil {
		_ = r.wait(context.Background())
	}
	if r.out != nil {
		r.out.Release()
	}
	for _, e := range r.done {
		e.release()
	}
}

// NewFilter returns a filter that takes the frames for its results from pool.
func NewFilter(e Engine, pool *pipeline.Pool, o Options) *Filter {
	return &Filter{engine: e, pool: pool, o: o}
}

var (
	_ pipeline.Filter        = (*Filter)(nil)
	_ pipeline.Discarder     = (*Filter)(nil)
	_ pipeline.ContextKeeper = (*Filter)(nil)
	_ pipeline.Drainer       = (*Filter)(nil)
)

// Reads returns the window of frames that a result depends on.
func (Options) Reads() pipeline.Window { return pipeline.Window{Before: frames, After: frames} }

// KeepContext implements pipeline.ContextKeeper: context frames get results as well.
func (f *Filter) KeepContext() { f.keepContext = true }

// Held returns the largest number of frames that the filter keeps between calls.
func (f *Filter) Held() int { return Reach + f.engine.Depth() }

// Process takes ownership of a frame and emits finished results.
func (f *Filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if !f.begun {
		f.begun = true
		f.fields = in.Interlaced
		f.halves = !f.o.Single && (in.Interlaced || !f.o.Progressive)
	}
	step := int64(0)
	if last := f.latest; last != nil && in.PTS > last.PTS {
		step = in.PTS - last.PTS
		last.step, last.followed = step, true
	}
	fields := plane.Fields(in)
	if last := f.latest; last != nil && (len(fields) == 1 || in.Format != last.Format || in.TopFieldFirst != last.TopFieldFirst) {
		if err := f.end(ctx, emit); err != nil {
			in.Release()
			return err
		}
	}
	if len(fields) == 1 {
		return f.pass(in, emit)
	}
	if err := f.add(ctx, &source{Frame: in, step: step}, fields); err != nil {
		return err
	}
	for len(f.window)-f.next > Reach {
		if err := f.fill(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

// pass emits a progressive frame.
func (f *Filter) pass(in *pipeline.Frame, emit pipeline.Emit) error {
	if in.Context && !f.keepContext {
		in.Release()
		return nil
	}
	if !f.halves && !in.Interlaced {
		return emit(in)
	}
	out := pipeline.NewFrame(in.Format, in.Planes, nil, in.Release)
	out.Device = in.Device
	f.describe(out, in)
	return emit(out)
}

// describe copies the metadata of the frame in to its picture out.
func (f *Filter) describe(out, in *pipeline.Frame) {
	out.CopyTiming(in)
	out.Interlaced, out.TopFieldFirst = false, false
	if f.halves {
		out.PTS, out.Duration, out.Video = 2*in.PTS, 2*in.Duration, f.video(in.Video)
	}
}

// video returns the results' description for frames with description v.
func (f *Filter) video(v *pipeline.Video) *pipeline.Video {
	if v == nil || v == f.from {
		return f.to
	}
	to := *v
	if f.fields {
		to.Rate, to.MeanRate = double(to.Rate), double(to.MeanRate)
	}
	to.TimeBase.Den, to.TimeBase.Num = halve(to.TimeBase)
	f.from, f.to = v, &to
	return f.to
}

func double(r pipeline.Ratio) pipeline.Ratio {
	r.Num, r.Den = halve(pipeline.Ratio{Num: r.Den, Den: r.Num})
	return r
}

// halve returns the denominator and the numerator of half a ratio.
func halve(r pipeline.Ratio) (den, num int) {
	if r.Num%2 == 0 {
		return r.Den, r.Num / 2
	}
	return 2 * r.Den, r.Num
}

// add appends the fields of a frame to the window and takes ownership of the frame.
func (f *Filter) add(ctx context.Context, in *source, fields []plane.Field) error {
	if !in.TopFieldFirst {
		fields[0], fields[1] = fields[1], fields[0]
	}
	for i, which := range fields {
		kept, err := f.engine.Prepare(ctx, in.Frame, which)
		if err != nil {
			if i == 0 {
				in.Release()
			}
			return err
		}
		in.fields++
		f.window = append(f.window, &field{kept, in, i == 1})
	}
	f.latest = in
	return nil
}

// fill starts the picture for the next field. It emits the oldest pictures if more than the
// engine's depth are in progress.
func (f *Filter) fill(ctx context.Context, emit pipeline.Emit) (err error) {
	e, r := f.window[f.next], &result{}
	if (!e.second || f.hasSecond(e.of)) && (f.keepContext || !e.of.Context) {
		if err := f.begin(ctx, emit, e, r); err != nil {
			return err
		}
	}
	f.next++
	f.results = append(f.results, r)
	for ; f.next > Reach; f.next-- {
		f.window[0].Retire()
		r.done = append(r.done, f.window[0])
		f.window = f.window[1:]
	}
	return f.finish(ctx, emit, f.engine.Depth())
}

// begin starts the picture for field e in r. On an error it releases the frame.
func (f *Filter) begin(ctx context.Context, emit pipeline.Emit, e *field, r *result) (err error) {
	finish := func(left int) error { return f.finish(ctx, emit, left) }
	if r.out, err = f.pool.FrameAfter(ctx, e.of.Format, len(f.results), finish); err != nil {
		return err
	}
	f.describe(r.out, e.of.Frame)
	r.out.FromField = true
	if !f.o.Single {
		f.time(r.out, e)
	}
	if p, ok := r.out.Props().(pipeline.Woven); ok {
		own, err := p.OfField(e.second == e.of.TopFieldFirst)
		if err != nil {
			r.out.Release()
			return err
		}
		r.out.SetProps(own)
	}
	j := Job{Out: r.out}
	for i := range j.Window {
		if k := f.next + i - Reach; k >= 0 && k < len(f.window) {
			j.Window[i] = f.window[k].Field
		}
	}
	if r.wait, err = f.engine.Fill(ctx, j); err != nil {
		r.out.Release()
	}
	return err
}

// lasts returns the duration of a frame: the time to the next frame. The last frame of a run uses
// its own duration, else the previous step. Otherwise known is false and the frame rate is used.
func (e *source) lasts() (step int64, known bool) {
	switch v := e.Video; {
	case !e.followed && e.Duration > 0:
		return e.Duration, true
	case e.step > 0:
		return e.step, true
	case v != nil && v.Rate.Known() && v.TimeBase.Known():
		return max(1, int64(1/(v.Rate.Float64()*v.TimeBase.Float64())+0.5)), false
	}
	return 1, false
}

// hasSecond reports whether the second field of a frame gets a picture. A frame of a single time
// unit is too short.
func (f *Filter) hasSecond(e *source) bool {
	step, _ := e.lasts()
	return !f.o.Single && (f.halves || step > 1)
}

// time sets the time of a picture: its frame's time, plus half the frame's duration for a second
// field.
func (f *Filter) time(out *pipeline.Frame, e *field) {
	step, known := e.of.lasts()
	first, second := step, step
	if !f.halves && step > 1 {
		first, second = step/2, step-step/2
	}
	if out.Duration = first; e.second {
		out.PTS, out.Duration = out.PTS+first, second
		if p, ok := out.Props().(pipeline.Repeater); ok {
			out.SetProps(p.Again())
		}
	}
	if !known {
		out.Duration = 0
	}
}

// finish waits for the oldest pictures and emits them until only left are in progress.
func (f *Filter) finish(ctx context.Context, emit pipeline.Emit, left int) error {
	for len(f.results) > left {
		r := f.results[0]
		if r.wait != nil {
			if err := r.wait(ctx); err != nil {
				return err
			}
		}
		f.results = f.results[1:]
		out := r.out
		r.out, r.wait = nil, nil
		r.release()
		if out == nil {
			continue
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// Drain emits the pictures in progress.
func (f *Filter) Drain(ctx context.Context, emit pipeline.Emit) error { return f.finish(ctx, emit, 0) }

// end completes the pictures of a run and releases its fields.
func (f *Filter) end(ctx context.Context, emit pipeline.Emit) error {
	for f.next < len(f.window) {
		if err := f.fill(ctx, emit); err != nil {
			return err
		}
	}
	if err := f.finish(ctx, emit, 0); err != nil {
		return err
	}
	f.forget()
	return nil
}

// forget releases all fields.
func (f *Filter) forget() {
	for _, e := range f.window {
		e.release()
	}
	f.window, f.next, f.latest = nil, 0, nil
}

// Flush emits the pictures of all remaining fields and resets the filter.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if err := f.end(ctx, emit); err != nil {
		return err
	}
	f.Discard()
	return nil
}

// Discard releases all fields and resets the filter. It waits for pictures in progress, which read
// the fields, but does not emit them.
func (f *Filter) Discard() {
	for _, r := range f.results {
		r.release()
	}
	f.results = nil
	f.forget()
	f.begun, f.from, f.to = false, nil, nil
	f.engine.Idle()
}
