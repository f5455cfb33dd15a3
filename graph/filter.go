//go:build !nolibav

package graph

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/cgo"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/machine"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Filter runs a graph on frames in host memory. It implements pipeline.Filter and
// pipeline.Discarder. Where the format of frames changes, the graph ends as at the end of a video,
// and begins anew.
//
// A result that comes from a frame keeps its properties and whether it is context. Where the graph
// scales no picture, it keeps the quantiser and the film grain as well. Captions and timecodes stay
// with the first result of a frame; captions of a frame without one go to the next result. Metadata
// of HDR goes where the transfer function changes.
type Filter struct {
	text  string
	o     Options
	keeps int
	local bool
	all   []pipeline.Layout // that the next stage takes

	run    *openGraph
	before source     // of the frames that run is for
	latest *timestamp // the time of the latest result, nil before the first
	fed    *timestamp // the time of the latest frame
	loose  bool       // frames themselves have come out of order, as of a live source that stands still

	number  int64   // of the frames so far
	dropped dropped // without a result

	inside atomic.Int64 // frames that FFmpeg has references to
	traces atomic.Int64 // frames with a rest in the graph
	most   int64        // of traces
}

// Open returns a stage that runs a graph. Its errors are Check's.
func Open(text string, o Options) (*Filter, error) {
	p, err := parse(text, Options{Name: o.Name, Threads: 1})
	if err != nil {
		return nil, err
	}
	defer p.free()
	f := &Filter{text: text, o: o, keeps: p.keeps, local: p.local}
	for _, l := range pipeline.Layouts() {
		if o.Takes == nil || o.Takes(l) {
			f.all = append(f.all, l)
		}
	}
	if f.o.Threads <= 0 {
		f.o.Threads = runtime.GOMAXPROCS(0)
	}
	return f, nil
}

// Local reports whether the result for a picture depends on that picture alone, so that a video may
// be cut anywhere.
func (f *Filter) Local() bool { return f.local }

// slack is how many frames stay between filters.
const slack = 2

// Held returns how many frames the graph may keep. It copies those beyond them and Later.
func (f *Filter) Held() int { return f.keeps + slack }

// source is the description of the frames that a graph is opened for.
type source struct {
	format pipeline.Format
	pixels astiav.PixelFormat
	video  pipeline.Video
	space  C.enum_AVColorSpace
	ranges C.enum_AVColorRange
}

// openGraph is a graph for frames of one format.
type openGraph struct {
	*parsed
	source, sink *C.AVFilterContext
	video        *pipeline.Video // of its results
	rescaled     bool            // a picture is scaled on its way
	paced        bool            // the rate of frames changes

	unrated bool          // only the times of results give their rate and duration
	kept    *astiav.Frame // of unrated: the latest result, until the next one has come
	step    C.int64_t     // how long the one before lasts
}

func (r *openGraph) close() {
	if r != nil {
		if r.kept != nil {
			r.kept.Free()
		}
		r.free()
	}
}

// trace is a frame's identity in the results that filters make of it.
type trace struct {
	of        *Filter
	number    int64
	pts       int64
	props     av.Props // the parts that FFmpeg does not know
	transfer  C.enum_AVColorTransferCharacteristic
	matrix    pipeline.Matrix
	quantiser pipeline.Quantiser
	grain     *pipeline.FilmGrain
	seed      uint16
	context   bool
	used      bool // it has a result
}

//export vfForget
func vfForget(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	t := h.Value().(*trace)
	t.of.traces.Add(-1)
	if !t.used && !t.context {
		t.of.dropped.add(t)
	}
	h.Delete()
}

// dropped has the captions of frames without a result. Filters drop frames on any thread.
type dropped struct {
	mu   sync.Mutex
	list []*trace // by number
}

func (d *dropped) add(t *trace) {
	captions := slices.DeleteFunc(slices.Clone(t.props.Units), func(u units.Unit) bool { return u.Kind != units.Captions })
	if len(captions) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at, _ := slices.BinarySearchFunc(d.list, t.number, func(t *trace, n int64) int { return cmp.Compare(t.number, n) })
	d.list = slices.Insert(d.list, at, &trace{number: t.number, props: av.Props{Units: captions}})
}

// before takes the captions of the frames before one.
func (d *dropped) before(number int64) (captions []units.Unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.list) > 0 && d.list[0].number < number {
		captions = append(captions, d.list[0].props.Units...)
		d.list = d.list[1:]
	}
	return captions
}

// Process filters a frame.
func (f *Filter) Process(ctx context.Context, frame *pipeline.Frame, emit pipeline.Emit) error {
	if frame.Planes[0].Data == nil {
		frame.Release()
		return errors.New("graph: the samples of a frame are in the memory of a device only")
	}
	if frame.Video == nil {
		frame.Release()
		return errors.New("graph: a frame without a time base")
	}
	fed := timestamp{frame.PTS, frame.Video.TimeBase}
	if f.fed != nil && !fed.follows(*f.fed) {
		f.loose = true
	}
	f.fed = &fed
	size := frameBytes(frame.Format)
	picture, src, err := f.wrap(frame) // which is frame no more
	if err != nil {
		return err
	}
	defer picture.Free()
	if f.run != nil && src != f.before {
		if err := f.finish(ctx, emit); err != nil {
			return err
		}
	}
	if f.run == nil {
		if err := f.open(src, f.all); err != nil {
			return err
		}
		f.most = max(64, f.memory()/size)
	}
	if n := f.traces.Load(); n > f.most {
		return f.run.wrong(-1, fmt.Sprintf("it keeps %d frames, for which there is no memory", n),
			"give filters that look at fewer frames, and let branches of the graph have the same times")
	}
	c := (*C.AVFrame)(picture.UnsafePointer())
	if err := f.run.do(func() C.int { return C.av_buffersrc_add_frame_flags(f.run.source, c, 0) }); err != nil {
		return err
	}
	return f.pull(ctx, emit)
}

// do is try for calls with frames, which also fail for want of memory.
func (r *openGraph) do(call func() C.int) error {
	var code C.int
	err := r.try(-1, func() C.int {
		code = call()
		return code
	})
	if err != nil {
		if short := av.OfShortage(av.Error(int(code)), err); short != nil {
			return short
		}
	}
	return err
}

// memory returns the bytes that frames in the graph may take.
func (f *Filter) memory() int64 {
	if f.o.memory > 0 {
		return f.o.memory
	}
	if m := machine.OwnMemory(); m > 0 {
		return m / 2
	}
	return 4 << 30
}

func frameBytes(format pipeline.Format) int64 {
	_, _, size := format.PlanLayout(0)
	return int64(max(size, 1))
}

// Flush ends the graph. It is an error if all frames were dropped.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	begun := f.run != nil
	err := f.finish(ctx, emit)
	if err == nil && begun && f.latest == nil {
		p := parsed{text: f.text, name: f.o.Name}
		err = p.wrong(-1, fmt.Sprintf("no frame comes out of it, of %d", f.number), "leave it out, or give it more frames")
	}
	f.latest = nil
	return err
}

// finish ends the graph for the frames so far.
func (f *Filter) finish(ctx context.Context, emit pipeline.Emit) error {
	if f.run == nil {
		return nil
	}
	if err := f.run.do(func() C.int { return C.av_buffersrc_add_frame_flags(f.run.source, nil, 0) }); err != nil {
		return err
	}
	if err := f.pull(ctx, emit); err != nil {
		return err
	}
	f.Discard()
	if len(f.dropped.before(math.MaxInt64)) > 0 && f.o.Lost != nil {
		f.o.Lost(units.Captions.String())
	}
	return nil
}

// Discard releases the graph's frames.
func (f *Filter) Discard() {
	f.run.close()
	f.run = nil
}

// wrap makes FFmpeg's frame of one, which it takes, and describes it.
func (f *Filter) wrap(frame *pipeline.Frame) (picture *astiav.Frame, src source, err error) {
	frame.Retain() // for its properties
	defer frame.Release()
	f.inside.Add(1)
	picture, err = av.Wrap(pipeline.NewFrame(frame.Format, frame.Planes, nil, func() {
		frame.Release()
		f.inside.Add(-1)
	}))
	if err != nil {
		return nil, src, err
	}
	if err := f.describe(picture, frame); err != nil {
		picture.Free()
		return nil, src, err
	}
	if f.inside.Load() > int64(f.Held()+f.o.Later) {
		if err := picture.MakeWritable(); err != nil {
			picture.Free()
			return nil, src, fmt.Errorf("graph: copy a frame: %w", err)
		}
	}
	c := (*C.AVFrame)(picture.UnsafePointer())
	return picture, source{frame.Format, picture.PixelFormat(), *frame.Video, c.colorspace, c.color_range}, nil
}

// describe gives a picture the properties of a frame, and a trace of it.
func (f *Filter) describe(picture *astiav.Frame, frame *pipeline.Frame) error {
	if err := av.Describe(picture, frame); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if pf := av.WithAlpha(frame.Layout); pf != astiav.PixelFormatNone && av.HasAlpha(frame) {
		if err := av.SetAlpha(picture, frame, pf); err != nil {
			return fmt.Errorf("graph: alpha: %w", err)
		}
	}
	c := (*C.AVFrame)(picture.UnsafePointer())
	switch rgb := frame.Layout.Info().RGB; {
	case rgb:
		c.colorspace, c.color_range = C.AVCOL_SPC_RGB, C.AVCOL_RANGE_JPEG
	case c.colorspace == C.AVCOL_SPC_RGB:
		c.colorspace = C.AVCOL_SPC_UNSPECIFIED
	}
	if frame.FullRange {
		c.color_range = C.AVCOL_RANGE_JPEG
	} else if c.color_range == C.AVCOL_RANGE_JPEG {
		c.color_range = C.AVCOL_RANGE_MPEG
	}
	c.sample_aspect_ratio = rational(frame.Video.Aspect)
	f.number++
	t := &trace{of: f, number: f.number, pts: frame.PTS, transfer: c.color_trc, matrix: frame.Matrix, quantiser: frame.Quantiser,
		grain: frame.Grain, seed: frame.GrainSeed, context: frame.Context}
	if p, ok := frame.Props().(*av.Props); ok && p != nil {
		t.props = av.Props{Units: p.Units, Transfer: p.Transfer, Timecode: p.Timecode}
	}
	f.traces.Add(1)
	if err := av.Error(int(C.vf_graph_mark(c, C.uintptr_t(cgo.NewHandle(t))))); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

func rational(r pipeline.Ratio) C.AVRational {
	if r.Den == 0 || r.Num == 0 {
		return C.AVRational{0, 1}
	}
	return C.AVRational{C.int(r.Num), C.int(r.Den)}
}

func ratio(r C.AVRational) pipeline.Ratio {
	if r.num == 0 || r.den == 0 {
		return pipeline.Ratio{}
	}
	return pipeline.Ratio{Num: int(r.num), Den: int(r.den)}
}

// open opens the graph for frames, with results of one of some layouts.
func (f *Filter) open(src source, layouts []pipeline.Layout) (err error) {
	p, err := parse(f.text, f.o)
	if err != nil {
		return err
	}
	r := &openGraph{parsed: p}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := r.addEnds(src, f.formats(src, layouts)); err != nil {
		return err
	}
	if err := r.try(-1, func() C.int { return C.avfilter_graph_config(r.graph, nil) }); err != nil {
		return err
	}
	if back, ok := f.back(r, src); ok {
		r.close()
		return f.open(src, []pipeline.Layout{back})
	}
	if err := r.checkSizes(f.o.MaxPixels); err != nil {
		return err
	}
	r.look(src)
	if rate := r.video.Rate; rate.Den > 0 && float64(rate.Num)/float64(rate.Den) > mostRate && rate != src.video.Rate {
		return r.wrong(-1, fmt.Sprintf("%d/%d frames a second are too many", rate.Num, rate.Den), fmt.Sprintf("give at most %d", mostRate))
	}
	f.run, f.before = r, src
	return nil
}

// back returns the layout of the frames' own kind that results are to have, if the last filter
// makes RGB of YUV or the reverse. Results without a colour are of either kind.
func (f *Filter) back(r *openGraph, src source) (l pipeline.Layout, ok bool) {
	l, _, ok = av.LayoutOf(astiav.PixelFormat(C.av_buffersink_get_format(r.sink)))
	if !ok || l.Info().Gray() || l.Info().RGB == src.format.Layout.Info().RGB {
		return l, false
	}
	l = src.format.Layout.At(l.Info().Depth)
	return l, l.Valid() && slices.Contains(f.all, l)
}

// formats returns the pixel formats of results: those with alpha only where frames have it.
func (f *Filter) formats(src source, layouts []pipeline.Layout) (list []C.enum_AVPixelFormat) {
	alpha := src.pixels != av.PixelFormat(src.format.Layout)
	for _, l := range layouts {
		if pf := av.WithAlpha(l); alpha && pf != astiav.PixelFormatNone {
			list = append(list, C.enum_AVPixelFormat(pf))
		}
		list = append(list, C.enum_AVPixelFormat(av.PixelFormat(l)))
	}
	return list
}

// addEnds adds the filters by which frames enter and leave the graph.
func (r *openGraph) addEnds(src source, formats []C.enum_AVPixelFormat) error {
	if r.source = r.add("buffer", "in"); r.source == nil {
		return errors.New("graph: out of memory")
	}
	if r.sink = r.add("buffersink", "out"); r.sink == nil {
		return errors.New("graph: out of memory")
	}
	about := C.av_buffersrc_parameters_alloc()
	if about == nil {
		return errors.New("graph: out of memory")
	}
	defer C.av_free(unsafe.Pointer(about))
	about.format = C.int(src.pixels)
	about.width, about.height = C.int(src.format.Width), C.int(src.format.Height)
	about.time_base, about.frame_rate = rational(src.video.TimeBase), rational(src.video.Rate)
	about.sample_aspect_ratio = rational(src.video.Aspect)
	about.color_space, about.color_range = src.space, src.ranges
	name := C.CString("pix_fmts")
	defer C.free(unsafe.Pointer(name))
	first := (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(formats)))
	for _, call := range []func() C.int{
		func() C.int { return C.av_buffersrc_parameters_set(r.source, about) },
		func() C.int { return C.avfilter_init_dict(r.source, nil) },
		func() C.int {
			return C.av_opt_set_bin(unsafe.Pointer(r.sink), name, first, C.int(len(formats)*C.sizeof_int), C.AV_OPT_SEARCH_CHILDREN)
		},
		func() C.int { return C.avfilter_init_dict(r.sink, nil) },
		func() C.int { return C.avfilter_link(r.source, 0, r.in, r.inPad) },
		func() C.int { return C.avfilter_link(r.out, r.outPad, r.sink, 0) },
	} {
		if err := r.try(-1, call); err != nil {
			return err
		}
	}
	return nil
}

func (r *openGraph) add(filter, name string) *C.AVFilterContext {
	f, n := C.CString(filter), C.CString(name)
	defer C.free(unsafe.Pointer(f))
	defer C.free(unsafe.Pointer(n))
	return C.avfilter_graph_alloc_filter(r.graph, C.avfilter_get_by_name(f), n)
}

// links yields the links of the graph with the number of the filter before each, -1 for others.
func (r *openGraph) links() func(yield func(int, *C.AVFilterLink) bool) {
	return func(yield func(int, *C.AVFilterLink) bool) {
		for _, f := range av.Slice(r.graph.filters, int(r.graph.nb_filters)) {
			for _, l := range av.Slice(f.outputs, int(f.nb_outputs)) {
				if !yield(slices.Index(r.filters, f), l) {
					return
				}
			}
		}
	}
}

// checkSizes refuses graphs with larger pictures than allowed.
func (r *openGraph) checkSizes(most int64) error {
	for n, l := range r.links() {
		size := int64(l.w) * int64(l.h)
		if av.Depth(astiav.PixelFormat(l.format)) > 8 {
			size *= 2
		}
		if most > 0 && size > most && n >= 0 {
			return r.wrong(n, fmt.Sprintf("%dx%d is more than %d pixels", l.w, l.h, most), "make the picture smaller, or raise --max-pixels if there is memory for it")
		}
	}
	return nil
}

// look reads the output of the graph.
func (r *openGraph) look(src source) {
	for _, f := range av.Slice(r.graph.filters, int(r.graph.nb_filters)) {
		switch C.GoString(f.filter.name) {
		case "scale", "zscale":
			in, out := av.Slice(f.inputs, 1)[0], av.Slice(f.outputs, 1)[0]
			r.rescaled = r.rescaled || in.w != out.w || in.h != out.h
		}
	}
	v := src.video
	rate := ratio(C.av_buffersink_get_frame_rate(r.sink))
	if v.Rate.Num == 0 {
		v.Rate = pipeline.Ratio{}
	}
	r.unrated = v.Rate.Known() && !rate.Known()
	r.paced = !r.unrated && C.av_cmp_q(rational(rate), rational(v.Rate)) != 0
	unit := ratio(C.av_mul_q(C.av_buffersink_get_time_base(r.sink), C.AVRational{1, 1})) // reduced, as NUT needs it
	switch {
	case rate.Known() && unit == pipeline.Ratio{Num: rate.Den, Den: rate.Num} && unit != src.video.TimeBase: // it counts frames
		r.paced, v.MeanRate = true, rate
	case r.paced, r.unrated:
		v.MeanRate = times(v.MeanRate, rate, v.Rate)
	}
	v.Rate = rate
	v.TimeBase, v.Aspect = unit, ratio(C.av_buffersink_get_sample_aspect_ratio(r.sink))
	r.video = &v
}

// times returns r times a by b, unknown if one of them is.
func times(r, a, b pipeline.Ratio) pipeline.Ratio {
	if r.Den == 0 || a.Den == 0 || b.Den == 0 || b.Num == 0 {
		return pipeline.Ratio{}
	}
	return ratio(C.av_mul_q(rational(r), C.av_div_q(rational(a), rational(b))))
}

// pull emits the results that the graph has.
func (f *Filter) pull(ctx context.Context, emit pipeline.Emit) error {
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n > mostAdded {
			return f.run.wrong(-1, fmt.Sprintf("it makes more than %d frames of one", mostAdded), "give a lower rate, or add fewer frames")
		}
		picture := astiav.AllocFrame()
		if picture == nil {
			return errors.New("graph: out of memory")
		}
		c := (*C.AVFrame)(picture.UnsafePointer())
		var code C.int
		err := f.run.do(func() C.int {
			if code = C.av_buffersink_get_frame(f.run.sink, c); code == -C.EAGAIN || code == C.AVERROR_EOF {
				return 0
			}
			return code
		})
		if err != nil || code < 0 && (code != C.AVERROR_EOF || f.run.kept == nil) {
			picture.Free()
			return err
		}
		if f.run.unrated {
			if picture = f.lasting(picture, code >= 0); picture == nil {
				continue
			}
		}
		result, err := f.result(ctx, picture)
		if err != nil {
			return err
		}
		if err := emit(result); err != nil {
			return err
		}
	}
}

// lasting takes a picture and returns the previous one, or nil, with the time between them as its
// duration. At the end, without a picture, it lasts as long as the one before it.
func (f *Filter) lasting(picture *astiav.Frame, more bool) (before *astiav.Frame) {
	r, last := f.run, C.int64_t(0)
	before, r.kept = r.kept, picture
	if before == nil {
		return nil
	}
	c := (*C.AVFrame)(before.UnsafePointer())
	if more {
		next := (*C.AVFrame)(picture.UnsafePointer())
		if last = next.pts - c.pts; r.step == 0 && last > 0 {
			f.rate(c, next)
		}
	} else {
		picture.Free()
		r.kept = nil
	}
	if last > 0 {
		r.step = last
	}
	if c.duration = r.step; r.step == 0 { // there is no other
		c.duration = C.av_rescale_q(1, C.av_inv_q(rational(f.before.video.Rate)), rational(r.video.TimeBase))
	}
	return before
}

// rate sets the rates of results by the times of the first two: the rate of the frames, times the
// speed-up. If frames do not follow their rate, the two times decide.
func (f *Filter) rate(first, second *C.AVFrame) {
	v, from := f.run.video, f.before.video
	gap := C.av_mul_q(C.AVRational{C.int(min(second.pts-first.pts, math.MaxInt32)), 1}, rational(v.TimeBase))
	v.Rate = ratio(C.av_inv_q(gap))
	v.MeanRate = v.Rate
	a, b := traceOf(first), traceOf(second)
	if a == nil || b == nil || b.pts <= a.pts || b.pts-a.pts > math.MaxInt32 {
		return
	}
	was := C.av_mul_q(C.AVRational{C.int(b.pts - a.pts), 1}, rational(from.TimeBase))
	usual := 1 / (from.Rate.Float64() * from.TimeBase.Float64())
	if C.av_cmp_q(was, gap) == 0 || math.Abs(float64(b.pts-a.pts)-usual) <= 1 {
		v.Rate, v.MeanRate = times(from.Rate, ratio(was), ratio(gap)), times(from.MeanRate, ratio(was), ratio(gap))
	}
}

// traceOf returns the trace of a picture, nil if a filter has made it without an input.
func traceOf(c *C.AVFrame) *trace {
	if c.opaque_ref == nil {
		return nil
	}
	return cgo.Handle(uintptr(unsafe.Pointer(c.opaque_ref.data))).Value().(*trace)
}

// result makes a frame of a picture, which it takes.
func (f *Filter) result(ctx context.Context, picture *astiav.Frame) (*pipeline.Frame, error) {
	c := (*C.AVFrame)(picture.UnsafePointer())
	frame, err := f.make(ctx, picture, traceOf(c))
	C.av_buffer_unref(&c.opaque_ref) // only now: the trace may end here
	if err != nil {
		picture.Free()
		return nil, err
	}
	if f.o.Pool != nil {
		picture.Free()
	}
	return frame, nil
}

// make makes a frame over the memory of a picture, or with a copy of it, and with properties.
func (f *Filter) make(ctx context.Context, picture *astiav.Frame, t *trace) (*pipeline.Frame, error) {
	c := (*C.AVFrame)(picture.UnsafePointer())
	pts := int64(c.pts)
	if b := f.latest; t != nil && t.used && b != nil && b.pts == pts && f.run.video.Rate.Known() {
		pts += int64(1/(f.run.video.Rate.Float64()*f.run.video.TimeBase.Float64()) + 0.5) // the second field of a single frame
	}
	if err := f.checkTime(pts); err != nil {
		return nil, err
	}
	if err := av.Error(int(C.vf_graph_upright(c))); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	format, err := f.format(picture, t)
	if err != nil {
		return nil, err
	}
	view := av.View(picture, format.Layout)
	for i := range view.NumPlanes() { // a part of a picture may end where its memory ends
		w, rows := view.PlaneSize(i)
		view.Planes[i].Data = view.Planes[i].Data[:view.Planes[i].Pitch*(rows-1)+w]
	}
	var frame *pipeline.Frame
	if f.o.Pool != nil {
		if frame, err = f.o.Pool.NewFrame(ctx, format); err != nil {
			return nil, err
		}
		frame.CopySamples(view)
	} else {
		frame = pipeline.NewFrame(format, view.Planes, nil, picture.Free)
	}
	props, err := f.props(picture, format, t)
	if err != nil {
		if f.o.Pool != nil { // else the picture is the caller's to free
			frame.Release()
		}
		return nil, err
	}
	frame.SetProps(props)
	frame.Video = f.run.video
	frame.PTS, frame.Duration = pts, int64(c.duration)
	if f.run.paced || frame.Duration <= 0 {
		frame.Duration = 0
		if rate := f.run.video.Rate; rate.Den > 0 {
			frame.Duration = int64(C.av_rescale_q(1, C.AVRational{C.int(rate.Den), C.int(rate.Num)}, rational(f.run.video.TimeBase)))
		}
	}
	frame.Interlaced = c.flags&C.AV_FRAME_FLAG_INTERLACED != 0
	frame.TopFieldFirst = frame.Interlaced && c.flags&C.AV_FRAME_FLAG_TOP_FIELD_FIRST != 0
	if t != nil {
		frame.Context = t.context
		if !f.run.rescaled {
			frame.Quantiser, frame.Grain, frame.GrainSeed = t.quantiser, t.grain, t.seed
		}
		t.used = true
	}
	return frame, nil
}

// timestamp is a time.
type timestamp struct {
	pts  int64
	unit pipeline.Ratio
}

func (s timestamp) seconds() float64 { return float64(s.pts) * s.unit.Float64() }

// follows reports whether a time is later than another, by an hour at most.
func (s timestamp) follows(before timestamp) bool {
	const most = 3600.0
	later := C.av_compare_ts(C.int64_t(s.pts), rational(s.unit), C.int64_t(before.pts), rational(before.unit)) > 0
	return later && s.seconds()-before.seconds() <= most
}

// checkTime refuses times that no file can hold: each follows the one before.
func (f *Filter) checkTime(pts int64) error {
	t, before := timestamp{pts, f.run.video.TimeBase}, f.latest
	switch {
	case pts == av.NoPTS:
		return f.run.wrong(-1, "a frame comes out of it without a time", "let setpts give each frame one")
	case math.Abs(t.seconds()) > mostTime:
		return f.run.wrong(-1, fmt.Sprintf("the time %.3f s of a frame is too large", t.seconds()), "let setpts give smaller ones")
	case before != nil && !f.loose && !t.follows(*before):
		return f.run.wrong(-1, fmt.Sprintf("a frame at %.3f s comes out of it after one at %.3f s", t.seconds(), before.seconds()),
			"times go forward, by an hour at most; if setpts rounds them to the same one, put settb=1/90000 before it, or fps=25 behind it")
	}
	f.latest = &t
	return nil
}

// format returns the format of a picture, and tags it with the matrix of the frame that it comes
// from where a picture of its size would be taken for another.
func (f *Filter) format(picture *astiav.Frame, t *trace) (pipeline.Format, error) {
	c := (*C.AVFrame)(picture.UnsafePointer())
	layout, full, ok := av.LayoutOf(picture.PixelFormat())
	if !ok {
		return pipeline.Format{}, fmt.Errorf("graph: results of %v", picture.PixelFormat())
	}
	format := pipeline.Format{Layout: layout, Width: int(c.width), Height: int(c.height)}
	if layout.Info().RGB {
		format.FullRange = true
		return format, nil
	}
	format.FullRange = full || c.color_range == C.AVCOL_RANGE_JPEG
	format.Matrix = av.MatrixOf(int(c.colorspace), format.Height)
	if c.colorspace == C.AVCOL_SPC_UNSPECIFIED && t != nil && t.matrix != 0 && t.matrix != format.Matrix {
		format.Matrix = t.matrix
		c.colorspace = C.enum_AVColorSpace(av.ColorSpace(t.matrix))
	}
	return format, nil
}

// props returns the properties of a result.
func (f *Filter) props(picture *astiav.Frame, format pipeline.Format, t *trace) (*av.Props, error) {
	c := (*C.AVFrame)(picture.UnsafePointer())
	toned := t != nil && c.color_trc != t.transfer
	if toned {
		C.vf_graph_drop_hdr(c)
	}
	mark := c.opaque_ref
	c.opaque_ref = nil // which the copy must not keep
	props := av.PropsOf(picture)
	c.opaque_ref = mark
	if props == nil {
		return nil, errors.New("graph: out of memory")
	}
	if format.Layout != pipeline.RGBA {
		if err := props.KeepAlpha(picture, format); err != nil {
			props.Release()
			return nil, fmt.Errorf("graph: alpha: %w", err)
		}
	}
	if t == nil {
		return props, nil
	}
	if !toned {
		props.Transfer = t.props.Transfer
	}
	if !t.used {
		props.Timecode = t.props.Timecode
		if !t.context {
			props.Units = f.dropped.before(t.number)
		}
	}
	for _, u := range t.props.Units {
		switch {
		case toned && ofHDR(u.Kind), t.used && u.Kind.OfOnePicture(), f.run.rescaled && u.Kind == units.FilmGrain:
		default:
			props.Units = append(props.Units, u)
		}
	}
	return props, nil
}

func ofHDR(k units.MetadataKind) bool {
	switch k {
	case units.MasteringDisplay, units.ContentLight, units.HDR10Plus, units.HDRVivid, units.AlternativeTransfer, units.AmbientViewing, units.DolbyVision:
		return true
	}
	return false
}
