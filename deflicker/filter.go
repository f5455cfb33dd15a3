package deflicker

import (
	"context"
	"runtime"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// ahead is the number of frames on each side that a frame is compared with.
const ahead = 7

// Filter steadies the brightness of a stream of frames, with a delay of ahead frames. A change of
// format, or between progressive and interlaced frames, starts a new stream.
type Filter struct {
	pool    *pipeline.Pool
	threads int
	seen    func(gain float64, changed bool) // nil: not reported

	format    pipeline.Format
	histories []history // of frames, or of top and bottom fields
	waiting   []*pipeline.Frame
	next      int // index in history.changes of the oldest waiting frame
}

// history holds the changes of brightness of frames, or of their top or bottom fields. Top and
// bottom fields are separate: a fade in steps of frames gives both fields of a frame the same
// brightness, so a common history would have steps.
type history struct {
	field   plane.Field
	last    *thumb    // of the latest frame
	changes []*change // between consecutive frames, within ahead frames of waiting ones
}

// NewFilter returns a filter that uses the given number of threads, or GOMAXPROCS if it is 0.
// Corrected frames come from pool, and unchanged frames are passed on.
func NewFilter(pool *pipeline.Pool, threads int) *Filter {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Filter{pool: pool, threads: threads}
}

// OnGain sets a callback for each frame except context frames. gain is the mean of the fields, and
// changed reports whether the frame was corrected.
func (f *Filter) OnGain(seen func(gain float64, changed bool)) { f.seen = seen }

// Held implements pipeline.Filter.
func (f *Filter) Held() int { return ahead }

// Process takes ownership of a frame, and emits the frame whose window it completes.
func (f *Filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if fields := plane.Fields(in); in.Format != f.format || len(fields) != len(f.histories) {
		if err := f.Flush(ctx, emit); err != nil {
			in.Release()
			return err
		}
		f.format = in.Format
		for _, field := range fields {
			f.histories = append(f.histories, history{field: field})
		}
	}
	for i := range f.histories {
		c := &f.histories[i]
		t, now := thumbOf(in, c.field, f.threads), &change{cut: true}
		if c.last != nil {
			now = compare(c.last, t, f.threads)
		}
		c.last, c.changes = t, append(c.changes, now)
	}
	f.waiting = append(f.waiting, in)
	if len(f.waiting) <= ahead {
		return nil
	}
	return f.finish(ctx, emit)
}

// finish emits the result of the oldest waiting frame.
func (f *Filter) finish(ctx context.Context, emit pipeline.Emit) error {
	in := f.waiting[0]
	f.waiting = f.waiting[1:]
	all, changes := make([]correction, len(f.histories)), false
	f.next++
	before := max(f.next-ahead, 0)
	for i := range all {
		c := &f.histories[i]
		all[i] = steady(c.changes, f.next-1)
		changes = changes || all[i] != unchanged
		c.changes = c.changes[before:]
	}
	f.next -= before
	if f.seen != nil && !in.Context {
		f.seen(meanGain(all), changes)
	}
	if !changes {
		return emit(in)
	}
	out, err := f.pool.NewFrame(ctx, in.Format)
	if err == nil {
		out.CopyTiming(in)
		for i, c := range f.histories {
			all[i].apply(out, in, c.field, f.threads)
		}
	}
	in.Release()
	if err != nil {
		return err
	}
	return emit(out)
}

func meanGain(all []correction) (mean float64) {
	for _, c := range all {
		mean += c.gain / float64(len(all))
	}
	return mean
}

// Flush emits the results of all waiting frames, and resets the filter.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	for len(f.waiting) > 0 {
		if err := f.finish(ctx, emit); err != nil {
			return err
		}
	}
	f.Discard()
	return nil
}

// Discard releases all waiting frames without results, and resets the filter.
func (f *Filter) Discard() {
	for _, frame := range f.waiting {
		frame.Release()
	}
	f.waiting, f.histories, f.next = nil, nil, 0
}
