package cpu

// #include "cpu.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// heap keeps freed blocks to use them again: filters ask for the same few sizes for each frame.
// Time is counted in frames.
type heap struct {
	mu   sync.Mutex
	now  int
	free map[int][]spare // by size, in the order of their release
	held atomic.Int64    // bytes in use and free
	made int             // blocks so far
}

// spare is a block that is not in use.
type spare struct {
	p     unsafe.Pointer
	since int
}

// block is memory of the C heap, aligned to 64 and not cleared.
type block struct {
	heap *heap
	p    unsafe.Pointer
	size int
	used int // handed out
}

// alloc returns a block, or nil if there is no memory.
func (h *heap) alloc(size int) *block {
	h.mu.Lock()
	defer h.mu.Unlock()
	if list := h.free[size]; len(list) > 0 {
		p := list[len(list)-1].p
		h.free[size] = list[:len(list)-1]
		return &block{heap: h, p: p, size: size}
	}
	p := C.vd_alloc(C.size_t(size))
	if p == nil {
		return nil
	}
	h.held.Add(int64(size))
	h.made++
	return &block{heap: h, p: p, size: size}
}

// patience is for how many frames a block may lie about: longer than a window.
const patience = 64

// pass counts a frame and frees blocks that have not been used for long, as after a change of size.
func (h *heap) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	h.drop(h.now - patience)
}

// trim frees all blocks that are not in use.
func (h *heap) trim() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(h.now)
}

// drop frees blocks released no later than then. The caller holds the lock.
func (h *heap) drop(then int) {
	for size, list := range h.free {
		for len(list) > 0 && list[0].since <= then {
			C.vd_free(list[0].p)
			h.held.Add(int64(-size))
			list = list[1:]
		}
		h.free[size] = list
	}
}

// release gives the block back. It is harmless for nil.
func (b *block) release() {
	if b == nil {
		return
	}
	h := b.heap
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.free == nil {
		h.free = map[int][]spare{}
	}
	h.free[b.size] = append(h.free[b.size], spare{b.p, h.now})
	b.p = nil
}

const align = 64

func aligned(n int) int { return (n + align - 1) / align * align }

// take hands out the next part of a block.
func (b *block) take(size int) unsafe.Pointer {
	p := unsafe.Add(b.p, b.used)
	b.used += aligned(size)
	if b.used > b.size {
		panic("denoise: a block is too small")
	}
	return p
}

const (
	pad     = C.VD_PAD
	padding = 3 * pad // to the left and to the right of rows, together
)

// pitchOf is in samples: an odd number of cache lines, so that the rows of a patch do not compete
// for the same places in the cache.
func pitchOf(width int) int { return aligned(width+padding) | align }

// shape is the size of a plane and the depth of its samples.
type shape struct{ width, height, depth int }

func shapeOf(p C.vd_plane) shape { return shape{int(p.width), int(p.height), int(p.depth)} }

func (s shape) sampleBytes() int { return (s.depth + 7) / 8 }

// smaller is the shape of a plane 1<<shift times smaller each way.
func (s shape) smaller(shift int) shape { return shape{s.width >> shift, s.height >> shift, s.depth} }

// size is the memory of a plane with its padding.
func (s shape) size() int {
	return aligned((s.height+2*pad)*pitchOf(s.width)*s.sampleBytes() + 2*align)
}

// plane takes a plane from a block.
func (b *block) plane(s shape) C.vd_plane {
	pitch := pitchOf(s.width)
	p := unsafe.Add(b.take(s.size()), align+pad*pitch*s.sampleBytes())
	return C.vd_plane{
		at: p, pitch: C.ptrdiff_t(pitch),
		width: C.int(s.width), height: C.int(s.height), depth: C.int(s.depth),
	}
}
