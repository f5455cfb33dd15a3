package kernels

// #cgo CFLAGS: -std=c11 -O3 -Wall
// #include "cpu.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"vidfilter/pipeline"
)

// isas lists the instruction sets of the CPU backend, fastest first.
var isas = []struct {
	name string
	id   C.int
}{
	{"avx512", C.VF_AVX512},
	{"avx2", C.VF_AVX2},
	{"plain", C.VF_PLAIN},
}

// ISAs returns the instruction sets that this machine can run, fastest first. "plain" is always
// among them.
func ISAs() []string {
	var names []string
	for _, i := range isas {
		if C.vf_has(i.id) != 0 {
			names = append(names, i.name)
		}
	}
	return names
}

func findISA(name string) (string, C.int, error) {
	for _, i := range isas {
		if (name == "" || name == i.name) && C.vf_has(i.id) != 0 {
			return i.name, i.id, nil
		}
	}
	return "", 0, fmt.Errorf("kernels: this CPU has no instruction set %q: choose from %v", name, ISAs())
}

// CPU is the backend that filters on the CPU's cores. All filters of a CPU share its threads:
// concurrent frames take turns, tile by tile.
type CPU struct {
	isa     string
	id      C.int
	threads int
	work    chan work
	scratch []unsafe.Pointer
	workers sync.WaitGroup
	close   sync.Once
}

var _ Backend = (*CPU)(nil)

type isaID = C.int

// work is one worker's share of a task.
type work struct {
	do   func(isa C.int, scratch unsafe.Pointer)
	done *sync.WaitGroup
}

// share runs do on n workers and returns when all have finished.
func (c *CPU) share(n int, do func(isa C.int, scratch unsafe.Pointer)) {
	var done sync.WaitGroup
	done.Add(n)
	for range n {
		c.work <- work{do, &done}
	}
	done.Wait()
}

// NewCPU starts a backend with the given number of threads (0: one for each core that Go may use)
// and an instruction set of ISAs ("": the fastest). The instruction set affects results in
// rounding only; the number of threads never does. The caller must close the backend.
func NewCPU(threads int, isa string) (*CPU, error) {
	if threads < 0 {
		return nil, fmt.Errorf("kernels: %d threads", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	name, id, err := findISA(isa)
	if err != nil {
		return nil, err
	}
	c := &CPU{isa: name, id: id, threads: threads, work: make(chan work)}
	for range threads {
		s := C.vf_alloc(C.vf_scratch_size())
		if s == nil {
			c.Close()
			return nil, errors.New("kernels: no memory for the CPU's scratch")
		}
		c.scratch = append(c.scratch, s)
	}
	for _, s := range c.scratch {
		c.workers.Go(func() {
			for w := range c.work {
				w.do(c.id, s)
				w.done.Done()
			}
		})
	}
	return c, nil
}

// Name returns a description such as "cpu (avx512, 8 threads)".
func (c *CPU) Name() string { return fmt.Sprintf("cpu (%s, %s)", c.isa, countThreads(c.threads)) }

func countThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// Input returns the CPU itself: it has only one kind of memory.
func (c *CPU) Input() pipeline.Allocator { return c }

// Held returns 0.
func (c *CPU) Held() int { return 0 }

// Alloc returns memory of the C heap, aligned to pipeline.PitchAlign and not cleared.
func (c *CPU) Alloc(size int) (pipeline.Memory, error) { return allocHost(size) }

func allocHost(size int) (pipeline.Memory, error) {
	p := C.vf_alloc(C.size_t(max(size, 1)))
	if p == nil {
		return pipeline.Memory{}, fmt.Errorf("kernels: allocate %d bytes: out of memory", size)
	}
	return pipeline.Memory{
		Bytes: unsafe.Slice((*byte)(p), size),
		Free:  func() { C.vf_free(p) },
	}, nil
}

// Close stops the threads. No filter of the backend may be in use.
func (c *CPU) Close() error {
	c.close.Do(func() {
		close(c.work)
		c.workers.Wait()
		for _, s := range c.scratch {
			C.vf_free(s)
		}
	})
	return nil
}
