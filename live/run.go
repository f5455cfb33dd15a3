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
			if err := l.take(ctx); err != nil {
				return ended(ctx, err)
			}
		case <-s.tuned:
		}
		if err := l.step(ctx); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns no error if the context has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// loop is the state of filterAll.
type loop struct {
	s      *Session
	fresh  *Shot           // not yet filtered
	sent   []*Shot         // whose results wait for the next picture
	held   *Shot           // the picture on show
	by     Filter          // that is in use
	filter pipeline.Filter // nil before the first
}

// take replaces a picture that waits by the newest, unless frozen. If all are needed, pictures read
// before the freeze still come.
func (l *loop) take(ctx context.Context) error {
	shot, ok, _ := l.s.shots.try()
	if !ok {
		return nil
	}
	if shot.end != nil {
		err := l.flush(ctx)
		close(shot.end)
		return err
	}
	if l.s.isFrozen() && l.held != nil && !shot.sought && !l.s.needsAll() {
		shot.release()
		return nil
	}
	l.fresh = &shot
	return nil
}

func (l *loop) close() {
	for _, shot := range append(l.sent, l.fresh, l.held) {
		if shot != nil {
			shot.release()
		}
	}
	l.discard()
}

func (l *loop) discard() {
	pipeline.Discard(l.filter)
	l.filter = nil
}

// step filters a new picture, or the shown one if the filter has changed.
func (l *loop) step(ctx context.Context) error {
	l.s.mu.Lock()
	f := l.s.inForce
	l.s.mu.Unlock()
	if l.fresh == nil && (l.held == nil || f == l.by) {
		return nil
	}
	if l.filter == nil || f != l.by {
		if err := l.change(ctx, f); err != nil {
			return err
		}
	}
	if l.fresh == nil {
		return l.publish(ctx, true, l.again)
	}
	if l.fresh.begins {
		if err := l.anew(ctx); err != nil {
			return err
		}
	}
	l.sent, l.fresh = append(l.sent, l.fresh), nil
	return l.publish(ctx, false, l.process(l.sent[len(l.sent)-1]))
}

func (l *loop) change(ctx context.Context, f Filter) error {
	p, err := f.Resolved()
	if err != nil {
		return err
	}
	p.Causal, p.LookAhead = true, l.s.o.LookAhead
	if d, ok := l.filter.(*kernels.Denoiser); ok && p.Filter == kernels.Denoise && d.Retune(p) {
		l.by = f
		return nil // what it knows of the pictures before stays
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	l.by = f
	l.discard()
	l.filter, err = l.s.o.Backend.Filter(p, l.s.results)
	return err
}

// anew replaces the filter by one that knows no pictures.
func (l *loop) anew(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	l.discard()
	return l.change(ctx, l.by)
}

// flush publishes the pictures that wait for one more.
func (l *loop) flush(ctx context.Context) error {
	if len(l.sent) == 0 {
		return nil
	}
	return l.publish(ctx, false, l.filter.Flush)
}

// filtering is a call of a filter.
type filtering func(ctx context.Context, emit pipeline.Emit) error

// process filters a picture, at once: nothing overlaps, since the next has not been taken yet.
func (l *loop) process(shot *Shot) filtering {
	return func(ctx context.Context, emit pipeline.Emit) error {
		err := l.filter.Process(ctx, l.by.fields(shot.Frame.Retain()), emit)
		if d, ok := l.filter.(drainer); ok && err == nil {
			err = d.Drain(ctx, emit)
		}
		return err
	}
}

// again filters the shown picture once more.
func (l *loop) again(ctx context.Context, emit pipeline.Emit) error {
	some := false
	seen := func(out *pipeline.Frame) error {
		some = true
		return emit(out)
	}
	if d, ok := l.filter.(*kernels.Denoiser); ok {
		if err := d.Again(ctx, seen); err != nil {
			return err
		}
		if err := d.Drain(ctx, seen); err != nil || some {
			return err
		}
	}
	if err := l.process(l.held)(ctx, seen); err != nil || some {
		return err
	}
	return l.filter.Flush(ctx, emit)
}

// publish publishes what a call of the filter emits: the shown picture again, or those sent.
func (l *loop) publish(ctx context.Context, repeated bool, call filtering) error {
	var results []*pipeline.Frame
	start := time.Now()
	err := call(ctx, func(out *pipeline.Frame) error {
		results = append(results, out)
		return nil
	})
	if err == nil && len(results) > 0 {
		l.s.figures.filtered(time.Since(start))
	}
	for _, out := range results {
		if err != nil {
			out.Release()
			continue
		}
		if !repeated {
			if l.held != nil {
				l.held.release()
			}
			l.held, l.sent = l.sent[0], l.sent[1:]
		}
		if l.held.silent {
			out.Release()
			continue
		}
		err = l.s.publish(ctx, &Pair{
			Original: l.held.Frame.Retain(), Filtered: out, Taken: l.held.Taken, Stamp: l.held.Stamp, Foreign: l.held.Foreign,
			At: l.held.At, Place: l.held.Place, Repeated: repeated,
		})
	}
	return err
}
