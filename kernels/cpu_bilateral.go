package kernels

// #include "cpu.h"
import "C"

import (
	"context"
	"runtime"

	"vidfilter/pipeline"
)

// tileRows is the number of rows that a worker filters before it looks for other work. The rows
// above and below a tile are converted twice; at this height that costs little.
const tileRows = 64

// grid is the tiles of a field.
type grid struct{ across, down, width int }

func (g grid) count() int { return g.across * g.down }

// cpuBilateral is the bilateral filter on the CPU. A frame is one or two fields, cut into tiles
// that workers take in order.
type cpuBilateral struct {
	cpu    *CPU
	params Bilateral
	format pipeline.Format // that the jobs' constants belong to
	jobs   *[2]C.vf_job    // one per field; separate, since cgo searches whole allocations for pointers
	tiles  [2]grid
	pinner runtime.Pinner
}

func newCPUBilateral(c *CPU, p Bilateral) *cpuBilateral {
	return &cpuBilateral{cpu: c, params: p, jobs: new([2]C.vf_job)}
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
	first := f.tiles[0].count()
	f.cpu.each(ctx, first+f.tiles[1].count(), func(worker, n int) {
		k := 0
		if n >= first {
			k, n = 1, n-first
		}
		job, g := &f.jobs[k], f.tiles[k]
		x, y := n%g.across*g.width, n/g.across*tileRows
		C.vf_tile(C.int(f.cpu.isa), job, f.cpu.scratch[worker], C.int(x), C.int(y),
			min(C.int(x+g.width), job.width), min(C.int(y+tileRows), job.height))
	})
	return context.Cause(ctx)
}

// configure computes the constants of a format.
func (f *cpuBilateral) configure(format pipeline.Format) error {
	t, err := newTransform(format)
	if err != nil {
		return err
	}
	for k := range f.jobs {
		fillJob(&f.jobs[k], format, f.params, t)
	}
	f.format = format
	return nil
}

// point points the jobs at two frames. C may keep pointers into Go memory only while it is pinned;
// pinning leaves memory of Alloc alone.
func (f *cpuBilateral) point(out, in *pipeline.Frame) {
	from, n := fieldsOf(in, in.Interlaced)
	to, _ := fieldsOf(out, in.Interlaced)
	const width = C.VF_TILE
	f.tiles = [2]grid{}
	for k := range n {
		pointJob(&f.jobs[k], to[k], from[k], &f.pinner)
		w, h := from[k].width, from[k].height
		f.tiles[k] = grid{(w + width - 1) / width, (h + tileRows - 1) / tileRows, width}
	}
}

func (f *cpuBilateral) unpoint() {
	f.pinner.Unpin()
	unpointJobs(f.jobs)
}
