package pipeline

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// heap is an Allocator over Go memory that counts its blocks.
type heap struct {
	allocs, live atomic.Int64
	extra        int                 // bytes that every block has more than asked for
	fail         func(n int64) error // called with the number of the allocation, from 1
}

func (h *heap) Alloc(size int) (Memory, error) {
	n := h.allocs.Add(1)
	if h.fail != nil {
		if err := h.fail(n); err != nil {
			return Memory{}, err
		}
	}
	h.live.Add(1)
	var freed atomic.Bool
	return Memory{Bytes: make([]byte, size+h.extra), Free: func() {
		if freed.Swap(true) {
			panic("block freed twice")
		}
		h.live.Add(-1)
	}}, nil
}

// checkFreed tests that no block is left.
func (h *heap) checkFreed(t testing.TB) {
	t.Helper()
	if n := h.live.Load(); n != 0 {
		t.Errorf("%d blocks were not freed", n)
	}
}

// rig is a run of fakes. Every call of a stage passes hook(ctx, point, n) first, n counting from 0
// the calls at that point: "next", "process0", "flush0", "process1", ..., "put", "finish".
type rig struct {
	t      testing.TB
	frames int
	pool   *Pool // the source's pool; nil allocates each frame
	hook   func(ctx context.Context, point string, n int) error

	live atomic.Int64 // frames not released yet

	mu       sync.Mutex
	calls    map[string]int
	got      []int64 // PTS of frames put
	finished int
}

func newRig(t testing.TB, frames int) *rig {
	return &rig{t: t, frames: frames, calls: map[string]int{}}
}

func (r *rig) at(ctx context.Context, point string) (n int, err error) {
	r.mu.Lock()
	n = r.calls[point]
	r.calls[point]++
	r.mu.Unlock()
	if r.hook != nil {
		err = r.hook(ctx, point, n)
	}
	return n, err
}

func (r *rig) frame(pts int64) *Frame {
	r.live.Add(1)
	f := NewFrame(Format{Layout: YUV420P, Width: 2, Height: 2}, [4]Plane{}, nil, func() { r.live.Add(-1) })
	f.PTS = pts
	return f
}

func (r *rig) Next(ctx context.Context) (*Frame, error) {
	n, err := r.at(ctx, "next")
	switch {
	case err != nil:
		return nil, err
	case n == r.frames:
		return nil, io.EOF
	case n > r.frames:
		r.t.Error("Next called after io.EOF")
	}
	if r.pool == nil {
		return r.frame(int64(n)), nil
	}
	_, put, err := r.pool.Get(ctx, 64)
	if err != nil {
		return nil, err
	}
	f := r.frame(int64(n))
	release := f.release
	f.release = func() { release(); put() }
	return f, nil
}

func (r *rig) Put(ctx context.Context, f *Frame) error {
	defer f.Release()
	if _, err := r.at(ctx, "put"); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, f.PTS)
	return nil
}

func (r *rig) Finish(ctx context.Context) error {
	r.mu.Lock()
	r.finished++
	r.mu.Unlock()
	_, err := r.at(ctx, "finish")
	return err
}

// fake is a filter that holds hold frames back and emits times frames for each one that it lets
// go: the frame itself, then copies.
type fake struct {
	r           *rig
	index       int
	hold, times int
	held        []*Frame
	after       bool // a call failed: no other may follow but Discard
	discards    int
}

func (f *fake) Held() int { return f.hold }

func (f *fake) Process(ctx context.Context, in *Frame, emit Emit) error {
	f.held = append(f.held, in)
	return f.step(ctx, "process", f.hold, emit)
}

func (f *fake) Flush(ctx context.Context, emit Emit) error { return f.step(ctx, "flush", 0, emit) }

func (f *fake) step(ctx context.Context, name string, keep int, emit Emit) (err error) {
	if f.after {
		f.r.t.Errorf("filter %d: %s called after a failure", f.index, name)
	}
	defer func() { f.after = err != nil }()
	if _, err := f.r.at(ctx, fmt.Sprint(name, f.index)); err != nil {
		return err
	}
	for len(f.held) > keep {
		out := f.held[0]
		f.held = f.held[1:]
		pts := out.PTS
		if f.times == 0 {
			out.Release()
		}
		for i := range f.times {
			if i > 0 {
				out = f.r.frame(pts)
			}
			if err := emit(out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fake) Discard() {
	f.discards++
	for _, h := range f.held {
		h.Release()
	}
	f.held = nil
}

func (r *rig) filters(hold ...int) (fs []Filter) {
	for i, h := range hold {
		fs = append(fs, &fake{r: r, index: i, hold: h, times: 1})
	}
	return fs
}

// checkEnd tests conditions after any run: all frames are freed, the order was kept, and Finish
// was called exactly when each stage before it had succeeded.
func (r *rig) checkEnd(err error, finish bool) {
	r.t.Helper()
	if n := r.live.Load(); n != 0 {
		r.t.Errorf("%d frames were not released", n)
	}
	for i := 1; i < len(r.got); i++ {
		if r.got[i] < r.got[i-1] {
			r.t.Errorf("out of order: %v", r.got)
			break
		}
	}
	if want := map[bool]int{true: 1}[finish]; r.finished != want {
		r.t.Errorf("Finish was called %d times, want %d (Run: %v)", r.finished, want, err)
	}
}

// bubble runs test on a fake clock, and fails when goroutines hang or are left over.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// bubbled is bubble as a subtest.
func bubbled(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, test) })
}

// failing returns a hook that fails at a point.
func failing(at string, number int, err error) func(context.Context, string, int) error {
	return func(_ context.Context, point string, n int) error {
		if point == at && n == number {
			return err
		}
		return nil
	}
}
