package cpu

// #include "cpu.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// heap keeps freed blocks to use them again: filters ask for the same few sizes for each frame.
type heap struct {
	mu   sync.Mutex
	free map[int][]unsafe.Pointer // by size
	held atomic.Int64             // bytes in use and free
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
		p := list[len(list)-1]
		h.free[size] = list[:len(list)-1]
		return &block{heap: h, p: p, size: size}
	}
	h.drop() // what lies there is of other sizes, perhaps of another video
	p := C.vd_alloc(C.size_t(size))
	if p == nil {
		return nil
	}
	h.held.Add(int64(size))
	return &block{heap: h, p: p, size: size}
}

// drop frees blocks that are not in use. The caller holds the lock.
func (h *heap) drop() {
	for size, list := range h.free {
		for _, p := range list {
			C.vd_free(p)
			h.held.Add(int64(-size))
		}
	}
	clear(h.free)
}

func (h *heap) trim() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
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
		h.free = map[int][]unsafe.Pointer{}
	}
	h.free[b.size] = append(h.free[b.size], b.p)
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

func pitchOf(width int) int { return aligned(width + padding) }

// planeSize is the memory of a plane with what lies beyond its edges.
func planeSize(width, height int) int { return (height+2*pad)*pitchOf(width) + 2*align }

// plane takes a plane from a block.
func (b *block) plane(width, height int) C.vd_plane {
	pitch := pitchOf(width)
	p := unsafe.Add(b.take(planeSize(width, height)), align+pad*pitch)
	return C.vd_plane{at: p, pitch: C.ptrdiff_t(pitch), width: C.int(width), height: C.int(height)}
}
