package measure

import (
	"context"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Feeder keeps the filter of a backend busy with frames in the backend's memory, and records when
// each result arrives.
type Feeder struct {
	backend kernels.Backend
	filter  pipeline.Filter
	inputs  *pipeline.Pool
	results *pipeline.Pool
	frames  []*pipeline.Frame
	held    int
	sent    int
	done    []time.Time // of each result
}

// NewFeeder copies frames of one format, which it borrows and feeds in turn. The caller closes the
// feeder.
func NewFeeder(b kernels.Backend, s kernels.Stage, src ...*pipeline.Frame) (_ *Feeder, err error) {
	f := &Feeder{backend: b, held: b.Held(s)}
	f.inputs, f.results = pipeline.NewPool(b.Input(), 1), pipeline.NewPool(b, f.held+1)
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	for i := range max(f.held+2, len(src)) {
		in, err := f.inputs.TakeFrame(src[0].Format, nil)
		if err != nil {
			return nil, err
		}
		in.CopySamples(src[i%len(src)])
		in.CopyTiming(src[i%len(src)])
		f.frames = append(f.frames, in)
	}
	f.filter, err = b.Filter(s, f.results)
	return f, err
}

// until sends frames until the feeder has received that many results in all.
func (f *Feeder) until(ctx context.Context, results int) error {
	for len(f.done) < results {
		in := f.frames[f.sent%len(f.frames)].Retain()
		f.sent++
		if err := f.filter.Process(ctx, in, f.emit); err != nil {
			return err
		}
	}
	return nil
}

func (f *Feeder) emit(out *pipeline.Frame) error {
	out.Release()
	f.done = append(f.done, time.Now())
	return nil
}

// Measure returns the mean time between results for each batch. The filter never waits for a
// frame.
func (f *Feeder) Measure(ctx context.Context, r gpu.Repeat) ([]time.Duration, error) {
	const few = 4
	warm := f.held + 2 + few
	if err := f.until(ctx, warm); err != nil {
		return nil, err
	}
	one := f.done[warm-1].Sub(f.done[warm-1-few]) / few
	n := min(max(1, int(r.Time/time.Duration(r.Batches)/max(one, 1))), r.Runs)
	var times []time.Duration
	for spent := time.Duration(0); len(times) < min(3, r.Batches) || len(times) < r.Batches && spent < r.Time; {
		before := len(f.done)
		if err := f.until(ctx, before+n); err != nil {
			return nil, err
		}
		d := f.done[before+n-1].Sub(f.done[before-1])
		spent += d
		times = append(times, max(d, 1)/time.Duration(n))
	}
	return times, nil
}

// Close frees the frames and the filter.
func (f *Feeder) Close() {
	pipeline.Discard(f.filter)
	for _, in := range f.frames {
		in.Release()
	}
	f.inputs.Close()
	f.results.Close()
}

// FilterTime measures the filter of a backend by the host's clock, on copies of frames, which it
// borrows.
func FilterTime(ctx context.Context, b kernels.Backend, s kernels.Stage, r gpu.Repeat, src ...*pipeline.Frame) (Stat, error) {
	f, err := NewFeeder(b, s, src...)
	if err != nil {
		return Stat{}, err
	}
	defer f.Close()
	times, err := f.Measure(ctx, r)
	if err != nil {
		return Stat{}, err
	}
	return StatOf(times), nil
}
