package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Memory is a block of host memory outside the Go heap, to which C code and devices may keep
// pointers.
type Memory struct {
	Bytes []byte // at least as many as asked for
	Free  func() // gives the block back to the allocator; called once
}

// Allocator is the part of a backend that allocates the memory of frames: aligned to PitchAlign
// for the CPU, pinned for a GPU. It may be called, and its blocks freed, from any goroutines at
// once.
type Allocator interface {
	Alloc(size int) (Memory, error)
}

// ErrClosed is returned by a pool that was closed.
var ErrClosed = errors.New("pipeline: pool is closed")

// Pool keeps blocks for reuse. A new size frees the blocks of the old one, so a pool with two
// sizes in turn keeps nothing: give each producer of frames its own.
type Pool struct {
	alloc Allocator
	slots chan struct{} // one element per block that Get may still hand out
	done  chan struct{} // closed by Close

	mu     sync.Mutex // not held during alloc: a device's allocator may wait for a put
	size   int
	free   []Memory // all of them of this size
	out    int
	closed bool

	dropped int // how far the limit has fallen for lack of memory
}

// NewPool returns a pool from which Get hands out at most limit blocks at a time. Take is not
// counted.
func NewPool(alloc Allocator, limit int) *Pool {
	p := &Pool{alloc: alloc, slots: make(chan struct{}, limit), done: make(chan struct{})}
	for range limit {
		p.slots <- struct{}{}
	}
	return p
}

// Get returns a block of size bytes and a function that gives it back, from any goroutine; calling
// it again does nothing. Get blocks while limit blocks are out, which is the pipeline's
// backpressure. If there is no memory for another block, the limit falls to the blocks that are
// out, for good; with none out, Get fails. It returns the cause when ctx ends, and ErrClosed when
// the pool is closed, also while waiting.
func (p *Pool) Get(ctx context.Context, size int) ([]byte, func(), error) {
	for {
		if err := p.acquire(ctx); err != nil {
			return nil, nil, err
		}
		if b, put, err := p.takeLimited(size); put != nil || err != nil {
			return b, put, err
		}
	}
}

// takeLimited is take for a caller that has acquired a slot. Without memory it returns nothing at
// all, and the limit has fallen by one, in place of an error.
func (p *Pool) takeLimited(size int) ([]byte, func(), error) {
	release := func() { p.slots <- struct{}{} }
	b, put, err := p.take(size, release)
	if err == nil {
		return b, put, nil
	}
	if errors.Is(err, ErrClosed) || !p.shrink() {
		release()
		return nil, nil, err
	}
	return nil, nil, nil
}

// shrink lowers the limit by the caller's slot if another is left.
func (p *Pool) shrink() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped+1 >= cap(p.slots) || p.out+len(p.free) == 0 {
		return false
	}
	p.dropped++
	return true
}

func (p *Pool) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-p.slots:
		return nil
	default:
	}
	defer addWait(ctx, time.Now())
	select {
	case <-p.slots:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.done:
		return ErrClosed
	}
}

// Take is Get without the limit: it never waits for a block. Decoders need it, since they hold
// reference frames by their own rules and would wait for themselves. They are bounded by the
// number of frames that they may pass on.
func (p *Pool) Take(size int) ([]byte, func(), error) { return p.take(size, func() {}) }

// take returns a block; after runs once the block has come back.
func (p *Pool) take(size int, after func()) ([]byte, func(), error) {
	m, err := p.find(size)
	if err != nil {
		return nil, nil, err
	}
	var once sync.Once
	put := func() {
		once.Do(func() {
			p.put(m, size)
			after()
		})
	}
	return m.Bytes[:size:size], put, nil
}

// find reuses a free block or allocates one, and counts it as out.
func (p *Pool) find(size int) (Memory, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Memory{}, ErrClosed
	}
	var old []Memory
	if size != p.size {
		old, p.free, p.size = p.free, nil, size
	}
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		p.out++
		p.mu.Unlock()
		return m, nil
	}
	p.mu.Unlock()

	freeAll(old) // before allocating: both may not fit
	m, err := p.alloc.Alloc(size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return Memory{}, fmt.Errorf("pipeline: allocate a frame of %d bytes, %d in use: %w", size, p.out, err)
	}
	p.out++ // after a Close in the meantime, put frees it
	return m, nil
}

func (p *Pool) put(m Memory, size int) {
	p.mu.Lock()
	p.out--
	keep := !p.closed && size == p.size
	if keep {
		p.free = append(p.free, m)
	}
	p.mu.Unlock()
	if !keep {
		m.Free()
	}
}

func freeAll(blocks []Memory) {
	for _, m := range blocks {
		m.Free()
	}
}

// Trim frees idle blocks, and those that come back until a block is asked for again.
func (p *Pool) Trim() {
	p.mu.Lock()
	idle := p.free
	p.free, p.size = nil, -1 // no block has this size
	p.mu.Unlock()
	freeAll(idle)
}

// InUse returns the number of blocks that are out.
func (p *Pool) InUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out
}

// Close frees idle blocks and wakes every waiting Get. Blocks still out are freed when they come
// back. It may be called twice.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.free
	p.free = nil
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	p.mu.Unlock()
	freeAll(idle)
}

// NewFrame returns a frame in memory of the pool, and blocks like Get. Its samples are undefined.
func (p *Pool) NewFrame(ctx context.Context, format Format) (*Frame, error) {
	b, put, err := p.Get(ctx, format.bytes())
	if err != nil {
		return nil, err
	}
	return FrameIn(b, format, nil, put), nil
}

// TryFrame is NewFrame without waiting: it returns nil if all blocks are out.
func (p *Pool) TryFrame(format Format) (*Frame, error) {
	select {
	case <-p.slots:
	default:
		return nil, nil
	}
	b, put, err := p.takeLimited(format.bytes())
	if put == nil {
		return nil, err
	}
	return FrameIn(b, format, nil, put), nil
}

// TakeFrame is NewFrame without the limit, like Take. The frame takes props, but not if there is
// an error.
func (p *Pool) TakeFrame(format Format, props Props) (*Frame, error) {
	b, put, err := p.Take(format.bytes())
	if err != nil {
		return nil, err
	}
	return FrameIn(b, format, props, put), nil
}

func (f Format) bytes() int {
	_, _, size := f.PlanLayout(PitchAlign)
	return size
}

// Blank returns a frame in Go's memory with all samples 0.
func Blank(format Format) *Frame { return FrameIn(make([]byte, format.bytes()), format, nil, nil) }

// FrameIn returns a frame in a block that is laid out by PlanLayout(PitchAlign). The frame takes
// props; put runs once it is released.
func FrameIn(b []byte, format Format, props Props, put func()) *Frame {
	offsets, pitches, _ := format.PlanLayout(PitchAlign)
	var planes [4]Plane
	for i := range format.NumPlanes() {
		_, rows := format.PlaneSize(i)
		end := offsets[i] + pitches[i]*rows
		planes[i] = Plane{Data: b[offsets[i]:end:end], Pitch: pitches[i]}
	}
	return NewFrame(format, planes, props, put)
}
