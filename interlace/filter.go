package interlace

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Options of a filter.
type Options struct {
	Single      bool // a frame of each interlaced frame, from its first field; otherwise of each field
	Progressive bool // no frame is interlaced, unless the first is
}

// Filter makes progressive frames of interlaced ones. Progressive frames pass. It holds back a few
// frames, whose fields the pictures depend on.
//
// A frame of each field takes half the time to the next frame, in a unit of half the length.
//
// Fields are in a run while frames are interlaced, of one format, and have the same field first.
type Filter struct {
	engine Engine
	pool   *pipeline.Pool
	o      Options

	keepContext bool // context frames have results

	begun   bool
	doubles bool            // a frame has two results, and the unit of time is halved
	fields  bool            // the first frame is interlaced: the rate doubles
	from    *pipeline.Video // the description of the latest frame
	to      *pipeline.Video // and that of its results

	window  []*field // of the run, oldest first
	next    int      // index in window of the next field to fill
	results []*result
	latest  *source // frame; nil before the first, and after an end
}

// source is an interlaced frame.
type source struct {
	*pipeline.Frame
	fields int   // that are left
	step   int64 // to the next frame if it is followed by one, else from the one before; 0: unknown

	followed bool
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

// result is a picture under way.
type result struct {
	out  *pipeline.Frame // nil for a field without a picture
	wait Wait
	done []*field // that no later picture depends on
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

// NewFilter returns a filter whose results are frames of pool.
func NewFilter(e Engine, pool *pipeline.Pool, o Options) *Filter {
	return &Filter{engine: e, pool: pool, o: o}
}

var (
	_ pipeline.Filter        = (*Filter)(nil)
	_ pipeline.Discarder     = (*Filter)(nil)
	_ pipeline.ContextKeeper = (*Filter)(nil)
	_ pipeline.Drainer       = (*Filter)(nil)
)

// Reads is the frames that a result depends on.
func (Options) Reads() pipeline.Window { return pipeline.Window{Before: frames, After: frames} }

// KeepContext has context frames filtered, too; see pipeline.ContextKeeper.
func (f *Filter) KeepContext() { f.keepContext = true }

// Held returns how many frames the filter keeps between calls.
func (f *Filter) Held() int { return Reach + f.engine.Depth() }

// Process takes a frame, and emits the results whose windows it completes.
func (f *Filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if !f.begun {
		f.begun = true
		f.doubles = !f.o.Single && (in.Interlaced || !f.o.Progressive)
		f.fields = in.Interlaced
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
	if !f.doubles && !in.Interlaced {
		return emit(in)
	}
	out := pipeline.NewFrame(in.Format, in.Planes, nil, in.Release)
	out.Device = in.Device
	f.describe(out, in)
	return emit(out)
}

// describe gives a picture all but the samples of the frame that it comes from.
func (f *Filter) describe(out, in *pipeline.Frame) {
	out.CopyTiming(in)
	out.Interlaced, out.TopFieldFirst = false, false
	if f.doubles {
		out.PTS, out.Duration, out.Video = 2*in.PTS, 2*in.Duration, f.video(in.Video)
	}
}

// video returns the description of the results of frames with a description.
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

// halve returns the parts of half a ratio, the lower one first.
func halve(r pipeline.Ratio) (den, num int) {
	if r.Num%2 == 0 {
		return r.Den, r.Num / 2
	}
	return 2 * r.Den, r.Num
}

// add puts the fields of a frame into the window, which owns it.
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

// fill begins the picture of the next field, and emits the oldest one if enough are under way.
func (f *Filter) fill(ctx context.Context, emit pipeline.Emit) (err error) {
	e, r := f.window[f.next], &result{}
	if (f.doubles || !e.second) && (f.keepContext || !e.of.Context) {
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

// begin begins a picture. An error leaves nothing behind.
func (f *Filter) begin(ctx context.Context, emit pipeline.Emit, e *field, r *result) (err error) {
	if r.out, err = f.room(ctx, emit, e.of.Format); err != nil {
		return err
	}
	f.describe(r.out, e.of.Frame)
	if f.doubles {
		f.time(r.out, e)
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

// time sets the time of a picture, in halves of the frames' unit: its frame's, or half way to that
// of the next frame. The last one's is as far as its frame lasts, or else as the one before.
func (f *Filter) time(out *pipeline.Frame, e *field) {
	step := e.of.step
	if !e.of.followed && e.of.Duration > 0 {
		step = e.of.Duration
	}
	known := step > 0
	if !known && out.Video != nil && f.from.Rate.Known() && f.from.TimeBase.Known() {
		step = int64(1/(f.from.Rate.Float64()*f.from.TimeBase.Float64()) + 0.5)
	}
	out.Duration = 0
	if known {
		out.Duration = step
	}
	if e.second {
		out.PTS += max(1, step)
		if p, ok := out.Props().(pipeline.Repeater); ok {
			out.SetProps(p.Again())
		}
	}
}

// room returns a frame for a picture. Those under way make room if the pool has none.
func (f *Filter) room(ctx context.Context, emit pipeline.Emit, format pipeline.Format) (*pipeline.Frame, error) {
	for len(f.results) > 0 {
		if out, err := f.pool.TryFrame(format); out != nil || err != nil {
			return out, err
		}
		if err := f.finish(ctx, emit, len(f.results)-1); err != nil {
			return nil, err
		}
	}
	return f.pool.NewFrame(ctx, format)
}

// finish waits for pictures until no more than some are under way, and emits them.
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

// Drain emits the pictures under way.
func (f *Filter) Drain(ctx context.Context, emit pipeline.Emit) error { return f.finish(ctx, emit, 0) }

// end makes the pictures of all fields, which end a run.
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

// Flush emits the pictures of all fields, and forgets them.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if err := f.end(ctx, emit); err != nil {
		return err
	}
	f.Discard()
	return nil
}

// Discard releases all fields. It waits for what is under way, which reads them.
func (f *Filter) Discard() {
	for _, r := range f.results {
		r.release()
	}
	f.results = nil
	f.forget()
	f.begun, f.from, f.to = false, nil, nil
	f.engine.Idle()
}
