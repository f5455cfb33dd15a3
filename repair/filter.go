package repair

import (
	"context"
	"slices"

	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// around is the number of frames before and after a frame that its result depends on. The second
// frame on each side distinguishes flicker from damage.
const around = 2

// Filter repairs a stream of frames. A change of format, or between progressive and interlaced
// frames, starts a new stream.
type Filter struct {
	form form
	pool *pipeline.Pool
	each each
	seen func(patches int) // called for each repaired frame unless nil

	keepContext bool // context frames are emitted

	window []*entry // oldest first
	next   int      // index in window of the next frame to emit
	spare  []*picture
	free   []*view // to be reused
}

// entry is a frame of the window.
type entry struct {
	frame    *pipeline.Frame
	pictures []*picture // the frame, or its fields
	looks    []*look    // of the pictures compared to date
}

// look is the comparison of a picture with its neighbours.
type look struct {
	views []*view
	found [3][]*patch // candidates for damage in each plane
	dense [3]bool     // too many samples are candidates
}

var _ pipeline.Filter = (*Filter)(nil)
var _ pipeline.Discarder = (*Filter)(nil)
var _ pipeline.ContextKeeper = (*Filter)(nil)

func newFilter(f form, pool *pipeline.Pool, each each, seen func(patches int)) *Filter {
	return &Filter{form: f, pool: pool, each: each, seen: seen}
}

// KeepContext makes the filter emit context frames. See pipeline.ContextKeeper.
func (f *Filter) KeepContext() { f.keepContext = true }

// Held returns the number of frames that the filter keeps between calls.
func (f *Filter) Held() int { return 2 * around }

// Process takes ownership of a frame, and emits the frame whose window it completes.
func (f *Filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if n := len(f.window); n > 0 {
		if last := f.window[n-1].frame; in.Format != last.Format || in.Interlaced != last.Interlaced {
			if err := f.Flush(ctx, emit); err != nil {
				in.Release()
				return err
			}
		}
	}
	e := &entry{frame: in}
	for _, field := range plane.Fields(in) {
		p, err := f.picture(ctx, in, field)
		if err != nil {
			f.drop(e)
			return err
		}
		e.pictures = append(e.pictures, p)
	}
	f.window = append(f.window, e)
	if len(f.window)-f.next <= around {
		return nil
	}
	return f.step(ctx, emit)
}

// picture copies a frame or a field into planes, and prepares it for the motion search.
func (f *Filter) picture(ctx context.Context, in *pipeline.Frame, field plane.Field) (p *picture, err error) {
	p = &picture{}
	parts := componentsOf(in, field)
	for i, spare := range f.spare {
		if spare.fits(parts) {
			p, f.spare = spare, slices.Delete(f.spare, i, i+1)
			break
		}
	}
	p.ShiftX, p.ShiftY = in.ChromaShift()
	p.read(parts, f.each)
	p.search, err = f.form.prepare(ctx, p.Planes[0])
	return p, err
}

// step emits the next frame, and drops frames that have left the window.
func (f *Filter) step(ctx context.Context, emit pipeline.Emit) error {
	e := f.window[f.next]
	var out *pipeline.Frame
	if f.keepContext || !e.frame.Context {
		var err error
		if out, err = f.repaired(ctx, e.frame); err != nil {
			return err
		}
	}
	f.next++
	for ; f.next > around; f.next-- {
		f.drop(f.window[0])
		f.window = slices.Delete(f.window, 0, 1)
	}
	if out == nil {
		return nil
	}
	return emit(out)
}

// drop releases a frame. Later frames reuse the memory of its pictures.
func (f *Filter) drop(e *entry) {
	for _, p := range e.pictures {
		p.search.Release()
		p.search = nil
		f.spare = append(f.spare, p)
	}
	for _, l := range e.looks {
		f.forget(l)
	}
	e.frame.Release()
}

// repaired returns the next frame, or a repaired copy if it has damage. The first and the last
// frame of a video pass unchanged, because motion and damage look alike there.
func (f *Filter) repaired(ctx context.Context, in *pipeline.Frame) (*pipeline.Frame, error) {
	if f.next == 0 || f.next+1 == len(f.window) || len(f.window) < 2*around {
		return in.Retain(), nil
	}
	if err := f.lookAt(ctx); err != nil {
		return nil, err
	}
	var out *pipeline.Frame
	patches := 0
	for i, l := range f.window[f.next].looks {
		for c, all := range f.damage(i) {
			for _, p := range all {
				if out == nil {
					var err error
					if out, err = f.pool.NewFrame(ctx, in.Format); err != nil {
						return nil, err
					}
					out.CopyTiming(in)
					out.CopySamples(in)
				}
				if part := componentsOf(out, plane.Fields(in)[i])[c]; part.Own {
					l.views[c].mend(part, p)
				}
				if !p.under {
					patches++
				}
			}
		}
	}
	if out == nil {
		return in.Retain(), nil
	}
	if f.seen != nil && !in.Context {
		f.seen(patches)
	}
	return out, nil
}

// at returns a frame of the window at a distance of at most two from the next one. The video is
// mirrored at its ends.
func (f *Filter) at(distance int) *entry {
	i := f.next + distance
	switch n := len(f.window); {
	case i < 0:
		i = 1 - i
	case i >= n:
		i = 2*n - 3 - i
	}
	return f.window[i]
}

// lookAt completes the comparisons of the next frame and both its neighbours.
func (f *Filter) lookAt(ctx context.Context) error {
	for d := -1; d <= 1; d++ {
		e, before, after := f.at(d), f.at(d-1), f.at(d+1)
		for i := len(e.looks); i < len(e.pictures); i++ {
			now, a, b := e.pictures[i], before.pictures[i], after.pictures[i]
			fields, err := f.form.find(ctx, now.search, a.search, b.search)
			if err != nil {
				return err
			}
			l := &look{}
			for c := range now.Planes {
				v := f.compare(c, now, a, b, fields)
				all, ok := v.candidates()
				l.views = append(l.views, v)
				l.found[c], l.dense[c] = all, !ok
			}
			e.looks = append(e.looks, l)
		}
	}
	return nil
}

// damage returns the damaged patches in each plane of picture i of the next frame.
func (f *Filter) damage(i int) (all [3][]*patch) {
	l, before, after := f.at(0).looks[i], f.at(-1).looks[i], f.at(1).looks[i]
	for c, v := range l.views {
		if l.dense[c] || before.dense[c] || after.dense[c] {
			continue
		}
		v.near = [2]plane.Plane{f.at(-1).pictures[i].Planes[c], f.at(1).pictures[i].Planes[c]}
		v.end = f.next == 1 || f.next+around == len(f.window)
		v.far = [2]plane.Plane{f.at(-2).pictures[i].Planes[c], f.at(2).pictures[i].Planes[c]}
		damaged := make([]bool, len(l.found[c]))
		f.each(len(damaged), func(k int) {
			p := l.found[c][k]
			over := func(q *patch) bool { return c > 0 && v.meet(p, q) }
			p.under = slices.ContainsFunc(all[0], over)
			if !p.under && slices.ContainsFunc(l.found[0], over) {
				return // part of an object that luma shows to be undamaged
			}
			if c > 0 && !p.under && !f.at(0).frame.Layout.Info().RGB && !p.streak() {
				return
			}
			damaged[k] = v.damage(p, l.found[c], [2][]*patch{before.found[c], after.found[c]})
		})
		for k, p := range l.found[c] {
			if damaged[k] {
				all[c] = append(all[c], p)
			}
		}
		if c == 0 {
			continue
		}
		for _, luma := range all[0] {
			var joined []*patch
			apart := slices.DeleteFunc(all[c], func(p *patch) bool {
				over := v.meet(p, luma)
				if over {
					joined = append(joined, p)
				}
				return over
			})
			if p := v.below(luma, l.views[0].now.Width, joined); p != nil {
				all[c] = append(apart, p)
			} else {
				all[c] = append(apart, joined...)
			}
		}
	}
	return all
}

// compare compares plane c of a picture with the motion-compensated planes of its neighbours.
func (f *Filter) compare(c int, now, before, after *picture, fields [2]motion.Field) *view {
	p := now.Planes[c]
	v := f.memory(p)
	v.now, v.vectors = p, fields
	v.shiftX, v.shiftY = 0, 0
	if c > 0 {
		v.shiftX, v.shiftY = now.ShiftX, now.ShiftY
	}
	n := strips(p.Height)
	f.each(2*n, func(k int) {
		y0 := k / 2 * stripRows
		y1 := min(y0+stripRows, p.Height)
		if k%2 == 0 {
			f.form.compensate(v.before, before.Planes[c], fields[0], v.shiftX, v.shiftY, y0, y1)
		} else {
			f.form.compensate(v.after, after.Planes[c], fields[1], v.shiftX, v.shiftY, y0, y1)
		}
	})
	f.each(n, func(k int) {
		const rows = stripRows / cellSide
		f.form.compare(v.cells, p, v.before, v.after, k*rows, min((k+1)*rows, v.cells.height))
	})
	f.each(v.cells.height, v.measure)
	return v
}

// memory returns a view with buffers for planes of the size and depth of p.
func (f *Filter) memory(p plane.Plane) *view {
	i := slices.IndexFunc(f.free, func(v *view) bool {
		return v.before.Width == p.Width && v.before.Height == p.Height && v.before.Depth == p.Depth
	})
	if i < 0 {
		cells := newCells(p)
		return &view{before: p.Like(), after: p.Like(), cells: cells, noise: make([]int32, len(cells.sum)), labels: make([]int32, len(p.Pix))}
	}
	v := f.free[i]
	f.free = slices.Delete(f.free, i, i+1)
	return v
}

// forget returns the views of a look to the free list.
func (f *Filter) forget(l *look) {
	for c, v := range l.views {
		v.forget(l.found[c])
		f.free = append(f.free, v)
	}
}

// Flush emits the results of all frames in the window, and releases the frames.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	for f.next < len(f.window) {
		if err := f.step(ctx, emit); err != nil {
			return err
		}
	}
	f.Discard()
	return nil
}

// Discard releases all frames in the window without results.
func (f *Filter) Discard() {
	for _, e := range f.window {
		f.drop(e)
	}
	f.window, f.next, f.spare, f.free = nil, 0, nil, nil
	f.form.idle()
}
