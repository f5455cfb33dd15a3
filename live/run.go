package live

import (
	"context"
	"time"

	"vidfilter/pipeline"
)

// drainer is a filter that can emit what it holds and go on.
type drainer interface {
	Drain(ctx context.Context, emit pipeline.Emit) error
}

// filterAll filters the newest picture whenever there is one, and the one that is held again when the filter has changed and no other comes.
func (s *Session) filterAll(ctx context.Context) error {
	l := &loop{s: s}
	defer l.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.shots.full:
			l.take()
		case <-s.tuned:
		}
		if err := l.step(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// loop is the state of filterAll.
type loop struct {
	s      *Session
	held   *Shot // the picture on show
	done   bool  // it has been filtered, in the way that by says
	by     Filter
	filter pipeline.Filter // nil before the first
}

// take replaces the picture on show by the newest, unless it is frozen.
func (l *loop) take() {
	shot, ok, _ := l.s.shots.try()
	if !ok {
		return
	}
	if l.s.isFrozen() && l.held != nil {
		shot.release()
		return
	}
	l.drop()
	l.held, l.done = &shot, false
}

func (l *loop) drop() {
	if l.held != nil {
		l.held.release()
		l.held = nil
	}
}

func (l *loop) close() {
	l.drop()
	l.discard()
}

func (l *loop) discard() {
	if d, ok := l.filter.(pipeline.Discarder); ok {
		d.Discard()
	}
	l.filter = nil
}

// step filters the picture on show, if there is anything new to see.
func (l *loop) step(ctx context.Context) error {
	l.s.mu.Lock()
	f := l.s.inForce
	l.s.mu.Unlock()
	if l.held == nil || l.done && f == l.by {
		return nil
	}
	if l.filter == nil || f != l.by {
		if err := l.change(f); err != nil {
			return err
		}
	}
	start := time.Now()
	out, err := l.run(ctx)
	if err != nil {
		return err
	}
	l.s.figures.filtered(time.Since(start))
	l.s.publish(&Pair{
		Original: l.held.Frame.Retain(), Filtered: out, Taken: l.held.Taken, Stamp: l.held.Stamp, Foreign: l.held.Foreign, Repeated: l.done,
	})
	l.done = true
	return nil
}

func (l *loop) change(f Filter) (err error) {
	p, err := f.Params()
	if err != nil {
		return err
	}
	l.discard()
	l.by = f
	l.filter, err = l.s.o.Backend.Filter(p, l.s.results)
	return err
}

// run returns the filtered picture as soon as it is done: nothing overlaps, since the next one has not been taken yet.
func (l *loop) run(ctx context.Context) (out *pipeline.Frame, err error) {
	emit := func(f *pipeline.Frame) error {
		if out != nil {
			out.Release()
		}
		out = f
		return nil
	}
	err = l.filter.Process(ctx, l.by.fields(l.held.Frame.Retain()), emit)
	if d, ok := l.filter.(drainer); ok && err == nil {
		err = d.Drain(ctx, emit)
	}
	if err != nil && out != nil {
		out.Release()
		out = nil
	}
	return out, err
}
