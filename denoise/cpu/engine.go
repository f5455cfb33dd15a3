package cpu

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wno-psabi
// #cgo LDFLAGS: -lm
// #include "cpu.h"
import "C"

import (
	"context"
	"errors"
	"sort"

	"vidfilter/denoise"
	"vidfilter/denoise/plane"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// Engine filters on the CPU.
type Engine struct {
	isa  C.int
	each Each
	ctx  context.Context // of the call
	heap heap
}

var _ denoise.Engine = (*Engine)(nil)

// Each runs do for 0..n-1, in any order, and returns when all calls have, or when those under way
// have once the context ends.
type Each func(ctx context.Context, n int, do func(i int))

// New returns an engine whose work is shared by each.
func New(set isa.ISA, each Each) *Engine {
	return &Engine{isa: C.int(set), each: each, ctx: context.Background()}
}

// Prepare copies the samples of a frame or a field.
func (e *Engine) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (denoise.Picture, error) {
	e.ctx = ctx
	p, err := e.prepare(f, field)
	if err == nil && ctx.Err() != nil {
		p.Release()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Copies returns true.
func (e *Engine) Copies() bool { return true }

// Denoise ends with the result.
func (e *Engine) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	e.ctx = ctx
	window := make([]*frame, len(j.Window))
	for i, p := range j.Window {
		window[i] = p.(*frame)
	}
	if err := e.filter(j.Out, window, j.Centre, j.Noise, j.Settings, j.Past...); err != nil {
		return nil, err
	}
	return nil, context.Cause(ctx)
}

// Depth returns 0: results are there at once.
func (e *Engine) Depth() int { return 0 }

// Idle frees the engine's memory. Pictures must have been released.
func (e *Engine) Idle() { e.heap.trim() }

// share is each until the end of the call's context.
func (e *Engine) share(n int, do func(i int)) { e.each(e.ctx, n, do) }

// Rate returns about how many luma pixels one core denoises in a second, in 4:2:0, by a core of
// 2023 at 3.5 GHz. It is for estimates shown to users.
func Rate(set isa.ISA, t denoise.Tier) float64 { return rates[set][t] }

var rates = map[isa.ISA]map[denoise.Tier]float64{
	isa.AVX512: {denoise.Fast: 25e6, denoise.Good: 7e6, denoise.Best: 5e6},
	isa.AVX2:   {denoise.Fast: 22e6, denoise.Good: 6.5e6, denoise.Best: 4.8e6},
	isa.Plain:  {denoise.Fast: 6e6, denoise.Good: 1.6e6, denoise.Best: 1.1e6},
}

var errMemory = errors.New("denoise: out of memory")

const rowsPerTask = 32 // of planes: enough work to be worth handing over

// rows shares the rows of planes.
func (e *Engine) rows(all []C.vd_plane, do func(i int, y0, y1 C.int)) {
	tasks := make([]int, len(all)+1) // before those of plane i
	for i, p := range all {
		tasks[i+1] = tasks[i] + (int(p.height)+rowsPerTask-1)/rowsPerTask
	}
	e.share(tasks[len(all)], func(n int) {
		i := sort.SearchInts(tasks, n+1) - 1
		y := C.int((n - tasks[i]) * rowsPerTask)
		do(i, y, min(y+rowsPerTask, all[i].height))
	})
}
