package live

import (
	"context"

	"vidfilter/pipeline"
)

// lane filters by one of the settings.
type lane struct {
	by     Filter
	filter pipeline.Filter   // nil while the lane is not in use
	out    []*pipeline.Frame // results, oldest first, that wait for those of the other lane
	shown  *pipeline.Frame   // the result of the picture on show, or nil
	stale  bool              // it is by other settings
}

// filtering is a call of a filter.
type filtering func(ctx context.Context, emit pipeline.Emit) error

// retune changes the filter in use, which keeps what it knows of the pictures before. It is false
// if another filter is needed.
func (n *lane) retune(f Filter, ahead int) bool {
	if n.filter != nil && f == n.by {
		return true
	}
	p, err := resolved(f, ahead)
	r, ok := n.filter.(retuner)
	if err != nil || !ok || f.FieldOrder != n.by.FieldOrder || !r.Retune(p) {
		return false
	}
	n.by, n.stale = f, true
	return true
}

// process filters a picture, at once: nothing overlaps, since the next has not been taken yet.
func (n *lane) process(shot *Shot) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		err := n.filter.Process(ctx, n.by.fields(shot.Frame.Retain()), emit)
		if d, ok := n.filter.(drainer); ok && err == nil {
			err = d.Drain(ctx, emit)
		}
		return err
	}
}

// learn lets the filter know a picture that it does not filter.
func (n *lane) learn(f *pipeline.Frame) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		seen := pipeline.NewFrame(f.Format, f.Planes, nil, f.Retain().Release)
		seen.CopyTiming(f)
		seen = n.by.fields(seen)
		seen.Context = true
		return n.filter.Process(ctx, seen, emit)
	}
}

// again filters the shown picture once more.
func (n *lane) again(held *Shot) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		some := false
		seen := func(out *pipeline.Frame) error {
			some = true
			return emit(out)
		}
		if r, ok := n.filter.(repeater); ok {
			if err := r.Again(ctx, seen); err != nil {
				return err
			}
			if err := r.Drain(ctx, seen); err != nil || some {
				return err
			}
		}
		if err := n.process(held)(ctx, seen); err != nil || some {
			return err
		}
		return n.filter.Flush(ctx, emit)
	}
}

// show makes the oldest result that of the picture on show.
func (n *lane) show() {
	if n.shown != nil {
		n.shown.Release()
	}
	n.shown, n.out, n.stale = n.out[0], n.out[1:], false
}

// stop ends the use of a lane.
func (n *lane) stop() {
	pipeline.Discard(n.filter)
	releaseFrames(n.out)
	if n.shown != nil {
		n.shown.Release()
	}
	*n = lane{}
}

func releaseFrames(all []*pipeline.Frame) {
	for _, f := range all {
		f.Release()
	}
}
