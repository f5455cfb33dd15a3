package cpu

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wno-psabi
// #include "cpu.h"
import "C"

import (
	"errors"
	"fmt"

	"vidfilter/denoise"
)

// isas lists the instruction sets, fastest first.
var isas = []struct {
	name string
	id   C.int
}{
	{"avx512", C.VD_AVX512},
	{"avx2", C.VD_AVX2},
	{"plain", C.VD_PLAIN},
}

// ISAs returns the instruction sets that this machine can run, fastest first. "plain" is always
// among them.
func ISAs() []string {
	var names []string
	for _, i := range isas {
		if C.vd_has(i.id) != 0 {
			names = append(names, i.name)
		}
	}
	return names
}

// Engine filters on the CPU. Its methods may be called from several goroutines.
type Engine struct {
	isa   string
	id    C.int
	share func(n int, do func(i int))
	heap  heap
}

// New returns an engine with an instruction set of [ISAs], "" for the fastest. share runs do for
// 0..n-1, in any order, and returns when all calls have; threads is how many it runs at a time.
// The caller must close the engine.
func New(isa string, threads int, share func(n int, do func(i int))) (*Engine, error) {
	if threads < 1 {
		return nil, fmt.Errorf("denoise: %d threads", threads)
	}
	for _, i := range isas {
		if (isa == "" || isa == i.name) && C.vd_has(i.id) != 0 {
			return &Engine{isa: i.name, id: i.id, share: share}, nil
		}
	}
	return nil, fmt.Errorf("denoise: this CPU has no instruction set %q: choose from %v", isa, ISAs())
}

// ISA returns the name of the instruction set in use.
func (e *Engine) ISA() string { return e.isa }

// Rate returns about how many luma pixels one core denoises in a second, in 4:2:0: what a core of
// 2023 does at 3.5 GHz. It is for telling people what to expect.
func (e *Engine) Rate(t denoise.Tier) float64 { return rates[e.isa][t] }

var rates = map[string]map[denoise.Tier]float64{
	"avx512": {denoise.Fast: 24e6, denoise.Good: 6e6, denoise.Best: 4e6},
	"avx2":   {denoise.Fast: 19e6, denoise.Good: 5e6, denoise.Best: 3.3e6},
	"plain":  {denoise.Fast: 6e6, denoise.Good: 1.6e6, denoise.Best: 1.1e6},
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
