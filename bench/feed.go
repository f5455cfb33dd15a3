package bench

import (
	"context"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// feeder keeps the filter of a backend busy with frames that lie ready in the backend's memory, and notes when results come.
type feeder struct {
	backend kernels.Backend
	filter  pipeline.Filter
	inputs  *pipeline.Pool
	results *pipeline.Pool
	frames  []*pipeline.Frame
	sent    int
	done    []time.Time // of each result
}

// newFeeder takes copies of src, which it borrows. The caller closes it.
func newFeeder(b kernels.Backend, p kernels.Params, src *pipeline.Frame) (_ *feeder, err error) {
	f := &feeder{backend: b}
	f.inputs, f.results = pipeline.NewPool(b.Input(), 1), pipeline.NewPool(b, b.Held()+1)
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	for range b.Held() + 2 {
		in, err := f.inputs.TakeFrame(src.Format, nil)
		if err != nil {
			return nil, err
		}
		in.CopySamples(src)
		f.frames = append(f.frames, in)
	}
	f.filter, err = b.Filter(p, f.results)
	return f, err
}

// until sends frames until so many results have come since the beginning.
func (f *feeder) until(ctx context.Context, results int) error {
	for len(f.done) < results {
		in := f.frames[f.sent%len(f.frames)].Retain()
		f.sent++
		if err := f.filter.Process(ctx, in, f.emit); err != nil {
			return err
		}
	}
	return nil
}

func (f *feeder) emit(out *pipeline.Frame) error {
	out.Release()
	f.done = append(f.done, time.Now())
	return nil
}

// measure returns the time from result to result while the filter never waits for frames, a mean of each batch.
func (f *feeder) measure(ctx context.Context, r gpu.Repeat) ([]time.Duration, error) {
	const few = 4
	warm := len(f.frames) + few
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

func (f *feeder) close() {
	if f.filter != nil {
		discard(f.filter)
	}
	for _, in := range f.frames {
		in.Release()
	}
	f.inputs.Close()
	f.results.Close()
}

// filterTime measures the filter of a backend on frames like src.
func (r *run) filterTime(ctx context.Context, b kernels.Backend, p kernels.Params, src *pipeline.Frame) (Stat, error) {
	f, err := newFeeder(b, p, src)
	if err != nil {
		return Stat{}, err
	}
	defer f.close()
	times, err := f.measure(ctx, r.repeat())
	if err != nil {
		return Stat{}, err
	}
	return statOf(times), nil
}
