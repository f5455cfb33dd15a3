package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Memory is a block of memory outside the Go heap, to which C code and devices may keep pointers.
// It is in host memory, in device memory, or in both for the same samples.
type Memory struct {
	Bytes  []byte // at least the requested size, or nil if the block is only in device memory
	Device DeviceSamples
	Free   func() // gives the block back to the allocator; called once
}

// bytes returns the first of the block's bytes.
func (m Memory) bytes(size int) []byte {
	if m.Bytes == nil {
		return nil
	}
	return m.Bytes[:size:size]
}

// Allocator is the part of a backend that allocates the memory of frames: aligned to PitchAlign
// for the CPU, pinned for a GPU. It may be called, and its blocks freed, from any goroutines at
// once.
type Allocator interface {
	Alloc(size int) (Memory, error)
}

// ErrClosed is returned by a pool that was closed.
var ErrClosed = errors.New("pipeline: pool is closed")

// Pool keeps blocks for reuse. A new size frees the blocks of the old one, so a pool with two sizes
// in turn keeps no blocks: give each producer of frames its own.
type Pool struct {
	alloc Allocator
	slots chan struct{} // one element per block that Get may still hand out
	done  chan struct{} // closed by Close

	device   Allocator // for frames of layouts that onDevice takes, or nil
	onDevice func(Layout) bool

	mu     sync.Mutex // not held during alloc: a device's allocator may wait for a put
	kind   kind
	free   []Memory // all of them of this kind
	out    int
	closed bool

	dropped int // how far the limit has fallen for lack of memory
	least   int // how far it may fall
}

// kind is the properties of blocks that can replace each other.
type kind struct {
	size   int
	device bool
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

// Get returns a block of size bytes and a function that gives it back, from any goroutine. Further
// calls have no effect. Get blocks while limit blocks are out, which is the pipeline's
// backpressure. If there is no memory for another block, the limit falls to the blocks that are
// out, for good; with no block out, Get fails, as it does if a Chain needs more. It returns the
// cause when ctx ends, and ErrClosed when the pool is closed, also while waiting.
func (p *Pool) Get(ctx context.Context, size int) ([]byte, func(), error) {
	m, put, err := p.get(ctx, kind{size: size})
	return m.bytes(size), put, err
}

func (p *Pool) get(ctx context.Context, k kind) (Memory, func(), error) {
	for {
		if err := p.acquire(ctx); err != nil {
			return Memory{}, nil, err
		}
		if m, put, err := p.takeLimited(k); put != nil || err != nil {
			return m, put, err
		}
	}
}

// takeLimited is take for a caller that has acquired a slot. Without memory it returns zero values,
// and the limit has fallen by one, in place of an error.
func (p *Pool) takeLimited(k kind) (Memory, func(), error) {
	release := func() { p.slots <- struct{}{} }
	m, put, err := p.take(k, release)
	if err == nil {
		return m, put, nil
	}
	if errors.Is(err, ErrClosed) || !p.shrink() {
		release()
		return Memory{}, nil, err
	}
	return Memory{}, nil, nil
}

// shrink lowers the limit by the caller's slot if another is left.
func (p *Pool) shrink() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit()-1 < max(p.least, 1) || p.out+len(p.free) == 0 {
		return false
	}
	p.dropped++
	return true
}

// limit is how many blocks may be out.
func (p *Pool) limit() int { return cap(p.slots) - p.dropped }

// keepRoom has Get fail rather than let the limit fall below least. It reports whether the limit is
// that high.
func (p *Pool) keepRoom(least int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.least = least
	return p.limit() >= least
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
func (p *Pool) Take(size int) ([]byte, func(), error) {
	m, put, err := p.take(kind{size: size}, func() {})
	return m.bytes(size), put, err
}

// take returns a block; after runs once the block has come back.
func (p *Pool) take(k kind, after func()) (Memory, func(), error) {
	m, err := p.find(k)
	if err != nil {
		return Memory{}, nil, err
	}
	var once sync.Once
	put := func() {
		once.Do(func() {
			p.put(m, k)
			after()
		})
	}
	return m, put, nil
}

// find reuses a free block or allocates one, and counts it as out.
func (p *Pool) find(k kind) (Memory, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Memory{}, ErrClosed
	}
	var old []Memory
	if k != p.kind {
		old, p.free, p.kind = p.free, nil, k
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
	from := p.alloc
	if k.device {
		from = p.device
	}
	m, err := from.Alloc(k.size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return Memory{}, fmt.Errorf("pipeline: allocate a frame of %d bytes, %d in use: %w", k.size, p.out, err)
	}
	p.out++ // after a Close in the meantime, put frees it
	return m, nil
}

func (p *Pool) put(m Memory, k kind) {
	p.mu.Lock()
	p.out--
	keep := !p.closed && k == p.kind
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
	p.free, p.kind = nil, kind{size: -1} // no block has this size
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

// OnDevice makes the pool take device memory from alloc for the layouts that takes selects. Their
// frames have Planes only if the blocks of alloc are in host memory as well. OnDevice must be
// called before the first frame is taken.
func (p *Pool) OnDevice(alloc Allocator, takes func(Layout) bool) {
	p.device, p.onDevice = alloc, takes
}

func (p *Pool) kindOf(format Format) kind {
	return kind{format.bytes(), p.device != nil && p.onDevice(format.Layout)}
}

// NewFrame returns a frame in memory of the pool, and blocks like Get. Its samples are undefined.
func (p *Pool) NewFrame(ctx context.Context, format Format) (*Frame, error) {
	m, put, err := p.get(ctx, p.kindOf(format))
	if err != nil {
		return nil, err
	}
	return m.frame(format, nil, put), nil
}

// TryFrame is NewFrame without waiting: it returns nil if all blocks are out.
func (p *Pool) TryFrame(format Format) (*Frame, error) {
	select {
	case <-p.slots:
	default:
		return nil, nil
	}
	m, put, err := p.takeLimited(p.kindOf(format))
	if put == nil {
		return nil, err
	}
	return m.frame(format, nil, put), nil
}

// FrameAfter is NewFrame for a filter with results in progress, which are blocks of the pool. While
// all blocks are out, it calls finish with one result less to leave in progress.
func (p *Pool) FrameAfter(ctx context.Context, format Format, results int, finish func(left int) error) (*Frame, error) {
	for ; results > 0; results-- {
		if out, err := p.TryFrame(format); out != nil || err != nil {
			return out, err
		}
		if err := finish(results - 1); err != nil {
			return nil, err
		}
	}
	return p.NewFrame(ctx, format)
}

// TakeFrame is NewFrame without the limit, like Take. The frame takes props, but not if there is
// an error.
func (p *Pool) TakeFrame(format Format, props Props) (*Frame, error) {
	m, put, err := p.take(p.kindOf(format), func() {})
	if err != nil {
		return nil, err
	}
	return m.frame(format, props, put), nil
}

func (m Memory) frame(format Format, props Props, put func()) *Frame {
	if m.Bytes == nil {
		f := NewFrame(format, [4]Plane{}, props, put)
		f.Device = m.Device
		return f
	}
	f := FrameIn(m.bytes(format.bytes()), format, props, put)
	f.Device = m.Device
	return f
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
