package cpu

// #cgo CFLAGS: -std=c11 -O3 -Wall
// #include "cpu.h"
import "C"

import (
	"context"
	"fmt"
	"sort"
	"unsafe"

	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// Engine makes frames of fields on the CPU.
type Engine struct {
	isa    C.int
	each   Each
	blocks *pipeline.Pool
}

var _ interlace.Engine = (*Engine)(nil)

// Each runs do for 0..n-1, in any order, and returns when all calls have, or when those under way
// have once the context ends.
type Each func(ctx context.Context, n int, do func(i int))

// New returns an engine whose work is shared by each. Its memory is of the C heap.
func New(set isa.ISA, each Each, heap pipeline.Allocator) *Engine {
	return &Engine{isa: C.int(set), each: each, blocks: pipeline.NewPool(heap, 1)}
}

// field has the rows of a field.
type field struct {
	planes  []C.vi_plane
	parity  C.int
	release func()
}

// Retire does nothing: no job outlives its call.
func (*field) Retire() {}

// Release gives the memory back.
func (f *field) Release() { f.release() }

const (
	pad   = C.VI_PAD
	align = pipeline.PitchAlign
)

func aligned(n int) int { return (n + align - 1) / align * align }

// shape returns the pitch of a component's rows in samples, and the bytes that they take.
func shape(c plane.Component) (pitch, size int) {
	pitch = aligned(c.Width + 2*pad)
	return pitch, pitch * (c.Height + 2*pad) * ((c.Depth + 7) / 8)
}

func placeOf(c plane.Component) C.vi_place {
	return C.vi_place{pitch: C.ptrdiff_t(c.Pitch), step: C.int(c.Step), shift: C.int(c.Shift)}
}

// Prepare copies the rows of a field.
func (e *Engine) Prepare(ctx context.Context, f *pipeline.Frame, which plane.Field) (interlace.Field, error) {
	parts := interlace.ComponentsOf(f, which)
	size := 0
	for _, c := range parts {
		_, n := shape(c)
		size += n
	}
	memory, release, err := e.blocks.Take(size)
	if err != nil {
		return nil, fmt.Errorf("interlace: %w", err)
	}
	out := &field{release: release}
	if which == plane.Bottom {
		out.parity = 1
	}
	heights := make([]int, len(parts))
	at := unsafe.Pointer(unsafe.SliceData(memory))
	for i, c := range parts {
		pitch, n := shape(c)
		first := unsafe.Add(at, (pad*pitch+pad)*((c.Depth+7)/8))
		out.planes = append(out.planes, C.vi_plane{
			at: first, pitch: C.ptrdiff_t(pitch), width: C.int(c.Width), height: C.int(c.Height), depth: C.int(c.Depth),
		})
		at, heights[i] = unsafe.Add(at, n), c.Height
	}
	e.rows(ctx, heights, func(i int, y0, y1 C.int) {
		C.vi_load(e.isa, out.planes[i], (*C.uint8_t)(&parts[i].Data[0]), placeOf(parts[i]), y0, y1)
	})
	for _, p := range out.planes {
		C.vi_pad(p)
	}
	if ctx.Err() != nil {
		release()
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// Fill ends with the result.
func (e *Engine) Fill(ctx context.Context, j interlace.Job) (interlace.Wait, error) {
	var window [len(j.Window)]*field
	for i, f := range j.Window {
		window[i], _ = f.(*field)
	}
	now, before, after := window[interlace.Reach], window[interlace.Reach-1], window[interlace.Reach+1]
	if before == nil {
		before = after
	}
	if after == nil {
		after = before
	}
	parts := interlace.ComponentsOf(j.Out, plane.Whole)
	heights := make([]int, len(parts))
	for i, c := range parts {
		heights[i] = c.Height
	}
	e.rows(ctx, heights, func(i int, y0, y1 C.int) {
		f := C.vi_fields{now: now.planes[i], before: before.planes[i], after: after.planes[i], parity: now.parity}
		if heights[i] == 1 {
			f.parity = 0
		}
		C.vi_fill(e.isa, (*C.uint8_t)(&parts[i].Data[0]), placeOf(parts[i]), &f, y0, y1)
	})
	return nil, context.Cause(ctx)
}

// Depth returns 0: results are there at once.
func (*Engine) Depth() int { return 0 }

// Idle frees the engine's memory.
func (e *Engine) Idle() { e.blocks.Trim() }

const rowsPerTask = 32 // enough work to be worth handing over

// rows shares the rows of several planes.
func (e *Engine) rows(ctx context.Context, heights []int, do func(i int, y0, y1 C.int)) {
	tasks := make([]int, len(heights)+1) // before those of plane i
	for i, h := range heights {
		tasks[i+1] = tasks[i] + (h+rowsPerTask-1)/rowsPerTask
	}
	e.each(ctx, tasks[len(heights)], func(n int) {
		i := sort.SearchInts(tasks, n+1) - 1
		y := (n - tasks[i]) * rowsPerTask
		do(i, C.int(y), C.int(min(y+rowsPerTask, heights[i])))
	})
}
