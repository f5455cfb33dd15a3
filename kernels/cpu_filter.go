package kernels

// #include "cpu.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"vidfilter/pipeline"
)

// tileRows is how many rows of a tile are filtered before a worker looks for other work: enough for the
// rows above and below, which are converted twice, to cost little.
const tileRows = 64

// frameJob is one frame being filtered: up to two fields, cut into tiles that workers take in order.
type frameJob struct {
	ctx    context.Context
	fields *[2]C.vf_job // apart: cgo looks for pointers in all of what C is given a part of
	tiles  [2]grid
	next   atomic.Int64
	done   sync.WaitGroup
}

// grid is a field's tiles.
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

// cpuBilateral is the bilateral filter on the CPU. It is used from one goroutine at a time.
type cpuBilateral struct {
	cpu    *CPU
	pool   *pipeline.Pool
	params Params
	format pipeline.Format // what the jobs' constants are for
	job    frameJob
	pinner runtime.Pinner
}

// Bilateral returns a filter that holds no frame between calls. Its Process fails with the context's cause
// when that ends, at the next tile.
func (c *CPU) Bilateral(p Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Kernel != "" {
		return nil, fmt.Errorf("kernels: %q is not of the CPU's filter", p.Kernel)
	}
	f := &cpuBilateral{cpu: c, pool: pool, params: p}
	f.job.fields = new([2]C.vf_job)
	return f, nil
}

func (f *cpuBilateral) Held() int { return 0 }

func (f *cpuBilateral) Flush(context.Context, pipeline.Emit) error { return nil }

// Process takes in and emits one frame of the filter's pool.
func (f *cpuBilateral) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	out, err := f.filtered(ctx, in)
	in.Release()
	if err != nil {
		return err
	}
	return emit(out)
}

// filtered borrows in and returns its own result.
func (f *cpuBilateral) filtered(ctx context.Context, in *pipeline.Frame) (*pipeline.Frame, error) {
	if err := checkFrame(in); err != nil {
		return nil, err
	}
	out, err := f.pool.NewFrame(ctx, in.Format)
	if err != nil {
		return nil, err
	}
	out.CopyTiming(in)
	if err := f.run(ctx, out, in); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
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
	n := min(f.cpu.threads, j.tiles[0].count()+j.tiles[1].count())
	j.done.Add(n)
	for range n {
		f.cpu.work <- j
	}
	j.done.Wait()
	return context.Cause(ctx)
}

// configure works out the constants for a format.
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

// point lets the jobs work on two frames. C may keep pointers into Go memory only while it is pinned;
// memory of Alloc is left alone by that.
func (f *cpuBilateral) point(out, in *pipeline.Frame) {
	from, n := fieldsOf(in, in.Interlaced)
	to, _ := fieldsOf(out, in.Interlaced)
	width := int(C.vf_tile_width())
	f.job.tiles = [2]grid{}
	for k := range n {
		f.pointField(&f.job.fields[k], to[k], from[k])
		w, h := from[k].width, from[k].height
		f.job.tiles[k] = grid{(w + width - 1) / width, (h + tileRows - 1) / tileRows, width}
	}
}

func (f *cpuBilateral) pointField(j *C.vf_job, to, from field) {
	for i := range (pipeline.Format{Layout: from.layout}).NumPlanes() {
		src, dst := &from.planes[i].Data[0], &to.planes[i].Data[0]
		f.pinner.Pin(src)
		f.pinner.Pin(dst)
		j.src[i], j.dst[i] = (*C.uint8_t)(src), (*C.uint8_t)(dst)
		j.src_pitch[i], j.dst_pitch[i] = C.ptrdiff_t(from.planes[i].Pitch), C.ptrdiff_t(to.planes[i].Pitch)
	}
	j.width, j.height = C.int(from.width), C.int(from.height)
	j.chroma_read, j.chroma_write = C.int(from.chromaRead), C.int(from.chromaWrite)
	for i := range j.inner {
		sx, sy := 0, 0
		if i > 0 {
			sx, sy = pipeline.Format{Layout: from.layout}.ChromaShift()
		}
		x0, y0, x1, y1 := keptOutside(from.width, from.height, f.params.Radius, sx, sy)
		j.inner[i] = [4]C.int{C.int(x0), C.int(y0), C.int(x1), C.int(y1)}
	}
}

func (f *cpuBilateral) unpoint() {
	f.pinner.Unpin()
	for k := range f.job.fields {
		j := &f.job.fields[k]
		j.src, j.dst = [3]*C.uint8_t{}, [3]*C.uint8_t{}
	}
	f.job.ctx = nil
}
