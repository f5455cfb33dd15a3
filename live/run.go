package live

import (
	"context"
	"time"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// drainer is a filter that can emit the frames that it holds and continue.
type drainer interface {
	Drain(ctx context.Context, emit pipeline.Emit) error
}

// filterAll filters the newest picture as soon as there is one, and the held picture again when
// the filter changes and no other comes.
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
	done   bool  // it has been filtered by by
	by     Filter
	filter pipeline.Filter // nil before the first
}

// take replaces the shown picture by the newest, unless frozen. With Input.Whole, pictures read
// before the freeze still come.
func (l *loop) take() {
	shot, ok, _ := l.s.shots.try()
	if !ok {
		return
	}
	if shot.end != nil {
		close(shot.end)
		return
	}
	if l.s.isFrozen() && l.held != nil && !l.s.o.Input.Whole {
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
	pipeline.Discard(l.filter)
	l.filter = nil
}

// step filters the shown picture if anything has changed.
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
	repeated := l.done
	l.done = true
	return l.s.publish(ctx, &Pair{
		Original: l.held.Frame.Retain(), Filtered: out, Taken: l.held.Taken, Stamp: l.held.Stamp, Foreign: l.held.Foreign,
		At: l.held.At, Repeated: repeated,
	})
}

func (l *loop) change(f Filter) (err error) {
	p, err := f.Resolved()
	if err != nil {
		return err
	}
	p.Causal = true
	l.by = f
	if d, ok := l.filter.(*kernels.Denoiser); ok && p.Filter == kernels.Denoise && d.Retune(p) {
		return nil // what it knows of the pictures before stays
	}
	l.discard()
	l.filter, err = l.s.o.Backend.Filter(p, l.s.results)
	return err
}

// run returns the filtered picture at once. Nothing overlaps, since the next picture has not been
// taken yet.
func (l *loop) run(ctx context.Context) (out *pipeline.Frame, err error) {
	emit := func(f *pipeline.Frame) error {
		if out != nil {
			out.Release()
		}
		out = f
		return nil
	}
	if d, ok := l.filter.(*kernels.Denoiser); ok && l.done {
		if err = d.Again(ctx, emit); err == nil {
			err = d.Drain(ctx, emit)
		}
	}
	if out == nil && err == nil {
		err = l.filter.Process(ctx, l.by.fields(l.held.Frame.Retain()), emit)
	}
	if d, ok := l.filter.(drainer); ok && err == nil {
		err = d.Drain(ctx, emit)
	}
	if err != nil && out != nil {
		out.Release()
		out = nil
	}
	return out, err
}
