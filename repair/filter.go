package repair

import (
	"context"
	"slices"

	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// around is how many frames before and after its own a result depends on: the neighbours, and those
// that tell a flicker from damage.
const around = 2

// Filter repairs a stream of frames. Frames of another format, or woven of fields where those
// before were not, begin anew.
type Filter struct {
	form form
	pool *pipeline.Pool
	each each
	seen func(patches int) // of each repaired frame; may be nil

	keepContext bool // context frames have results

	window []*entry // oldest first
	next   int      // index in the window of the frame whose result comes next
	spare  []*picture
	work   [3]work // of the planes
}

// entry is a frame of the window.
type entry struct {
	frame    *pipeline.Frame
	pictures []*picture // of the frame, or of its fields
}

// work is memory for a plane.
type work struct {
	before, after plane.Plane
	cells         cells
	noise         []int32
	labels        []int32
}

var _ pipeline.Filter = (*Filter)(nil)
var _ pipeline.Discarder = (*Filter)(nil)
var _ pipeline.ContextKeeper = (*Filter)(nil)

func newFilter(f form, pool *pipeline.Pool, each each, seen func(patches int)) *Filter {
	return &Filter{form: f, pool: pool, each: each, seen: seen}
}

// KeepContext has context frames repaired, too; see pipeline.ContextKeeper.
func (f *Filter) KeepContext() { f.keepContext = true }

// Held returns how many frames the filter keeps between calls.
func (f *Filter) Held() int { return 2 * around }

// Process takes a frame, and emits the result of the one whose window it completes.
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

// picture reads a frame or a field.
func (f *Filter) picture(ctx context.Context, in *pipeline.Frame, field plane.Field) (p *picture, err error) {
	p = &picture{}
	if n := len(f.spare); n > 0 {
		p, f.spare = f.spare[n-1], f.spare[:n-1]
	}
	p.read(in, field, f.each)
	p.search, err = f.form.prepare(ctx, p.Planes[0])
	return p, err
}

// step emits the next result.
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

// drop gives up a frame. Its pictures serve others.
func (f *Filter) drop(e *entry) {
	for _, p := range e.pictures {
		p.search.Release()
		p.search = nil
		f.spare = append(f.spare, p)
	}
	e.frame.Release()
}

// repaired returns the next frame, or a copy without its damage.
func (f *Filter) repaired(ctx context.Context, in *pipeline.Frame) (*pipeline.Frame, error) {
	var out *pipeline.Frame
	patches := 0
	for i, field := range plane.Fields(in) {
		if f.next == 0 || f.next == len(f.window)-1 {
			break // it lacks a neighbour
		}
		views, damage, err := f.damage(ctx, i)
		if err != nil {
			if out != nil {
				out.Release()
			}
			return nil, err
		}
		var parts []plane.Component
		for c, all := range damage {
			for _, p := range all {
				if out == nil {
					if out, err = f.pool.NewFrame(ctx, in.Format); err != nil {
						return nil, err
					}
					out.CopyTiming(in)
					out.CopySamples(in)
				}
				if parts == nil {
					parts = componentsOf(out, field)
				}
				if parts[c].Own {
					views[c].mend(parts[c], p)
				}
				if p.counts {
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

// damage returns the damage in the planes of picture i of the next frame.
func (f *Filter) damage(ctx context.Context, i int) (views []*view, all [3][]*patch, err error) {
	at := func(d int) *picture { return f.window[f.next+d].pictures[i] }
	now := at(0)
	fields, err := f.form.find(ctx, now.search, at(-1).search, at(1).search)
	if err != nil {
		return nil, all, err
	}
	for c := range now.Planes {
		v := f.compare(c, now, at(-1), at(1), &fields)
		v.near = [2]plane.Plane{at(-1).Planes[c], at(1).Planes[c]}
		for k, d := range [...]int{-2, 2} {
			if n := f.next + d; n >= 0 && n < len(f.window) {
				v.far[k] = at(d).Planes[c]
			}
		}
		views = append(views, v)
	}
	return views, detect(views), nil
}

// compare returns a plane beside those of the neighbours.
func (f *Filter) compare(c int, now, before, after *picture, fields *[2]motion.Field) *view {
	w := &f.work[c]
	p := now.Planes[c]
	if w.before.Width != p.Width || w.before.Height != p.Height || w.before.Depth != p.Depth {
		cells := newCells(p)
		*w = work{p.Like(), p.Like(), cells, make([]int32, len(cells.sum)), make([]int32, len(p.Pix))}
	}
	for i := range w.noise {
		w.noise[i] = -1
	}
	v := &view{now: p, before: w.before, after: w.after, vectors: fields, cells: w.cells, noise: w.noise, labels: w.labels}
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
	return v
}

// Flush emits the results of all frames, and forgets them.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	for f.next < len(f.window) {
		if err := f.step(ctx, emit); err != nil {
			return err
		}
	}
	f.Discard()
	return nil
}

// Discard releases all frames.
func (f *Filter) Discard() {
	for _, e := range f.window {
		f.drop(e)
	}
	f.window, f.next, f.spare = nil, 0, nil
}
