package live

import (
	"context"
	"slices"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// filterState filters by one of the settings.
type filterState struct {
	by     FilterSettings
	main   pipeline.Filter   // nil while the state is not in use
	behind pipeline.Filter   // filters its results
	out    []*pipeline.Frame // results, oldest first, that wait for those of the other state
	shown  *pipeline.Frame   // the result of the picture on show, or nil
	stale  bool              // it is by other settings
}

// filtering is a call of a filter.
type filtering func(ctx context.Context, emit pipeline.Emit) error

// retune changes the main filter in use, which keeps what it knows of the pictures before, and
// replaces those behind it. It is false if another main filter is needed.
func (l *loop) retune(n *filterState, f FilterSettings) (bool, error) {
	if n.main == nil || f.FieldOrder != n.by.FieldOrder {
		return false, nil
	}
	if f == n.by {
		return true, nil
	}
	p, err := resolved(f, l.s.o.LookAhead)
	if err != nil {
		return false, err
	}
	old, err := resolved(n.by, l.s.o.LookAhead)
	if err != nil {
		return false, err
	}
	if p.Main() != old.Main() {
		if r, ok := n.main.(retuner); !ok || !r.Retune(p.Main()) {
			return false, nil
		}
	}
	n.by, n.stale = f, true
	_, before := around(old.Stages())
	if _, behind := around(p.Stages()); !slices.Equal(behind, before) {
		return true, l.follow(n, p)
	}
	return true, nil
}

// follow opens the filters behind the main one.
func (l *loop) follow(n *filterState, p kernels.Selection) (err error) {
	pipeline.Discard(n.behind)
	_, behind := around(p.Stages())
	n.behind, err = l.s.chain(p.Chosen().Name, behind, nil, n.by)
	return err
}

// on passes results of the main filter to those behind it.
func (n *filterState) on(ctx context.Context, emit pipeline.Emit) pipeline.Emit {
	return func(f *pipeline.Frame) error { return n.behind.Process(ctx, f, emit) }
}

// process filters a picture, at once: nothing overlaps, since the next has not been taken yet.
func (n *filterState) process(shot *Shot) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		if err := n.main.Process(ctx, n.by.fields(shot.input.Retain()), n.on(ctx, emit)); err != nil {
			return err
		}
		return n.drain(ctx, emit)
	}
}

// drain emits the results that are under way.
func (n *filterState) drain(ctx context.Context, emit pipeline.Emit) error {
	if err := pipeline.Drain(ctx, n.main, n.on(ctx, emit)); err != nil {
		return err
	}
	return pipeline.Drain(ctx, n.behind, emit)
}

// flush emits all results.
func (n *filterState) flush(ctx context.Context, emit pipeline.Emit) error {
	if err := n.main.Flush(ctx, n.on(ctx, emit)); err != nil {
		return err
	}
	return n.behind.Flush(ctx, emit)
}

// learn lets the main filter know a picture that it does not filter.
func (n *filterState) learn(f *pipeline.Frame) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		seen := pipeline.NewFrame(f.Format, f.Planes, nil, f.Retain().Release)
		seen.CopyTiming(f)
		seen = n.by.fields(seen)
		seen.Context = true
		return n.main.Process(ctx, seen, emit)
	}
}

// again filters the shown picture once more.
func (n *filterState) again(held *Shot) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		some := false
		seen := func(out *pipeline.Frame) error {
			some = true
			return emit(out)
		}
		if r, ok := n.main.(repeater); ok {
			if err := r.Again(ctx, n.on(ctx, seen)); err != nil {
				return err
			}
			if err := n.drain(ctx, seen); err != nil || some {
				return err
			}
		}
		if err := n.process(held)(ctx, seen); err != nil || some {
			return err
		}
		return n.flush(ctx, emit)
	}
}

// show makes the oldest result that of the picture on show.
func (n *filterState) show() {
	releaseFrames(n.shown)
	n.shown, n.out, n.stale = n.out[0], n.out[1:], false
}

// stop ends the use of a state.
func (n *filterState) stop() {
	pipeline.Discard(n.main)
	pipeline.Discard(n.behind)
	releaseFrames(append(n.out, n.shown)...)
	*n = filterState{}
}

// releaseFrames releases frames, which may be nil.
func releaseFrames(all ...*pipeline.Frame) {
	for _, f := range all {
		if f != nil {
			f.Release()
		}
	}
}
