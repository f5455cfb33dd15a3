package cpu

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wno-psabi
// #include "cpu.h"
import "C"

import (
	"errors"

	"vidfilter/denoise"
	"vidfilter/internal/isa"
)

// Engine filters on the CPU. Its methods may be called from several goroutines.
type Engine struct {
	isa   C.int
	share func(n int, do func(i int))
	heap  heap
}

// New returns an engine. share runs do for 0..n-1, in any order, and returns when all calls have.
// The caller must close the engine.
func New(set isa.ISA, share func(n int, do func(i int))) *Engine {
	return &Engine{isa: C.int(set), share: share}
}

// Rate returns about how many luma pixels one core denoises in a second, in 4:2:0: what a core of
// 2023 does at 3.5 GHz. It is for telling people what to expect.
func Rate(set isa.ISA, t denoise.Tier) float64 { return rates[set][t] }

var rates = map[isa.ISA]map[denoise.Tier]float64{
	isa.AVX512: {denoise.Fast: 24e6, denoise.Good: 6e6, denoise.Best: 4e6},
	isa.AVX2:   {denoise.Fast: 19e6, denoise.Good: 5e6, denoise.Best: 3.3e6},
	isa.Plain:  {denoise.Fast: 6e6, denoise.Good: 1.6e6, denoise.Best: 1.1e6},
}

// Close frees the engine's memory. Frames must have been released.
func (e *Engine) Close() { e.heap.trim() }

var errMemory = errors.New("denoise: out of memory")

const rowsPerTask = 32 // of planes: enough work to be worth handing over

// rows shares the rows of a plane.
func (e *Engine) rows(height int, do func(y0, y1 C.int)) {
	e.share((height+rowsPerTask-1)/rowsPerTask, func(i int) {
		do(C.int(i*rowsPerTask), C.int(min((i+1)*rowsPerTask, height)))
	})
}
