package kernels

// #cgo CFLAGS: -std=c11 -O3 -Wall
// #include "cpu.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	interlace "vidfilter/interlace/cpu"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// CPU is the backend that filters on the CPU's cores. All filters of a CPU share its threads:
// concurrent frames take turns, tile by tile.
type CPU struct {
	Host
	isa     isa.ISA
	threads int
	work    chan work
	scratch []unsafe.Pointer // one per worker
	workers sync.WaitGroup
	close   sync.Once
}

var _ Backend = (*CPU)(nil)

// work is one worker's share of a task.
type work struct {
	do   func(worker int)
	done *sync.WaitGroup
}

// each runs do for 0..n-1 on the workers, in order, and returns when all calls have, or when those
// under way have once the context ends.
func (c *CPU) each(ctx context.Context, n int, do func(worker, i int)) {
	var next atomic.Int64
	var done sync.WaitGroup
	share := work{func(worker int) {
		for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			do(worker, i)
		}
	}, &done}
	for range min(c.threads, n) {
		done.Add(1)
		c.work <- share
	}
	done.Wait()
}

// NewCPU starts a backend with the given number of threads (0: one for each core that Go may use)
// and an instruction set of [isa.Names] ("": the fastest). The instruction set affects results in
// rounding only. The number of threads never does. The caller must close the backend.
func NewCPU(threads int, isaName string) (*CPU, error) {
	if threads < 0 {
		return nil, fmt.Errorf("kernels: %d threads", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	set, err := isa.Find(isaName)
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	c := &CPU{isa: set, threads: threads, work: make(chan work)}
	for range threads {
		s := C.vf_alloc(C.vf_scratch_size())
		if s == nil {
			c.Close()
			return nil, errors.New("kernels: no memory for the CPU's scratch")
		}
		c.scratch = append(c.scratch, s)
	}
	for worker := range c.scratch {
		c.workers.Go(func() {
			for w := range c.work {
				w.do(worker)
				w.done.Done()
			}
		})
	}
	return c, nil
}

// Name returns a description such as "cpu (avx512, 8 threads)".
func (c *CPU) Name() string { return fmt.Sprintf("cpu (%s, %s)", c.isa, countThreads(c.threads)) }

// Threads returns how many threads filter.
func (c *CPU) Threads() int { return c.threads }

func countThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// Input returns the CPU itself: it has only one kind of memory.
func (c *CPU) Input() pipeline.Allocator { return c }

// Held returns the deinterlacer's pictures in progress. Other filters keep no results.
func (c *CPU) Held(s Stage) int {
	if _, is := s.(Deinterlace); is {
		return interlace.Depth
	}
	return 0
}

// Host allocates memory of the C heap, aligned to pipeline.PitchAlign and not cleared.
type Host struct{}

// Alloc implements pipeline.Allocator.
func (Host) Alloc(size int) (pipeline.Memory, error) {
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
