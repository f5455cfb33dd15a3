package stages

import (
	"context"

	"vidfilter/enhance"
	"vidfilter/graph"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// filter runs the graph that an option stands for. It depends on the frames, and is opened anew
// where they change.
type filter struct {
	options     graph.Options
	progressive bool
	graphOf     graphOf
	first       bool // the first frame decides whether all are interlaced
	held        int

	begun bool
	facts enhance.Facts // of the latest frame
	text  string
	run   *graph.Filter // nil: frames pass

	shown *pipeline.Video // of the first result; nil before it
	last  int64           // time of the latest result
}

func (f *filter) Held() int { return f.held }

// Process filters a frame, or passes it on if it needs no filter.
func (f *filter) Process(ctx context.Context, frame *pipeline.Frame, emit pipeline.Emit) error {
	emit = f.steady(emit)
	if err := f.prepare(ctx, frame, emit); err != nil {
		frame.Release()
		return err
	}
	if f.run == nil {
		return emit(frame)
	}
	return f.run.Process(ctx, frame, emit)
}

// prepare opens the graph for a frame, if it is another than before.
func (f *filter) prepare(ctx context.Context, frame *pipeline.Frame, emit pipeline.Emit) error {
	facts := enhance.FactsOf(frame, f.progressive)
	if f.begun && f.first {
		facts.Interlaced, facts.Progressive = f.facts.Interlaced, f.facts.Progressive
	}
	if f.begun && !f.facts.Progressive {
		facts.Progressive = false // a graph for fields takes progressive frames as well
	}
	if f.begun && facts == f.facts {
		return nil
	}
	text, err := f.graphOf(facts)
	if err != nil { // the option does not suit the frame
		return hint.Says(err.Error(), hint.Of(err), graph.ErrGraph, err)
	}
	if takes := f.options.Takes; text == "" && takes != nil && !takes(frame.Layout) {
		text = "null"
	}
	f.begun, f.facts = true, facts
	if text == f.text {
		return nil
	}
	if err := f.end(ctx, emit); err != nil {
		return err
	}
	f.text, f.run = text, nil
	if text != "" {
		f.run, err = graph.Open(text, f.options)
	}
	return err
}

// steady keeps results in the unit of the first one where frames turn interlaced later: bwdif
// halves the unit. It drops the second picture of a frame if the unit has no time for it.
func (f *filter) steady(emit pipeline.Emit) pipeline.Emit {
	return func(r *pipeline.Frame) error {
		switch {
		case r.Video == nil:
			return emit(r)
		case f.shown == nil:
			f.shown = r.Video
		case r.Video.TimeBase != f.shown.TimeBase:
			from, to := r.Video.TimeBase, f.shown.TimeBase
			r.PTS, r.Duration = convert(r.PTS, from, to), max(1, convert(r.Duration, from, to))
			r.Video = f.shown
			if r.PTS <= f.last {
				r.Release()
				return nil
			}
		}
		f.last = r.PTS
		return emit(r)
	}
}

// convert converts a time from one unit to another, and rounds it towards 0.
func convert(t int64, from, to pipeline.Ratio) int64 {
	n, d := int64(from.Num)*int64(to.Den), int64(from.Den)*int64(to.Num)
	return t/d*n + t%d*n/d
}

func (f *filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	return f.end(ctx, f.steady(emit))
}

// end ends the graph; emit is steady.
func (f *filter) end(ctx context.Context, emit pipeline.Emit) error {
	if f.run == nil {
		return nil
	}
	return f.run.Flush(ctx, emit)
}

func (f *filter) Discard() {
	if f.run != nil {
		f.run.Discard()
	}
}
