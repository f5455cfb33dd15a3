package kernels

// #include "cpu.h"
import "C"

import (
	"context"
	"runtime"
	"sync/atomic"
	"unsafe"

	"vidfilter/pipeline"
)

// tileRows is the number of rows that a worker filters before it looks for other work. The rows
// above and below a tile are converted twice; at this height that costs little.
const tileRows = 64

// frameJob is one frame being filtered: one or two fields, cut into tiles that workers take in
// order.
type frameJob struct {
	ctx    context.Context
	fields *[2]C.vf_job // separate, since cgo searches whole allocations passed to C for pointers
	tiles  [2]grid
	next   atomic.Int64
}

// grid is the tiles of a field.
type grid struct{ across, down, width int }

func (g grid) count() int { return g.across * g.down }

// run filters tiles until none is left or the context ends.
func (j *frameJob) run(isa C.int, scratch unsafe.Pointer) {
	total := j.tiles[0].count() + j.tiles[1].count()
	for j.ctx.Err() == nil {
		n := int(j.next.Add(1)) - 1
		if n >= total {
			return
		}
		k := 0
		if n >= j.tiles[0].count() {
			k, n = 1, n-j.tiles[0].count()
		}
		job, g := &j.fields[k], j.tiles[k]
		x, y := n%g.across*g.width, n/g.across*tileRows
		C.vf_tile(isa, job, scratch, C.int(x), C.int(y),
			min(C.int(x+g.width), job.width), min(C.int(y+tileRows), job.height))
	}
}

// cpuBilateral is the bilateral filter on the CPU.
type cpuBilateral struct {
	cpu    *CPU
	params Params
	format pipeline.Format // that the jobs' constants belong to
	job    frameJob
	pinner runtime.Pinner
}

func newCPUBilateral(c *CPU, p Params) *cpuBilateral {
	f := &cpuBilateral{cpu: c, params: p}
	f.job.fields = new([2]C.vf_job)
	return f
}

// run filters in into out, which has the same format.
func (f *cpuBilateral) run(ctx context.Context, out, in *pipeline.Frame) error {
	if f.format != in.Format {
		if err := f.configure(in.Format); err != nil {
			return err
		}
	}
	f.point(out, in)
	defer f.unpoint()
	j := &f.job
	j.ctx = ctx
	j.next.Store(0)
	f.cpu.share(min(f.cpu.threads, j.tiles[0].count()+j.tiles[1].count()), j.run)
	return context.Cause(ctx)
}

// configure computes the constants of a format.
func (f *cpuBilateral) configure(format pipeline.Format) error {
	t, err := newTransform(format)
	if err != nil {
		return err
	}
	for k := range f.job.fields {
		fillJob(&f.job.fields[k], format, f.params, t)
	}
	f.format = format
	return nil
}

// point points the jobs at two frames. C may keep pointers into Go memory only while it is pinned;
// pinning leaves memory of Alloc alone.
func (f *cpuBilateral) point(out, in *pipeline.Frame) {
	from, n := fieldsOf(in, in.Interlaced)
	to, _ := fieldsOf(out, in.Interlaced)
	width := int(C.vf_tile_width())
	f.job.tiles = [2]grid{}
	for k := range n {
		pointJob(&f.job.fields[k], to[k], from[k], &f.pinner)
		w, h := from[k].width, from[k].height
		f.job.tiles[k] = grid{(w + width - 1) / width, (h + tileRows - 1) / tileRows, width}
	}
}

func (f *cpuBilateral) unpoint() {
	f.pinner.Unpin()
	unpointJobs(f.job.fields)
	f.job.ctx = nil
}
