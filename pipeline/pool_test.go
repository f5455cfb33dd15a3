package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
)

func TestPoolGetBlocksAtTheLimitAndWakes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := &heap{}
		p := NewPool(mem, 2)
		_, put1, _ := p.Get(t.Context(), 10)
		_, put2, _ := p.Get(t.Context(), 10)
		got := make(chan func())
		go func() {
			b, put, err := p.Get(t.Context(), 10)
			if err != nil || len(b) != 10 || cap(b) != 10 {
				t.Errorf("Get: %d bytes of %d, %v", len(b), cap(b), err)
			}
			got <- put
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("a third block from a pool of two")
		default:
		}
		put1()
		put3 := <-got
		if p.InUse() != 2 || mem.allocs.Load() != 2 {
			t.Errorf("%d in use, %d allocated", p.InUse(), mem.allocs.Load())
		}
		put2()
		put3()
		p.Close()
		mem.checkFreed(t)
	})
}

func TestPoolGetEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := NewPool(&heap{}, 1)
		_, put, _ := p.Get(t.Context(), 10)
		ctx, cancel := context.WithCancelCause(t.Context())
		end := make(chan error)
		go func() {
			_, _, err := p.Get(ctx, 10)
			end <- err
		}()
		synctest.Wait()
		cancel(errFake)
		if err := <-end; err != errFake {
			t.Errorf("blocked Get: %v", err)
		}
		put()
		// With a context that has ended, no block is returned, even when there is one.
		for range 20 {
			if _, _, err := p.Get(ctx, 10); err != errFake {
				t.Fatalf("Get with a cancelled context: %v", err)
			}
		}
		if p.InUse() != 0 {
			t.Errorf("%d in use", p.InUse())
		}
	})
}

func TestPoolTakeNeverBlocks(t *testing.T) {
	mem := &heap{}
	p := NewPool(mem, 0)
	var puts []func()
	for range 5 {
		_, put, err := p.Take(10)
		e2e.Must(t, err)
		puts = append(puts, put)
	}
	if p.InUse() != 5 {
		t.Errorf("%d in use", p.InUse())
	}
	for _, put := range puts {
		put()
	}
	if _, put, _ := p.Take(10); mem.allocs.Load() != 5 {
		t.Errorf("%d blocks allocated for 5 at a time", mem.allocs.Load())
	} else {
		put()
	}
	p.Close()
	mem.checkFreed(t)
}

func TestPoolNewSizeFreesTheOld(t *testing.T) {
	mem := &heap{extra: 4096} // an allocator that rounds up; blocks must be reused all the same
	p := NewPool(mem, 3)
	_, idle, _ := p.Get(t.Context(), 10)
	_, out, _ := p.Get(t.Context(), 10)
	idle()
	if mem.live.Load() != 2 {
		t.Fatalf("%d blocks live", mem.live.Load())
	}
	b, put, _ := p.Get(t.Context(), 20)
	if len(b) != 20 || mem.live.Load() != 2 {
		t.Errorf("%d bytes; %d blocks live, want the one that is out and the new one", len(b), mem.live.Load())
	}
	out() // of the old size, which is no longer used
	if mem.live.Load() != 1 {
		t.Errorf("%d blocks live after the last old one came back", mem.live.Load())
	}
	put()
	before := mem.allocs.Load()
	if _, put, _ := p.Get(t.Context(), 20); mem.allocs.Load() != before {
		t.Error("a free block of the right size was not reused")
	} else {
		put()
	}
	p.Close()
	if mem.live.Load() != 0 || p.InUse() != 0 {
		t.Errorf("%d live, %d in use", mem.live.Load(), p.InUse())
	}
}

func TestPoolFailedAllocationsLeakNoSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		errNoMemory := errors.New("out of memory")
		mem := &heap{fail: func(n int64) error {
			if n <= 5 {
				return errNoMemory
			}
			return nil
		}}
		p := NewPool(mem, 1)
		for range 5 {
			if _, _, err := p.Get(t.Context(), 10); !errors.Is(err, errNoMemory) {
				t.Fatalf("Get: %v", err)
			}
		}
		if p.InUse() != 0 {
			t.Errorf("%d in use", p.InUse())
		}
		_, put, err := p.Get(t.Context(), 10)
		e2e.Must(t, err)
		put()
	})
}

func TestPoolDoublePutIsIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := NewPool(&heap{}, 2)
		a, put, _ := p.Get(t.Context(), 10)
		put()
		put()
		b, _, _ := p.Get(t.Context(), 10)
		put() // the block has a new owner by now
		c, _, _ := p.Get(t.Context(), 10)
		if &a[0] != &b[0] || &b[0] == &c[0] {
			t.Error("one block has two owners")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := p.Get(ctx, 10); err != context.DeadlineExceeded {
			t.Errorf("a third block from a pool of two: %v", err)
		}
	})
}

func TestPoolClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := &heap{}
		p := NewPool(mem, 2)
		_, idle, _ := p.Get(t.Context(), 10)
		_, out, _ := p.Get(t.Context(), 10)
		end := make(chan error)
		go func() {
			_, _, err := p.Get(t.Context(), 10)
			end <- err
		}()
		synctest.Wait()
		p.Close()
		if err := <-end; err != ErrClosed {
			t.Errorf("waiting Get: %v", err)
		}
		idle()
		p.Close()
		if mem.live.Load() != 1 || p.InUse() != 1 {
			t.Errorf("%d live, %d in use; one is out", mem.live.Load(), p.InUse())
		}
		if _, _, err := p.Get(t.Context(), 10); err != ErrClosed {
			t.Errorf("Get: %v", err)
		}
		if _, _, err := p.Take(10); err != ErrClosed {
			t.Errorf("Take: %v", err)
		}
		if _, err := p.NewFrame(t.Context(), Format{Layout: RGBA, Width: 1, Height: 1}); err != ErrClosed {
			t.Errorf("NewFrame: %v", err)
		}
		out()
		out()
		if mem.live.Load() != 0 || p.InUse() != 0 {
			t.Errorf("%d live, %d in use", mem.live.Load(), p.InUse())
		}
	})
}

// lazy is an allocator that needs another goroutine to give its block back first, as one does that
// runs on the thread of a device where frames are released too.
type lazy struct {
	heap
	before func()
}

func (l *lazy) Alloc(size int) (Memory, error) {
	if l.before != nil {
		l.before()
	}
	return l.heap.Alloc(size)
}

func TestPoolIsNotLockedDuringAlloc(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := &lazy{}
		p := NewPool(mem, 2)
		_, put, _ := p.Get(t.Context(), 10)
		mem.before = func() {
			var wg sync.WaitGroup
			wg.Go(put)
			wg.Wait()
		}
		if _, _, err := p.Get(t.Context(), 10); err != nil {
			t.Error(err)
		}
	})
}

func TestPoolManyUsers(t *testing.T) {
	mem := &heap{}
	p := NewPool(mem, 3)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				size := 64
				if g == 0 && i%50 == 0 {
					size = 128
				}
				b, put, err := p.Get(t.Context(), size)
				if err != nil {
					t.Error(err)
					return
				}
				b[0] = byte(g) // the race detector sees a block with two owners
				put()
			}
		})
	}
	wg.Wait()
	p.Close()
	if mem.live.Load() != 0 || p.InUse() != 0 {
		t.Errorf("%d live, %d in use", mem.live.Load(), p.InUse())
	}
}

// TestPoolShrinks: with memory for two blocks, a pool of five works with two.
func TestPoolShrinks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		errFull := errors.New("no memory")
		mem := &heap{fail: func(n int64) error {
			if n > 2 {
				return errFull
			}
			return nil
		}}
		p := NewPool(mem, 5)
		_, put1, err1 := p.Get(t.Context(), 10)
		_, put2, err2 := p.Get(t.Context(), 10)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		got := make(chan error)
		go func() {
			_, put, err := p.Get(t.Context(), 10)
			put()
			got <- err
		}()
		synctest.Wait()
		put1()
		if err := <-got; err != nil {
			t.Error(err)
		}
		if _, put3, err := p.Get(t.Context(), 10); err != nil {
			t.Error(err)
		} else {
			put3()
		}
		put2()
		for range 4 { // until the limit has fallen to one, whose failure is final
			p.kind = kind{} // as if no block could be used again
			p.free = nil
			if _, _, err := p.Get(t.Context(), 10); !errors.Is(err, errFull) {
				t.Errorf("with no memory at all: %v", err)
			}
		}
	})
}

func TestTryFrame(t *testing.T) {
	p := NewPool(&heap{}, 1)
	format := Format{Layout: YUV420P, Width: 6, Height: 4}
	f, err := p.TryFrame(format)
	if f == nil || err != nil {
		t.Fatal(f, err)
	}
	if g, err := p.TryFrame(format); g != nil || err != nil {
		t.Errorf("with all out: %v, %v", g, err)
	}
	f.Release()
	if f, err := p.TryFrame(format); f == nil || err != nil {
		t.Errorf("after a release: %v, %v", f, err)
	} else {
		f.Release()
	}
	p.Close()
	if f, err := p.TryFrame(format); f != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v, %v", f, err)
	}
}

// TestTrim: a trimmed pool keeps no memory, neither idle blocks nor returned ones, until a block is
// requested again.
func TestTrim(t *testing.T) {
	mem := &heap{}
	p := NewPool(mem, 4)
	take := func() func() {
		_, put, err := p.Get(t.Context(), 10)
		e2e.Must(t, err)
		return put
	}
	idle, out := take(), take()
	idle()
	p.Trim()
	if n := mem.live.Load(); n != 1 {
		t.Errorf("%d blocks after Trim, of which one is out", n)
	}
	out()
	if n := mem.live.Load(); n != 0 {
		t.Errorf("%d blocks are kept", n)
	}
	take()()
	take()()
	if n := mem.live.Load(); n != 1 {
		t.Errorf("%d blocks for two after each other", n)
	}
	p.Close()
	if n := mem.live.Load(); n != 0 {
		t.Errorf("%d blocks after Close", n)
	}
}
