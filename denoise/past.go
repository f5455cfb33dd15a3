package denoise

import (
	"context"

	"vidfilter/denoise/plane"
)

// addToPast adds the oldest frame of the window, which leaves it, to the past. Runs begin at fixed
// frames, so that parts of a video have the same.
func (f *Filter) addToPast(ctx context.Context) error {
	if f.opts.Runs == 0 {
		return nil
	}
	e := f.window[0]
	for i, p := range e.pictures {
		if err := f.beginRun(ctx, &f.past[i], e.index/plane.SumOf, p); err != nil {
			return err
		}
		if len(f.window) > 1 && f.window[1].repeats[i] {
			continue // the window has it, or it comes again
		}
		latest := &f.past[i][0]
		if err := latest.Add(ctx, p); err != nil {
			return err
		}
		latest.Count++
	}
	return nil
}

// beginRun puts a sum for a run in front of the others, unless it is there, and drops runs too far
// back.
func (f *Filter) beginRun(ctx context.Context, past *[]Past, run int, like Picture) error {
	if len(*past) > 0 && (*past)[0].run == run {
		return nil
	}
	sum, err := f.engine.Sum(ctx, like)
	if err != nil {
		return err
	}
	*past = append([]Past{{Sum: sum, run: run}}, *past...)
	for n := len(*past); n > f.opts.Runs; n-- {
		(*past)[n-1].Release()
		*past = (*past)[:n-1]
	}
	return nil
}

func (f *Filter) forgetPast() {
	for i, past := range f.past {
		for _, p := range past {
			p.Release()
		}
		f.past[i] = nil
	}
}
