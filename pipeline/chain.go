package pipeline

import (
	"context"
	"fmt"
	"slices"
)

// Window is how many frames a filter reads before and after each. A part of a video needs as many
// around it, and begins with them at a multiple of Step frames in the video, if that is not 0.
type Window struct{ Before, After, Step int }

// Then returns the window of a filter together with the window of the next one, which reads its
// results.
func (w Window) Then(next Window) Window {
	step := max(w.Step, next.Step)
	if w.Step > 0 && next.Step > 0 {
		step = w.Step / gcd(w.Step, next.Step) * next.Step
	}
	return Window{w.Before + next.Before, w.After + next.After, step}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// alone reports whether each result depends on one frame only.
func (w Window) alone() bool { return w.Before == 0 && w.After == 0 }

// ContextKeeper is a Filter that emits no results for context frames. KeepContext, called before
// the first frame, has it emit them, marked as context, for a filter that reads them.
type ContextKeeper interface{ KeepContext() }

// Link is a filter of a Chain before it is open.
type Link struct {
	Name   string            // for errors
	Window Window            // that its results depend on
	Takes  func(Layout) bool // nil: it takes all layouts

	// OnDevice means that the filter can read frames whose samples are only in device memory.
	// InBoth means that it reads samples in device memory and in host memory.
	OnDevice, InBoth bool

	// Results is how many results the filter keeps between calls.
	Results int
	// Pool returns a pool for the results, of at most limit frames. They go to the next link, or
	// out of the chain if that is nil. Pool may be nil if the filter needs no pool.
	Pool func(limit int, next *Link) *Pool
	// Open returns the filter, or nil if it makes no change: the chain leaves it out. next is the
	// link behind it, or nil, and later the number of its results that the filters of later links
	// hold.
	Open func(results *Pool, next *Link, later int) (Filter, error)
}

// Chain opens filters each of which takes the results of the one before. It owns the pools of their
// results: with one chain, only the filters of one Open may be in use at a time. A chain is for one
// goroutine.
type Chain struct {
	links   []Link
	waiting int
	pools   []*Pool // of the links, nil before the first Open
}

// NewChain returns a chain of links, in order. waiting is how many results may wait behind each
// filter.
func NewChain(links []Link, waiting int) *Chain {
	links = slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return l.Open == nil })
	return &Chain{links: links, waiting: waiting, pools: make([]*Pool, len(links))}
}

// Open returns the filters as one: in Run each has a goroutine of its own; elsewhere a filter that
// emits a frame has the next one process it. It fails if the pool behind a filter has no room for
// the frames that the filters after it hold, since all of them would wait for each other. A single
// filter is returned as it is.
func (c *Chain) Open() (Filter, error) {
	filters := make([]Filter, len(c.links))
	later, context := 0, false // frames that the filters after a link hold, and whether they read context frames
	for i, l := range slices.Backward(c.links) {
		f, err := c.open(i, later)
		if err == nil {
			err = discards(f)
		}
		if err != nil {
			for _, opened := range filters[i+1:] {
				Discard(opened)
			}
			return nil, err
		}
		if k, ok := f.(ContextKeeper); ok && context {
			k.KeepContext()
		}
		context = context || !l.Window.alone()
		later += f.Held()
		if i > 0 {
			f = &linked{Filter: f, link: &c.links[i], before: c.links[i-1].Name}
		}
		filters[i] = f
	}
	switch len(filters) {
	case 0:
		return Pass{}, nil
	case 1:
		return filters[0], nil
	}
	return &joined{filters: filters}, nil
}

// open opens a filter. Later filters hold this number of frames. They may be results of any filter
// before them, since one that leaves a frame as it is may pass it on.
func (c *Chain) open(i, later int) (Filter, error) {
	l := &c.links[i]
	var next *Link
	if i < len(c.links)-1 {
		next = &c.links[i+1]
	}
	if l.Pool == nil {
		return l.Open(nil, next, later)
	}
	limit, least := c.waiting+l.Results, 1
	if next != nil {
		least += later
		limit += least
	}
	if c.pools[i] == nil {
		c.pools[i] = l.Pool(limit, next)
	}
	if !c.pools[i].keepRoom(least) {
		return nil, fmt.Errorf("pipeline: the filters after %s hold %d of its frames, and there is room for %d: one more is needed",
			l.Name, later, c.pools[i].limit())
	}
	return l.Open(c.pools[i], next, later)
}

// Close closes the pools. It may be called twice.
func (c *Chain) Close() {
	for _, p := range c.pools {
		if p != nil {
			p.Close()
		}
	}
}

// linked is a filter behind another one.
type linked struct {
	Filter
	link   *Link
	before string
	layout Layout // of the latest frame
}

func (l *linked) Process(ctx context.Context, f *Frame, emit Emit) error {
	if f.Layout != l.layout {
		if l.link.Takes != nil && !l.link.Takes(f.Layout) {
			f.Release()
			return fmt.Errorf("pipeline: the filter %s does not take %s, which comes from %s", l.link.Name, f.Layout, l.before)
		}
		l.layout = f.Layout
	}
	return l.Filter.Process(ctx, f, emit)
}

func (l *linked) Drain(ctx context.Context, emit Emit) error { return Drain(ctx, l.Filter, emit) }

func (l *linked) Discard() { Discard(l.Filter) }

// Drainer emits the results that a Filter has under way, as Flush does, and lets it go on.
type Drainer interface {
	Drain(ctx context.Context, emit Emit) error
}

// Drain calls f's Drain, if it has one.
func Drain(ctx context.Context, f Filter, emit Emit) error {
	if d, ok := f.(Drainer); ok {
		return d.Drain(ctx, emit)
	}
	return nil
}

// joined are the filters of a chain as one. Run takes them apart.
type joined struct {
	filters []Filter
	failed  error // of any filter, even if the one before it hides it
}

// takenApart returns the filters of a list, with chains' filters one by one.
func takenApart(filters []Filter) (all []Filter) {
	for _, f := range filters {
		if j, ok := f.(*joined); ok {
			all = append(all, j.filters...)
		} else {
			all = append(all, f)
		}
	}
	return all
}

// Held returns how many frames the filters hold together: a frame that is left as it is stays the
// source's down to the last of them.
func (j *joined) Held() (n int) {
	for _, f := range j.filters {
		n += f.Held()
	}
	return n
}

func (j *joined) Process(ctx context.Context, f *Frame, emit Emit) error {
	return j.done(j.into(ctx, 0, emit)(f))
}

func (j *joined) Flush(ctx context.Context, emit Emit) error {
	return j.each(ctx, emit, func(f Filter, emit Emit) error { return f.Flush(ctx, emit) })
}

func (j *joined) Drain(ctx context.Context, emit Emit) error {
	return j.each(ctx, emit, func(f Filter, emit Emit) error { return Drain(ctx, f, emit) })
}

func (j *joined) Discard() {
	for _, f := range j.filters {
		Discard(f)
	}
}

// each calls do for the filters in order, with the receiver of their frames.
func (j *joined) each(ctx context.Context, emit Emit, do func(Filter, Emit) error) error {
	for i, f := range j.filters {
		if err := j.done(do(f, j.into(ctx, i+1, emit))); err != nil {
			return err
		}
	}
	return nil
}

// into returns the function that passes frames to filter i, or on behind the last.
func (j *joined) into(ctx context.Context, i int, emit Emit) Emit {
	return func(f *Frame) error {
		switch {
		case j.failed != nil:
			f.Release()
		case i == len(j.filters):
			j.failed = emit(f)
		default:
			j.failed = j.done(j.filters[i].Process(ctx, f, j.into(ctx, i+1, emit)))
		}
		return j.failed
	}
}

func (j *joined) done(err error) error {
	if j.failed == nil {
		j.failed = err
	}
	return j.failed
}
