package cpu

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wno-psabi
// #include "cpu.h"
import "C"

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"unsafe"

	motion "vidfilter/denoise/cpu"
	search "vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// Engine is the interlace.Engine for the CPU. Its pictures are complete when Fill returns.
type Engine struct {
	isa    C.int
	make   motion.Planes
	each   Each
	blocks [kinds]*pipeline.Pool // a pool reuses blocks of one size
}

var _ interlace.Engine = (*Engine)(nil)

// Each calls do for 0 to n-1, in any order and concurrently, and waits for the calls. When the
// context ends, it starts no more calls.
type Each func(ctx context.Context, n int, do func(i int))

// The kinds of memory blocks: rows of a field, estimates by pass, and a result.
const (
	ofLines = iota
	ofEstimate
	ofResult = ofEstimate + interlace.Passes
	kinds    = ofResult + 1
)

// New returns an engine that shares out its work with each. heap must allocate on the C heap.
func New(set isa.ISA, each Each, heap pipeline.Allocator) *Engine {
	learn()
	e := &Engine{isa: C.int(set), make: motion.Planes(set), each: each}
	for i := range e.blocks {
		e.blocks[i] = pipeline.NewPool(heap, 1)
	}
	return e
}

// learn copies interlace.Learned to the C code's variable.
var learn = sync.OnceFunc(func() {
	t := interlace.Learned()
	*(*interlace.Net)(unsafe.Pointer(&C.vi_learned.net)) = t.Net
	for pass := range t.Code {
		p := &C.vi_learned.pass[pass]
		for i, code := range t.Class[pass] {
			p.code_of[i] = C.uint8_t(code)
		}
		for i, code := range t.Code[pass] {
			base := int16(1 << C.VI_WEIGHT_BITS)
			for k, w := range code {
				p.codes[i][k] = C.float(w) / (1 << C.VI_WEIGHT_BITS)
				p.whole[i][k+1] = C.int16_t(w)
				base -= w
			}
			p.whole[i][0], p.whole[i][C.VI_WEIGHTS+1] = C.int16_t(base), C.int16_t(code[C.VI_WEIGHTS-1])
		}
	}
})

const (
	pad   = C.VI_PAD
	align = pipeline.PitchAlign
)

func aligned(n int) int { return (n + align - 1) / align * align }

// shape is the size of a plane in samples, and its depth in bits.
type shape struct{ width, height, depth int }

func (s shape) pitch() int { return aligned(pad + s.width + 2*pad) }

// size returns the bytes of a padded plane.
func (s shape) size() int { return s.pitch() * (s.height + 2*pad) * ((s.depth + 7) / 8) }

// block is memory to be divided into planes. at is the start of the unused part.
type block struct {
	at      unsafe.Pointer
	release func()
}

func (e *Engine) alloc(kind, size int) (*block, error) {
	memory, release, err := e.blocks[kind].Take(size)
	if err != nil {
		return nil, fmt.Errorf("interlace: %w", err)
	}
	return &block{unsafe.Pointer(unsafe.SliceData(memory)), release}, nil
}

func (b *block) take(size int) unsafe.Pointer {
	at := b.at
	b.at = unsafe.Add(at, size)
	return at
}

func (b *block) plane(s shape) motion.Plane {
	first := unsafe.Add(b.take(s.size()), (pad*s.pitch()+pad)*((s.depth+7)/8))
	return motion.Plane{At: first, Pitch: s.pitch(), Width: int32(s.width), Height: int32(s.height), Depth: int32(s.depth)}
}

func c(p motion.Plane) C.vi_plane { return *(*C.vi_plane)(unsafe.Pointer(&p)) }

// halves are a plane and its half-pel planes, by a vector's phase.
type halves [4]motion.Plane

func (b *block) halves(p motion.Plane, s shape) halves {
	return halves{p, b.plane(s), b.plane(s), b.plane(s)}
}

// estimate is a full picture for a field, with the data that the next pass derives from it.
type estimate struct {
	parts    []halves
	levels   []motion.Plane               // for the search, finest first
	searched int                          // index of the component for the search
	half     halves                       // half-pel planes of the finest level
	vectors  [neighbours][]*motion.Vector // by level
	own      *block
}

const neighbours = len(interlace.Neighbours)

// field holds the estimates of a field.
type field struct {
	engine    *Engine
	parts     []plane.Component // components of the frame
	searched  int
	shiftX    int
	shiftY    int
	bottom    bool
	estimates [interlace.Passes]*estimate
}

// Retire implements interlace.Field. Jobs end with Fill.
func (*field) Retire() {}

// Release frees the estimates.
func (f *field) Release() {
	for pass := range f.estimates {
		f.drop(pass)
	}
}

func (f *field) drop(pass int) {
	if e := f.estimates[pass]; e != nil {
		e.own.release()
		f.estimates[pass] = nil
	}
}

// parity returns the first row of component i that the field contains.
func (f *field) parity(i int) C.int {
	if f.bottom && f.parts[i].Height > 1 {
		return 1
	}
	return 0
}

func (f *field) shifts(i int) (x, y C.int) {
	if i == 0 {
		return 0, 0
	}
	return C.int(f.shiftX), C.int(f.shiftY)
}

func placeOf(c plane.Component) C.vi_place {
	return C.vi_place{pitch: C.ptrdiff_t(c.Pitch), step: C.int(c.Step), shift: C.int(c.Shift)}
}

func shapeOf(c plane.Component) shape { return shape{c.Width, c.Height, c.Depth} }

// Prepare computes the first estimate of a field.
func (e *Engine) Prepare(ctx context.Context, f *pipeline.Frame, which plane.Field) (interlace.Field, error) {
	info := f.Layout.Info()
	out := &field{
		engine: e, parts: interlace.ComponentsOf(f, plane.Whole), searched: interlace.Searched(f.Layout),
		shiftX: info.SubX, shiftY: info.SubY, bottom: which == plane.Bottom,
	}
	own := interlace.ComponentsOf(f, which)
	size := 0
	for _, c := range own {
		size += shapeOf(c).size()
	}
	b, err := e.alloc(ofLines, size)
	if err != nil {
		return nil, err
	}
	defer b.release()
	lines := make([]motion.Plane, len(own))
	for i, c := range own {
		lines[i] = b.plane(shapeOf(c))
	}
	e.rows(ctx, lines, func(i int, y0, y1 int) {
		C.vi_load(e.isa, c(lines[i]), (*C.uint8_t)(&own[i].Data[0]), placeOf(own[i]), C.int(y0), C.int(y1))
	})
	e.pad(ctx, lines...)
	first, err := out.newEstimate(0)
	if err != nil {
		return nil, err
	}
	e.rows(ctx, first.planes(), func(i int, y0, y1 int) {
		C.vi_estimate(e.isa, c(first.parts[i][0]), c(lines[i]), out.parity(i), &C.vi_learned.net, C.int(y0), C.int(y1))
	})
	first.finish(ctx, e)
	out.estimates[0] = first
	if ctx.Err() != nil {
		out.Release()
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// newEstimate allocates an estimate. Only the estimate of pass 0 has all levels of the search.
func (f *field) newEstimate(pass int) (*estimate, error) {
	luma := shapeOf(f.parts[f.searched])
	luma = shape{max(luma.width, interlace.LeastSearched), max(luma.height, interlace.LeastSearched), depthSearched}
	levels := []shape{luma}
	for pass == 0 && len(levels) < search.Levels(luma.width, luma.height) {
		last := levels[len(levels)-1]
		levels = append(levels, shape{last.width / 2, last.height / 2, depthSearched})
	}
	size := 3 * luma.size()
	for _, l := range levels {
		size += l.size() + neighbours*vectorsSize(l)
	}
	for _, p := range f.parts {
		size += 4 * shapeOf(p).size()
	}
	b, err := f.engine.alloc(ofEstimate+pass, size)
	if err != nil {
		return nil, err
	}
	out := &estimate{own: b}
	for _, p := range f.parts {
		s := shapeOf(p)
		out.parts = append(out.parts, b.halves(b.plane(s), s))
	}
	for _, l := range levels {
		out.levels = append(out.levels, b.plane(l))
	}
	out.half = b.halves(out.levels[0], luma)
	for i := range out.vectors {
		for _, l := range levels {
			out.vectors[i] = append(out.vectors[i], (*motion.Vector)(b.take(vectorsSize(l))))
		}
	}
	out.searched = f.searched
	return out, nil
}

const depthSearched = search.Depth

func cells(samples int) int { return (samples + interlace.Search.Cell - 1) / interlace.Search.Cell }

func vectorsSize(s shape) int { return aligned(cells(s.width) * cells(s.height) * C.sizeof_vi_vector) }

func (s *estimate) planes() (all []motion.Plane) {
	for _, p := range s.parts {
		all = append(all, p[0])
	}
	return all
}

// finish derives the padding, the search levels and the half-pel planes for the next pass.
func (s *estimate) finish(ctx context.Context, e *Engine) {
	e.pad(ctx, s.planes()...)
	e.rows(ctx, s.levels[:1], func(_, y0, y1 int) { e.make.Smooth(s.levels[0], s.parts[s.searched][0], y0, y1) })
	e.pad(ctx, s.levels[0])
	for l := 1; l < len(s.levels); l++ {
		e.rows(ctx, s.levels[l:l+1], func(_, y0, y1 int) { e.make.Halve(s.levels[l], s.levels[l-1], y0, y1) })
		e.pad(ctx, s.levels[l])
	}
	all := append(s.parts[:len(s.parts):len(s.parts)], s.half)
	var whole, right, rest []motion.Plane
	for _, h := range all {
		whole, right, rest = append(whole, h[0]), append(right, h[1]), append(rest, h[2], h[3])
	}
	e.rows(ctx, whole, func(i, y0, y1 int) { e.make.Right(all[i][1], all[i][0], y0, y1) })
	e.pad(ctx, right...)
	e.rows(ctx, whole, func(i, y0, y1 int) {
		e.make.Down(all[i][2], all[i][0], y0, y1)
		e.make.Down(all[i][3], all[i][1], y0, y1)
	})
	e.pad(ctx, rest...)
}

// Fill completes the picture before it returns. After an error it may be called again.
func (e *Engine) Fill(ctx context.Context, j interlace.Job) (interlace.Wait, error) {
	var window [2*interlace.Reach + 1]*field
	for i, f := range j.Window {
		window[i], _ = f.(*field)
	}
	const reach = interlace.Reach / interlace.Passes
	for n := interlace.Reach - reach; n <= interlace.Reach+reach; n++ {
		f := window[n]
		if f == nil || f.estimates[1] != nil {
			continue
		}
		second, err := f.newEstimate(1)
		if err != nil {
			return nil, err
		}
		var found [neighbours]*motion.Vector
		for i, levels := range second.vectors {
			found[i] = levels[0]
		}
		e.better(ctx, &window, n, 0, second.planes(), found)
		second.finish(ctx, e)
		if ctx.Err() != nil {
			second.own.release()
			return nil, context.Cause(ctx)
		}
		f.estimates[1] = second
	}
	now := window[interlace.Reach]
	luma := now.estimates[1].levels[0]
	vectors := vectorsSize(shape{width: int(luma.Width), height: int(luma.Height)})
	size := neighbours * vectors
	for _, p := range now.parts {
		size += shapeOf(p).size()
	}
	b, err := e.alloc(ofResult, size)
	if err != nil {
		return nil, err
	}
	defer b.release()
	var out []motion.Plane
	for _, p := range now.parts {
		out = append(out, b.plane(shapeOf(p)))
	}
	var found [neighbours]*motion.Vector // refined from a copy, so that another attempt can begin anew
	for i, levels := range now.estimates[1].vectors {
		at := b.take(vectors)
		copy(unsafe.Slice((*byte)(at), vectors), unsafe.Slice((*byte)(unsafe.Pointer(levels[0])), vectors))
		found[i] = (*motion.Vector)(at)
	}
	e.better(ctx, &window, interlace.Reach, 1, out, found)
	parts := interlace.ComponentsOf(j.Out, plane.Whole)
	e.rows(ctx, out, func(i, y0, y1 int) {
		C.vi_save(e.isa, (*C.uint8_t)(&parts[i].Data[0]), placeOf(parts[i]), c(out[i]), C.int(y0), C.int(y1))
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// Later pictures do not read these estimates.
	for n, f := range window[:interlace.Reach+1] {
		if f != nil {
			f.drop(0)
		}
		if f != nil && n <= interlace.Reach-reach {
			f.drop(1)
		}
	}
	return nil, nil
}

// better runs a pass for field n of the window. The result goes to the planes out, and the vectors
// to found. The last pass refines the vectors there.
func (e *Engine) better(ctx context.Context, window *[2*interlace.Reach + 1]*field, n, pass int, out []motion.Plane, found [neighbours]*motion.Vector) {
	f := window[n]
	now := f.estimates[pass]
	there := func(place int) bool { return place >= 0 && place < len(window) && window[place] != nil }
	var to [neighbours]*field
	var real [neighbours]bool
	var searches [neighbours]*motion.Search
	for i := range to {
		place := interlace.StandIn(i, n, there)
		to[i], real[i] = window[place], place == n+interlace.Neighbours[i]
		vectors := append([]*motion.Vector{found[i]}, now.vectors[i][1:]...)
		other := to[i].estimates[pass]
		searches[i] = motion.NewSearch(isa.ISA(e.make), interlace.Search, now.levels, other.levels, other.half, vectors)
	}
	for l := len(now.levels) - 1; l >= 0; l-- {
		rows := cells(int(now.levels[l].Height))
		each := (rows + cellRowsPerTask - 1) / cellRowsPerTask
		e.each(ctx, each*neighbours, func(k int) {
			y := k % each * cellRowsPerTask
			if pass == 0 {
				searches[k/each].Find(l, y, min(y+cellRowsPerTask, rows))
			} else {
				searches[k/each].Refine(y, min(y+cellRowsPerTask, rows))
			}
		})
	}
	passes := make([]C.vi_pass, len(out))
	for i := range passes {
		p := &passes[i]
		*p = C.vi_pass{
			now: c(now.parts[i][0]), out: c(out[i]), parity: f.parity(i),
			cells_x: C.int(cells(int(now.levels[0].Width))), cells_y: C.int(cells(int(now.levels[0].Height))),
			learned: &C.vi_learned.pass[pass],
		}
		p.shift_x, p.shift_y = f.shifts(i)
		for k, other := range to {
			q := &p.to[k]
			for phase, h := range other.estimates[pass].parts[i] {
				q.half[phase] = c(h)
			}
			q.field, q.parity = (*C.vi_vector)(unsafe.Pointer(found[k])), other.parity(i)
			if real[k] {
				q.there = 1
			}
		}
	}
	e.rows(ctx, out, func(i, y0, y1 int) { C.vi_blend(e.isa, &passes[i], C.int(y0), C.int(y1)) })
}

// Depth returns 0 because Fill completes pictures.
func (*Engine) Depth() int { return 0 }

// Idle frees memory that is kept for reuse.
func (e *Engine) Idle() {
	for _, p := range e.blocks {
		p.Trim()
	}
}

const (
	rowsPerTask     = 32 // enough to outweigh the cost of a task, and a multiple of 4
	cellRowsPerTask = 4
)

// rows calls do for groups of rows y0 <= y < y1 of planes i, in parallel.
func (e *Engine) rows(ctx context.Context, all []motion.Plane, do func(i, y0, y1 int)) {
	tasks := make([]int, len(all)+1) // tasks before plane i
	for i, p := range all {
		tasks[i+1] = tasks[i] + (int(p.Height)+rowsPerTask-1)/rowsPerTask
	}
	e.each(ctx, tasks[len(all)], func(n int) {
		i := sort.SearchInts(tasks, n+1) - 1
		y := (n - tasks[i]) * rowsPerTask
		do(i, y, min(y+rowsPerTask, int(all[i].Height)))
	})
}

// pad fills the padding of planes.
func (e *Engine) pad(ctx context.Context, all ...motion.Plane) {
	e.each(ctx, len(all), func(i int) { e.make.Pad(all[i]) })
}
