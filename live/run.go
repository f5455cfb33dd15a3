package live

import (
	"context"
	"slices"
	"time"

	"vidfilter/denoise/noise"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Abilities that only some filters have.
type (
	// A retuner can go on with other parameters; false if it cannot with these.
	retuner interface{ Retune(s kernels.Stage) bool }
	// A repeater keeps the frames it has filtered: Known returns them, oldest first, and Again
	// filters the last once more.
	repeater interface {
		pipeline.Drainer
		Known() []*pipeline.Frame
		Again(ctx context.Context, emit pipeline.Emit) error
	}
	// A meter measures noise.
	meter interface {
		OnNoise(seen func(m noise.Model, clean bool))
	}
)

// filterAll filters the newest picture as soon as there is one, and the held picture again when
// the filter changes and no other comes.
func (s *Session) filterAll(ctx context.Context) error {
	l := &loop{s: s, states: [2]*filterState{{}, {}}}
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
	s       *Session
	fresh   *Shot   // not yet filtered
	pending []*Shot // whose results have not come from all filters
	onShow  *Shot   // the picture on show
	by      settings
	framer  *framer         // of by.filter; nil at first
	states  [2]*filterState // of the filters of by.all()
	took    time.Duration
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
	if l.s.isFrozen() && l.onShow != nil && !shot.sought && !l.s.needsAll() {
		shot.release()
		return nil
	}
	l.fresh = &shot
	return nil
}

func (l *loop) close() {
	for _, shot := range append(l.pending, l.fresh, l.onShow) {
		if shot != nil {
			shot.release()
		}
	}
	for _, n := range l.states {
		n.stop()
	}
	l.framer.close()
}

// active returns the states in use.
func (l *loop) active() []*filterState { return l.states[:len(l.by.all())] }

// step filters a new picture, or the shown one if the filter has changed.
func (l *loop) step(ctx context.Context) error {
	l.s.mu.Lock()
	want := l.s.inForce
	l.s.mu.Unlock()
	if l.fresh == nil && (l.onShow == nil || want == l.by) {
		return nil
	}
	if l.states[0].main == nil || want != l.by {
		if err := l.adopt(ctx, want); err != nil {
			return err
		}
	}
	if l.fresh == nil {
		return l.repeat(ctx)
	}
	if l.fresh.begins {
		if err := l.anew(ctx); err != nil {
			return err
		}
	}
	shot := l.fresh
	if err := l.frame(ctx, shot); err != nil {
		return err
	}
	l.pending, l.fresh = append(l.pending, shot), nil
	for _, n := range l.active() {
		if err := l.run(ctx, n, n.process(shot)); err != nil {
			return err
		}
	}
	return l.emit(ctx)
}

// adopt changes to other settings. New filters get the pictures before, as far as one in use knows
// them: denoised pictures are then as they would be in passing.
func (l *loop) adopt(ctx context.Context, want settings) error {
	if l.by.side != "" && want.side != "" && l.by.side != want.side {
		l.states[0], l.states[1] = l.states[1], l.states[0]
		l.by = settings{filter: l.by.other, side: want.side, other: l.by.filter}
	}
	known, reframed, err := l.reframe(ctx, want)
	defer func() { releaseFrames(known...) }()
	if err != nil {
		return err
	}
	if !l.framer.frames(want.filter) {
		return nil // the picture on show cannot be framed so: see frame
	}
	var fresh []*filterState
	for i, f := range want.all() {
		n, same := l.states[i], false
		if !reframed {
			if same, err = l.retune(n, f); err != nil {
				return err
			}
		}
		if !same {
			fresh = append(fresh, n)
		}
	}
	if len(fresh) > 0 && len(l.pending) > 0 {
		if err := l.flush(ctx); err != nil {
			return err
		}
		fresh = l.states[:len(want.all())] // flushed filters have no state any more
	}
	l.by = want
	for i, f := range want.all() {
		if n := l.states[i]; slices.Contains(fresh, n) {
			if err := l.begin(ctx, n, f, known); err != nil {
				return err
			}
		}
	}
	for _, n := range l.states[len(want.all()):] {
		n.stop()
	}
	return nil
}

// reframe changes the part and size of pictures to those of other settings, and returns the
// pictures that a filter in use knows, which are the caller's: none if they are other parts.
func (l *loop) reframe(ctx context.Context, want settings) (known []*pipeline.Frame, reframed bool, err error) {
	known = l.known()
	if l.framer.frames(want.filter) {
		return known, false, nil
	}
	if err := l.flush(ctx); err != nil { // they are framed as before
		return known, true, err
	}
	next, err := l.s.newFramer(want.filter)
	if err != nil {
		return known, true, err
	}
	if l.framer != nil && !slices.Equal(next.before, l.framer.before) {
		releaseFrames(known...)
		known = nil
	}
	l.framer.close()
	l.framer = next
	if l.onShow == nil || l.fresh != nil {
		return known, true, nil
	}
	l.by = want
	return known, true, l.frame(ctx, l.onShow)
}

// known returns the pictures that a filter in use knows, oldest first. They are the caller's.
func (l *loop) known() []*pipeline.Frame {
	for _, n := range l.states {
		if r, ok := n.main.(repeater); ok {
			return r.Known()
		}
	}
	return nil
}

// begin gives a state a new filter, which sees some pictures first. The last of them is the one on
// show, which it is to filter if no other comes.
func (l *loop) begin(ctx context.Context, n *filterState, f FilterSettings, known []*pipeline.Frame) error {
	p, err := resolved(f, l.s.o.LookAhead)
	if err != nil {
		return err
	}
	pipeline.Discard(n.main)
	n.by, n.stale = f, true
	if n.main, err = l.s.o.Backend.Filter(p.Main(), l.s.results); err != nil {
		return err
	}
	if err := l.follow(n, p); err != nil {
		return err
	}
	l.s.watchNoise(n.main)
	if _, learns := n.main.(repeater); !learns {
		return nil
	}
	if l.fresh == nil && len(known) > 0 {
		known = known[:len(known)-1]
	}
	for _, f := range known {
		if err := l.run(ctx, n, n.learn(f)); err != nil {
			return err
		}
	}
	return nil
}

// resolved returns the options of a live filter.
func resolved(f FilterSettings, ahead int) (kernels.Selection, error) {
	s, err := f.Resolved()
	kernels.Edit(&s, func(d *kernels.Denoise) { d.Causal, d.LookAhead = true, ahead })
	return s, err
}

// anew replaces the filters by such that know no pictures.
func (l *loop) anew(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	for i, f := range l.by.all() {
		if err := l.begin(ctx, l.states[i], f, nil); err != nil {
			return err
		}
	}
	return nil
}

// flush publishes the pictures that wait for one more.
func (l *loop) flush(ctx context.Context) error {
	if len(l.pending) == 0 {
		return nil
	}
	for _, n := range l.active() {
		if err := l.run(ctx, n, n.flush); err != nil {
			return err
		}
	}
	return l.emit(ctx)
}

// run calls the filter of a state, and keeps its results.
func (l *loop) run(ctx context.Context, n *filterState, call filtering) error {
	start := time.Now()
	err := call(ctx, func(out *pipeline.Frame) error {
		n.out = append(n.out, out)
		return nil
	})
	l.took += time.Since(start)
	return err
}

// emit publishes the pictures whose results have come from all filters.
func (l *loop) emit(ctx context.Context) error {
	all := l.active()
	for len(l.pending) > 0 && !slices.ContainsFunc(all, func(n *filterState) bool { return len(n.out) == 0 }) {
		if l.onShow != nil {
			l.onShow.release()
		}
		l.onShow, l.pending = l.pending[0], l.pending[1:]
		for _, n := range all {
			n.show()
		}
		if err := l.publish(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// repeat publishes the shown picture by other settings.
func (l *loop) repeat(ctx context.Context) error {
	for _, n := range l.active() {
		if !n.stale {
			continue
		}
		late := n.out // by what the filter was
		n.out = nil
		if err := l.run(ctx, n, n.again(l.onShow)); err != nil {
			releaseFrames(late...)
			return err
		}
		for len(n.out) > 0 {
			n.show()
		}
		n.out = late
	}
	return l.publish(ctx, true)
}

// publish publishes the picture on show.
func (l *loop) publish(ctx context.Context, repeated bool) error {
	l.s.figures.filtered(l.took)
	l.took = 0
	all := l.active()
	if l.onShow.silent || slices.ContainsFunc(all, func(n *filterState) bool { return n.shown == nil }) {
		return nil
	}
	p := &Pair{
		Original: l.onShow.original.Retain(), source: l.onShow.Frame.Retain(), input: l.onShow.input.Retain(), Filtered: all[0].shown.Retain(), Side: l.by.side, Taken: l.onShow.Taken, Stamp: l.onShow.Stamp,
		Foreign: l.onShow.Foreign, At: l.onShow.At, Place: l.onShow.Place, Repeated: repeated,
	}
	if len(all) > 1 {
		p.Other = all[1].shown.Retain()
	}
	return l.s.publish(ctx, p)
}
