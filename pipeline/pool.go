package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Memory is a block of host memory outside the Go heap that C code and devices may keep pointers to.
type Memory struct {
	Bytes []byte
	Free  func() // gives the block back to the allocator; called once
}

// Allocator is the part of a backend that makes the memory frames live in: aligned to PitchAlign for the
// CPU, pinned for a GPU. It may be called from any goroutine.
type Allocator interface {
	Alloc(size int) (Memory, error)
}

// ErrClosed is returned by a pool that was closed.
var ErrClosed = errors.New("pipeline: pool is closed")

// Pool keeps blocks for reuse. A new size (the stream changed) lets the blocks of the old one go.
type Pool struct {
	alloc Allocator
	slots chan struct{} // one element a block that Get may still hand out

	mu     sync.Mutex
	size   int
	free   []Memory
	out    int
	closed bool
}

// NewPool returns a pool from which Get hands out at most limit blocks at a time.
func NewPool(alloc Allocator, limit int) *Pool {
	p := &Pool{alloc: alloc, slots: make(chan struct{}, limit)}
	for range limit {
		p.slots <- struct{}{}
	}
	return p
}

// Get returns a block of at least size bytes and the function that gives it back. It blocks while limit
// blocks are out: this is the pipeline's backpressure.
func (p *Pool) Get(ctx context.Context, size int) ([]byte, func(), error) {
	select {
	case <-p.slots:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	b, put, err := p.Take(size)
	if err != nil {
		p.slots <- struct{}{}
		return nil, nil, err
	}
	return b, func() { put(); p.slots <- struct{}{} }, nil
}

// Take is Get without the limit: it never blocks. Decoders need it, because they hold on to reference
// frames by their own rules and would wait for themselves; what bounds them is the number of frames that
// they may hand on.
func (p *Pool) Take(size int) ([]byte, func(), error) {
	m, err := p.take(size)
	if err != nil {
		return nil, nil, err
	}
	var once sync.Once
	return m.Bytes[:size], func() { once.Do(func() { p.put(m) }) }, nil
}

func (p *Pool) take(size int) (Memory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Memory{}, ErrClosed
	}
	if size != p.size {
		p.drop()
		p.size = size
	}
	p.out++
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		return m, nil
	}
	m, err := p.alloc.Alloc(size)
	if err != nil {
		p.out--
		return Memory{}, fmt.Errorf("pipeline: allocate a frame of %d bytes, %d in use: %w", size, p.out, err)
	}
	return m, nil
}

func (p *Pool) put(m Memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out--
	if p.closed || len(m.Bytes) != p.size {
		m.Free()
		return
	}
	p.free = append(p.free, m)
}

func (p *Pool) drop() {
	for _, m := range p.free {
		m.Free()
	}
	p.free = nil
}

// InUse returns how many blocks are out.
func (p *Pool) InUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out
}

// Close frees what lies idle; blocks still out are freed when they come back. It may be called twice.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.drop()
}

// NewFrame returns a frame in memory of the pool, blocking as Get does. Its samples are whatever the
// block held before.
func (p *Pool) NewFrame(ctx context.Context, format Format) (*Frame, error) {
	offsets, pitches, size := format.PlanLayout(PitchAlign)
	b, put, err := p.Get(ctx, size)
	if err != nil {
		return nil, err
	}
	var planes [4]Plane
	for i := range format.NumPlanes() {
		_, rows := format.PlaneSize(i)
		end := offsets[i] + pitches[i]*rows
		planes[i] = Plane{Data: b[offsets[i]:end:end], Pitch: pitches[i]}
	}
	return NewFrame(format, planes, nil, put), nil
}
