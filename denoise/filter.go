package denoise

import (
	"cmp"
	"context"

	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Options are the user's choices.
type Options struct {
	Settings
	Sigma float64      // of the noise of samples, in 8-bit levels; 0: measured
	Known *noise.Model // the noise of samples, if Sigma is 0; nil: measured
	Depth int          // bits of the results, if the frames have fewer and their layout supports it
}

// measures reports whether the noise of each frame is measured.
func (o Options) measures() bool { return o.Sigma == 0 && o.Known == nil }

// keeps is how many frames the filter keeps before and after each: its window, and the meter's.
func (o Options) keeps() (before, after int) {
	before, after = o.Window()
	if o.measures() {
		before, after = max(before, 1), max(after, min(measured, o.Ahead))
	}
	return before, after
}

// Reads is the frames that a result depends on: its window, the frames whose noise is measured, and
// the past, whose runs begin at multiples of a step.
func (o Options) Reads() pipeline.Window {
	before, after := o.keeps()
	step := 1
	if o.Runs > 0 {
		before, step = before+o.Runs*plane.SumOf, plane.SumOf
	}
	if o.measures() {
		before = max(before+noise.LightsBefore, noise.Before)
	}
	return pipeline.Window{Before: before, After: after, Step: step}
}

// Filter denoises a stream of frames. It holds back as many as a result depends on after its own.
// Frames of another format, or woven of fields where those before were not, begin anew.
type Filter struct {
	engine   Engine
	pool     *pipeline.Pool
	opts     Options
	seen     func(m noise.Model, clean bool) // may be nil
	steadies func()                          // may be nil

	keepContext bool // context frames have results

	format     pipeline.Format // of the window's frames
	interlaced bool
	arrived    []*entry  // frames that are being measured, for the window, oldest first
	window     []*entry  // oldest first
	began      int       // frames so far, of any format: it begins runs of the past
	past       [2][]Past // of each picture of the window's frames, the latest first
	next       int       // index in the window of the next frame to begin
	results    []*result // under way, oldest first
	put        int       // frames that the meter has seen
	meter      *noise.Meter
	reading    *noise.Reading // of the latest frame
	lights     *noise.Lights  // of the window's frames
}

// entry is a frame of the window.
type entry struct {
	frame    *pipeline.Frame
	yuv      *pipeline.Frame // the frame, or its samples in the planes that RGB is filtered in
	steadied *pipeline.Frame // the same, as bright as the frames before; nil if the frame does not flicker
	flicker  noise.Flicker
	pictures []Picture      // of the frame, or of its fields
	repeats  []bool         // of each picture: it repeats the entry before
	reading  *noise.Reading // nil if the noise is not measured
	index    int            // among all frames
	number   int            // for the meter
	noise    noise.Model
	measured bool

	forgotten bool // the frame is without samples
}

var _ pipeline.Filter = (*Filter)(nil)
var _ pipeline.Discarder = (*Filter)(nil)
var _ pipeline.ContextKeeper = (*Filter)(nil)

// NewFilter returns a filter whose results are frames of pool.
func NewFilter(e Engine, pool *pipeline.Pool, o Options) *Filter {
	return &Filter{engine: e, pool: pool, opts: o}
}

// OnNoise has the noise of the samples of each frame reported, before it is taken out. A clean
// frame is left as it is.
func (f *Filter) OnNoise(seen func(m noise.Model, clean bool)) { f.seen = seen }

// OnSteady has each frame reported that is filtered at another brightness, as its scene flickers.
func (f *Filter) OnSteady(seen func()) { f.steadies = seen }

// KeepContext also has context frames filtered; see pipeline.ContextKeeper.
func (f *Filter) KeepContext() { f.keepContext = true }

// filters reports whether a frame has a result.
func (f *Filter) filters(e *entry) bool { return f.keepContext || !e.frame.Context }

// Retune changes the settings of a live filter, which looks ahead for a frame at the most, for the
// frames to come.
func (f *Filter) Retune(o Options) {
	f.opts = o
	switch {
	case !o.measures():
		f.meter, f.reading, f.lights = nil, nil, nil // their last frames go with the window
	case f.meter == nil:
		for _, e := range f.window {
			f.read(e)
		}
		f.see(f.window)
	}
}

// Again emits the latest frame of a causal filter again, with the settings as they are now. Before
// the first frame it returns at once.
func (f *Filter) Again(ctx context.Context, emit pipeline.Emit) error {
	if f.next == 0 {
		return nil
	}
	f.next--
	return f.start(ctx, emit)
}

// Known returns the frames of the window, oldest first, which become the caller's. A filter that
// looks far ahead may have forgotten their samples.
func (f *Filter) Known() (all []*pipeline.Frame) {
	for _, e := range f.window {
		if !e.forgotten {
			all = append(all, e.frame.Retain())
		}
	}
	return all
}

// measured is how many frames after its own the measurement of a frame reads.
const measured = 3

// Held returns how many frames the filter keeps between calls.
func (f *Filter) Held() int {
	before, after := f.opts.keeps()
	return before + after + f.engine.Depth() + f.arriving()
}

// arriving is how many frames may be measured side by side before they are denoised: a device takes
// less time for a frame than that. A live picture does not wait.
func (f *Filter) arriving() int {
	const most = 3
	if !f.opts.measures() || f.ahead() < measured {
		return 0
	}
	return min(f.engine.Depth(), most)
}

func (f *Filter) ahead() int {
	_, after := f.opts.keeps()
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
	f.arrive(in)
	if len(f.arrived) <= f.arriving() {
		return nil
	}
	return f.admit(ctx, emit)
}

// arrive takes a frame, and begins to measure it.
func (f *Filter) arrive(in *pipeline.Frame) {
	e := &entry{frame: in, yuv: in, index: f.began}
	f.began++
	if in.Layout.Info().RGB {
		e.yuv = planesOfRGB(in)
	}
	if f.opts.measures() {
		f.read(e)
	}
	f.arrived = append(f.arrived, e)
}

// read begins to measure a frame.
func (f *Filter) read(e *entry) {
	f.reading = noise.Read(f.reading, plane.ViewsOf(e.yuv, plane.Fields(e.frame)[0]))
	e.reading = f.reading
}

// admit puts the next frame into the window, and emits the result of the one whose window it
// completes.
func (f *Filter) admit(ctx context.Context, emit pipeline.Emit) error {
	e := f.arrived[0]
	f.arrived = f.arrived[1:]
	if err := f.add(ctx, e); err != nil {
		f.awaitReadings()
		e.release()
		return err
	}
	if len(f.window)-f.next <= f.ahead() {
		return nil
	}
	return f.start(ctx, emit)
}

// awaitReadings waits until no frame is being measured: each is compared with the one before it.
func (f *Filter) awaitReadings() {
	for _, e := range f.arrived {
		e.awaitReading()
	}
}

func (e *entry) awaitReading() {
	if e.reading != nil {
		e.reading.Wait()
	}
}

// add puts a frame into the window, which owns it unless there is an error.
func (f *Filter) add(ctx context.Context, e *entry) error {
	f.steady(e)
	for _, field := range plane.Fields(e.frame) {
		p, err := f.engine.Prepare(ctx, cmp.Or(e.steadied, e.yuv), field)
		if err != nil {
			return err
		}
		e.pictures = append(e.pictures, p)
		e.repeats = append(e.repeats, len(f.window) > 0 && repeats(e.yuv, f.window[len(f.window)-1].yuv, field))
	}
	f.window = append(f.window, e)
	if e.reading != nil {
		f.see(f.window[len(f.window)-1:])
	}
	if n := len(f.window); n > 1 && f.engine.Copies() && f.ahead() >= measured {
		f.window[n-2].forget()
	}
	return nil
}

// steady finds out whether a frame flickers.
func (f *Filter) steady(e *entry) {
	if e.reading == nil {
		return
	}
	if f.lights == nil {
		f.lights = &noise.Lights{Black: blackOf(e.yuv.Format)}
	}
	if e.flicker = f.lights.Flicker(e.reading); e.flicker.Shade != nil {
		e.steadied = steadied(e.yuv, e.flicker.Shade)
		if f.steadies != nil {
			f.steadies()
		}
	}
}

// see has the meter see frames of the window, and sets the noise of those whose own is complete.
func (f *Filter) see(entries []*entry) {
	after := min(f.ahead(), measured)
	if f.meter == nil {
		f.meter, f.put = noise.NewMeter(after), 0
	}
	for i, e := range entries {
		e.number = f.put + i
	}
	for _, e := range entries {
		f.put++
		f.meter.Add(e.reading, e.frame.Quantiser)
		f.measure(e.number - after)
	}
}

// measure sets the noise of the frames up to a number.
func (f *Filter) measure(last int) {
	for _, e := range f.window {
		if e.number <= last && !e.measured && f.filters(e) {
			e.noise, e.measured = f.meter.Model(e.number), true
		}
	}
}

// start begins the work on the next frame, and emits the oldest result if enough are under way.
func (f *Filter) start(ctx context.Context, emit pipeline.Emit) error {
	e := f.window[f.next]
	r := &result{}
	if f.filters(e) {
		if err := f.begin(ctx, emit, e, r); err != nil {
			return err
		}
	}
	f.next++
	f.results = append(f.results, r)
	before, _ := f.opts.keeps()
	for ; f.next > before; f.next-- {
		if err := f.addToPast(ctx); err != nil {
			return err
		}
		f.window[0].retire()
		r.entries = append(r.entries, f.window[0])
		f.window = f.window[1:]
	}
	return f.finish(ctx, emit, f.engine.Depth())
}

// Drain emits the results under way, and keeps the window.
func (f *Filter) Drain(ctx context.Context, emit pipeline.Emit) error { return f.finish(ctx, emit, 0) }

// finish waits for results until no more than some are under way, and emits them.
func (f *Filter) finish(ctx context.Context, emit pipeline.Emit, left int) error {
	for len(f.results) > left {
		r := f.results[0]
		for _, wait := range r.waits {
			if err := wait(ctx); err != nil {
				return err
			}
		}
		f.results = f.results[1:]
		out := r.complete()
		if out == nil {
			continue
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// result is a frame under way.
type result struct {
	out     *pipeline.Frame // nil for a context frame
	planes  *pipeline.Frame // the engine's result, if that is not out
	of      *entry
	waits   []Wait
	entries []*entry // that no later frame needs
}

// complete returns the finished frame.
func (r *result) complete() *pipeline.Frame {
	out := r.out
	if e := r.of; r.planes != nil {
		if e.steadied != nil {
			unsteadied(r.planes, e.yuv, e.flicker.Shade)
		}
		if e.yuv != e.frame {
			addToRGB(out, e.frame, r.planes)
		} else {
			addToPlanes(out, r.planes)
		}
	}
	r.out = nil
	r.release()
	return out
}

// await waits for the jobs under way, and ignores their results.
func (r *result) await() {
	for _, wait := range r.waits {
		_ = wait(context.Background())
	}
}

func (r *result) release() {
	if r.out != nil {
		r.out.Release()
	}
	for _, e := range r.entries {
		e.release()
	}
}

// ofFields is the noise to remove from pictures that are made of fields, per measured noise. The
// measurement averages lines of the field with the quieter lines between.
const ofFields = 1.2

// begin begins to take the noise out of a frame. An error frees all.
func (f *Filter) begin(ctx context.Context, emit pipeline.Emit, e *entry, r *result) (err error) {
	r.of = e
	finish := func(left int) error { return f.finish(ctx, emit, left) }
	if r.out, err = f.pool.FrameAfter(ctx, f.opts.formatOf(e.frame.Format), len(f.results), finish); err != nil {
		return err
	}
	r.out.CopyTiming(e.frame)
	model, ofSamples := e.noise, noiseOfSamples(e.frame.Layout)
	if e.frame.FromField {
		model = model.Scale(ofFields)
	}
	switch {
	case f.opts.Sigma > 0:
		model = noise.Flat(f.opts.Sigma / ofSamples)
	case f.opts.Known != nil:
		model = f.opts.Known.Scale(1 / ofSamples)
	}
	led := model.Led()
	scaled := led.Scale(f.opts.Strength)
	if f.seen != nil && !e.frame.Context {
		f.seen(model.Scale(ofSamples), scaled.Clean())
	}
	left := !f.opts.Filtered(&scaled, plane.Components(r.out.Layout)).Any()
	if left && !e.forgotten && r.out.Format == e.frame.Format {
		if r.out.Planes[0].Data == nil { // it is on a device
			r.out.Release()
			r.out = e.frame.Retain()
			return nil
		}
		r.out.CopySamples(e.frame)
		return nil
	}
	if e.steadied != nil {
		led = led.Scale(e.flicker.Gain)
		if r.out.Planes[0].Data == nil {
			r.out.Release()
			r.out = pipeline.Blank(f.opts.formatOf(e.frame.Format))
			r.out.CopyTiming(e.frame)
		}
	}
	if err = f.queue(ctx, r, led); err != nil {
		r.await() // of a frame's two fields, one may be under way
		r.out.Release()
	}
	return err
}

// formatOf returns the format of the results of frames of a format.
func (o *Options) formatOf(f pipeline.Format) pipeline.Format {
	if deeper := f.Layout.At(o.Depth); deeper.Valid() && o.Depth > f.Layout.Info().Depth {
		f.Layout = deeper
	}
	return f
}

// queue hands a frame, or its fields, to the engine.
func (f *Filter) queue(ctx context.Context, r *result, m noise.Model) error {
	out := r.out
	if e := r.of; e.yuv != e.frame || e.steadied != nil {
		r.planes = emptyPlanes(e.yuv, changeDepth)
		out = r.planes
	}
	for i, field := range plane.Fields(r.of.frame) {
		wait, err := f.engine.Denoise(ctx, f.job(out, field, i, m))
		if err != nil {
			return err
		}
		if wait != nil {
			r.waits = append(r.waits, wait)
		}
	}
	return nil
}

// job describes the work on picture i of the next frame.
func (f *Filter) job(out *pipeline.Frame, field plane.Field, i int, m noise.Model) Job {
	before, after := f.opts.Window()
	from, to := max(f.next-before, 0), min(f.next+after+1, len(f.window))
	j := Job{Out: out, Field: field, Noise: m, Settings: f.opts.Settings.flickering(f.window[f.next].flicker.Part)}
	j.Window, j.Centre = distinct(f.window[from:to], f.next-from, i)
	for _, p := range f.past[i] {
		if p.Count > 0 {
			j.Past = append(j.Past, p)
		}
	}
	return j
}

// Flush emits the results of all frames, and forgets them.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	for len(f.arrived) > 0 {
		if err := f.admit(ctx, emit); err != nil {
			return err
		}
	}
	if f.meter != nil {
		f.measure(f.put - 1)
	}
	for f.next < len(f.window) {
		if err := f.start(ctx, emit); err != nil {
			return err
		}
	}
	if err := f.finish(ctx, emit, 0); err != nil {
		return err
	}
	f.Discard()
	return nil
}

// Discard releases all frames. The memory of jobs under way must not be used any more, so Discard
// waits for them.
func (f *Filter) Discard() {
	for _, r := range f.results {
		r.await()
		r.release()
	}
	f.results = nil
	f.awaitReadings()
	for _, e := range append(f.window, f.arrived...) {
		e.release()
	}
	f.forgetPast()
	f.window, f.arrived, f.next, f.put, f.meter, f.reading, f.lights = nil, nil, 0, 0, nil, nil, nil
	f.engine.Idle()
}

// forget releases the samples of a frame that no later one is compared with. The pictures have them
// as well. RGB stays: the change is added to it.
func (e *entry) forget() {
	if e.yuv != e.frame || e.steadied != nil || e.forgotten {
		return
	}
	f := e.frame
	e.frame = pipeline.NewFrame(f.Format, [4]pipeline.Plane{}, nil, nil)
	e.frame.CopyTiming(f)
	e.yuv, e.forgotten = e.frame, true
	f.Release()
}

func (e *entry) release() {
	e.awaitReading()
	e.releasePictures()
	e.frame.Release()
}

func (e *entry) retire() {
	for _, p := range e.pictures {
		p.Retire()
	}
}

func (e *entry) releasePictures() {
	for _, p := range e.pictures {
		p.Release()
	}
}
