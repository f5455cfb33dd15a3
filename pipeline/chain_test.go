package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
)

// copier is a fake that emits frames of a pool in place of its own.
type copier struct {
	*fake
	pool *Pool
}

func (c copier) onward(ctx context.Context, emit Emit) Emit {
	return func(in *Frame) error {
		defer in.Release()
		out, err := c.pool.NewFrame(ctx, in.Format)
		if err != nil {
			return err
		}
		out.CopyTiming(in)
		return emit(out)
	}
}

func (c copier) Process(ctx context.Context, in *Frame, emit Emit) error {
	return c.fake.Process(ctx, in, c.onward(ctx, emit))
}

func (c copier) Flush(ctx context.Context, emit Emit) error {
	return c.fake.Flush(ctx, c.onward(ctx, emit))
}

// Drain emits the frames that are held.
func (c copier) Drain(ctx context.Context, emit Emit) error {
	return c.step(ctx, "drain", 0, c.onward(ctx, emit))
}

// chained is a chain of copiers over one allocator.
type chained struct {
	*rig
	memory heap
	chain  *Chain
	opened []copier // in order
}

func newChained(r *rig, holds ...int) *chained {
	c := &chained{rig: r, opened: make([]copier, len(holds))}
	var links []Link
	for i, hold := range holds {
		links = append(links, Link{
			Name: fmt.Sprint("filter", i),
			Pool: func(limit int, _ *Link) *Pool { return NewPool(&c.memory, limit) },
			Open: func(pool *Pool, _ *Link, _ int) (Filter, error) {
				c.opened[i] = copier{&fake{r: r, index: i, hold: hold, times: 1}, pool}
				return c.opened[i], nil
			},
		})
	}
	c.chain = NewChain(links, 1)
	return c
}

// check tests that all frames of a run are freed.
func (c *chained) check(err error, finish bool) {
	c.t.Helper()
	c.checkEnd(err, finish)
	c.chain.Close()
	c.memory.checkFreed(c.t)
}

// With room only for the frames that later filters hold and one more, chains do not block, also
// when they are opened again.
func TestChainHasRoom(t *testing.T) {
	for _, holds := range [][]int{{}, {3}, {0, 5}, {2, 0, 3}, {0, 0, 6}} {
		bubbled(t, fmt.Sprint(holds), func(t *testing.T) {
			c := newChained(newRig(t, 20), holds...)
			for range 2 {
				c.got, c.finished, c.calls = nil, 0, map[string]int{}
				f, err := c.chain.Open()
				e2e.Must(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				err = Run(ctx, c, []Filter{f}, c, Options{})
				cancel()
				e2e.Must(t, err)
				c.checkEnd(err, true)
				if !slices.Equal(c.got, upTo(20)) {
					t.Errorf("got %v", c.got)
				}
			}
			c.check(nil, true)
		})
	}
}

// Two filters with pools that do not know of each other hang; a chain refuses such pools, also when
// memory runs out later.
func TestChainRefusesTooLittleRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 20)
		pools := [2]*Pool{NewPool(&heap{}, 4), NewPool(&heap{}, 4)}
		filters := []Filter{
			copier{&fake{r: r, times: 1}, pools[0]},
			copier{&fake{r: r, index: 1, hold: 6, times: 1}, pools[1]},
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := Run(ctx, r, filters, r, Options{}); err != context.DeadlineExceeded {
			t.Errorf("Run returned %v, want a hang", err)
		}
	})
	c := newChained(newRig(t, 20), 0, 6)
	c.chain.links[0].Pool = func(int, *Link) *Pool { return NewPool(&c.memory, 4) }
	if _, err := c.chain.Open(); err == nil || !strings.Contains(err.Error(), "after filter0 hold 6 of its frames, and there is room for 4") {
		t.Errorf("Open returned %v", err)
	}
	c.check(nil, false)

	bubble(t, func(t *testing.T) {
		c := newChained(newRig(t, 20), 0, 6)
		c.memory.fail = func(n int64) error {
			if n > 5 {
				return errOther
			}
			return nil
		}
		f, err := c.chain.Open()
		e2e.Must(t, err)
		if err := Run(t.Context(), c, []Filter{f}, c, Options{}); !errors.Is(err, errOther) {
			t.Errorf("Run returned %v", err)
		}
		c.check(err, false)
	})
}

// A layout that a filter does not take is an error that names both filters.
func TestChainRefusesLayouts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newChained(newRig(t, 20), 1, 2)
		c.chain.links[1].Takes = func(l Layout) bool { return l != YUV420P }
		f, err := c.chain.Open()
		e2e.Must(t, err)
		err = Run(t.Context(), c, []Filter{f}, c, Options{})
		if err == nil || err.Error() != "pipeline: the filter filter1 does not take yuv420p, which comes from filter0" {
			t.Errorf("Run returned %v", err)
		}
		c.check(err, false)
	})
}

// A filter without effect is left out, and a single filter is returned itself.
func TestChainOfFew(t *testing.T) {
	c := newChained(newRig(t, 0), 0, 1)
	c.chain = NewChain([]Link{{}, c.chain.links[1], {}}, 1)
	if f, err := c.chain.Open(); err != nil || f != Filter(c.opened[1]) {
		t.Errorf("opened %T, %v", f, err)
	}
	if f, err := NewChain(nil, 1).Open(); err != nil || f != Filter(Pass{}) {
		t.Errorf("opened %T, %v", f, err)
	}
	broken := NewChain([]Link{{Open: func(*Pool, *Link, int) (Filter, error) { return nil, errFake }}, c.chain.links[0]}, 1)
	if _, err := broken.Open(); err != errFake {
		t.Errorf("Open returned %v", err)
	}
}

// A chain fails at one point while every other stage is blocked, in Run and, without blocking, as
// one filter.
func TestChainFailsAnywhere(t *testing.T) {
	for _, fail := range points {
		for _, block := range points {
			bubbled(t, fmt.Sprintf("fail=%s,%d/block=%s,%d", fail.name, fail.n, block.name, block.n), func(t *testing.T) {
				c := newChained(newRig(t, 6), 1, 2)
				failed := false
				c.hook = func(ctx context.Context, point string, n int) error {
					switch {
					case point == fail.name && n == fail.n:
						failed = true
						return errFake
					case point == block.name && n == block.n:
						<-ctx.Done()
						return context.Cause(ctx)
					}
					return nil
				}
				f, err := c.chain.Open()
				e2e.Must(t, err)
				ctx, cancel := context.WithCancelCause(t.Context())
				end := make(chan error, 1)
				go func() { end <- Run(ctx, c, []Filter{f}, c, Options{}) }()
				synctest.Wait()
				ended := fail
				if cancel(errOther); !failed {
					ended = block
				}
				if err = <-end; failed && err != errFake || !failed && err != errOther {
					t.Errorf("Run returned %v", err)
				}
				c.check(err, ended.name == "finish")
			})
		}
		bubbled(t, fmt.Sprintf("fail=%s,%d/as one", fail.name, fail.n), func(t *testing.T) {
			c := newChained(newRig(t, 6), 1, 2)
			c.hook = failing(fail.name, fail.n, errFake)
			f, err := c.chain.Open()
			e2e.Must(t, err)
			if f.Held() != 3 {
				t.Errorf("holds %d frames", f.Held())
			}
			err = Run(t.Context(), c, []Filter{wrapped{f}}, c, Options{})
			if err != errFake {
				t.Errorf("Run returned %v", err)
			}
			c.check(err, fail.name == "finish")
			for _, o := range c.opened {
				if o.discards != 1 && fail.name != "put" && fail.name != "finish" && fail.name != "next" {
					t.Errorf("filter %d was discarded %d times", o.index, o.discards)
				}
			}
		})
	}
}

var errOther = errors.New("cancelled")

// wrapped hides the type of a filter.
type wrapped struct{ Filter }

func (w wrapped) Discard() { Discard(w.Filter) }

// Draining a chain drains its filters in order. It continues with the next frame.
func TestChainDrains(t *testing.T) {
	c := newChained(newRig(t, 0), 1, 2)
	f, err := c.chain.Open()
	e2e.Must(t, err)
	ctx := t.Context()
	emit := func(f *Frame) error { return c.Put(ctx, f) }
	for i := range 5 {
		e2e.Must(t, f.Process(ctx, c.frame(int64(i)), emit))
		e2e.Must(t, Drain(ctx, f, emit))
		if !slices.Equal(c.got, upTo(i+1)) {
			t.Errorf("got %v", c.got)
		}
	}
	e2e.Must(t, f.Process(ctx, c.frame(5), emit))
	Discard(f)
	c.check(nil, false)
}

// Context frames reach filters, and no sink; no meter counts them.
func TestRunEndsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 0)
		var m Meters
		src := &contextual{rig: r}
		e2e.Must(t, Run(t.Context(), src, r.filters(1, 0), r, Options{Meters: &m}))
		if !slices.Equal(r.got, []int64{2, 3}) || m.Filter.Frames() != 2 || m.Encode.Frames() != 2 {
			t.Errorf("got %v, counted %d, %d", r.got, m.Filter.Frames(), m.Encode.Frames())
		}
		r.checkEnd(nil, true)
	})
}

// contextual yields context frames around frames 2 and 3.
type contextual struct {
	*rig
	n int64
}

func (c *contextual) Next(ctx context.Context) (*Frame, error) {
	if c.n == 6 {
		return c.rig.Next(ctx) // the end
	}
	f := c.frame(c.n)
	f.Context = c.n < 2 || c.n > 3
	c.n++
	return f, nil
}

func TestWindows(t *testing.T) {
	for _, c := range []struct{ first, second, want Window }{
		{Window{}, Window{}, Window{}},
		{Window{2, 3, 1}, Window{}, Window{2, 3, 1}},
		{Window{}, Window{54, 6, 16}, Window{54, 6, 16}},
		{Window{2, 3, 1}, Window{54, 6, 16}, Window{56, 9, 16}},
		{Window{1, 0, 6}, Window{1, 1, 4}, Window{2, 1, 12}},
	} {
		if got := c.first.Then(c.second); got != c.want {
			t.Errorf("%v then %v: %v instead of %v", c.first, c.second, got, c.want)
		}
	}
}
