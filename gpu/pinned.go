package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/internal/machine"
	"vidfilter/pipeline"
)

// blocks are the pinned blocks in use, to recognize frames in pinned memory.
type blocks struct {
	mu  sync.RWMutex
	all []span // sorted by address
}

// span is the address range [start, end).
type span struct{ start, end uintptr }

func (b *blocks) add(s span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := b.find(s.start)
	b.all = slices.Insert(b.all, i, s)
}

// remove reports whether there was such a block.
func (b *blocks) remove(start uintptr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, ok := b.find(start)
	if ok {
		b.all = slices.Delete(b.all, i, i+1)
	}
	return ok
}

// hold reports whether all of s lies in one block.
func (b *blocks) hold(s span) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	i, found := b.find(s.start)
	if !found {
		i--
	}
	return i >= 0 && s.end <= b.all[i].end
}

func (b *blocks) find(start uintptr) (int, bool) {
	return slices.BinarySearchFunc(b.all, start, func(s span, at uintptr) int { return cmp.Compare(s.start, at) })
}

// Alloc returns pinned host memory, page-aligned and not cleared, which all GPUs copy from and to
// directly. It may be freed after Close.
func (b *Backend) Alloc(size int) (pipeline.Memory, error) {
	size = max(size, 1)
	b.closing.RLock()
	defer b.closing.RUnlock()
	if b.closed {
		return pipeline.Memory{}, errors.New("gpu: allocate from a closed backend")
	}
	m, err := b.units[0].pin(size)
	if err != nil {
		return pipeline.Memory{}, b.notPinned(err, int64(size))
	}
	start := uintptr(m.address)
	b.blocks.add(span{start, start + uintptr(size)})
	return pipeline.Memory{Bytes: unsafe.Slice((*byte)(m.address), size), Free: func() { b.unpin(m) }}, nil
}

func (b *Backend) notPinned(err error, size int64) error {
	err = b.units[0].failed(err, "pin %s of host memory, of which %s are free", megabytes(size), megabytes(machine.FreeMemory()))
	if e, ok := errors.AsType[*Error](err); ok && e.Code == int(cu.OutOfMemory) {
		e.hint = hintPinned
	}
	return err
}

// Input returns the allocator for decoder output. A decoder that gets no memory loses a picture,
// so if no more memory can be pinned it gets ordinary memory, which is copied more slowly.
func (b *Backend) Input() pipeline.Allocator { return input{b} }

type input struct{ *Backend }

func (in input) Alloc(size int) (pipeline.Memory, error) {
	m, err := in.Backend.Alloc(size)
	if err == nil {
		return m, nil
	}
	m, e := allocOrdinary(size)
	if e != nil {
		return m, err
	}
	in.ordinaryOnce.Do(func() { in.log.Debug(err.Error() + "; going on with memory that is not pinned") })
	return m, nil
}

// allocOrdinary returns unpinned memory, not cleared.
func allocOrdinary(size int) (pipeline.Memory, error) {
	p := ordinary(max(size, 1))
	if p == nil {
		return pipeline.Memory{}, fmt.Errorf("no %s of memory, of which %s are free", megabytes(int64(size)), megabytes(machine.FreeMemory()))
	}
	return pipeline.Memory{Bytes: unsafe.Slice((*byte)(p), size), Free: func() { freeOrdinary(p) }}, nil
}

// unpin frees a block.
func (b *Backend) unpin(m pinned) {
	b.closing.RLock()
	defer b.closing.RUnlock()
	if b.blocks.remove(uintptr(m.address)) && !b.closed {
		_ = b.units[0].work.do(m.unpin)
	}
	m.unmap()
}
