package cpu

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wno-psabi
// #include "cpu.h"
import "C"

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	motion "vidfilter/denoise/cpu"
	search "vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// Depth is the number of pictures in progress. While one waits for its slowest rows, the rows of
// others keep the cores busy.
const Depth = 2

// Engine is the interlace.Engine for the CPU. It makes estimates and pictures in the background.
type Engine struct {
	isa    C.int
	make   motion.Planes
	each   Each
	blocks [kinds]*pipeline.Pool // a pool reuses blocks of one size
}

var _ interlace.Engine = (*Engine)(nil)

// Each calls do for 0 to n-1, in any order and concurrently, and waits for the calls. When the
// context ends, it starts no more calls. It must be safe for concurrent use.
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

func (s shape) bytes() int { return (s.depth + 7) / 8 } // of a sample

// pitch returns the distance between rows in samples. It is an odd number of cache lines: the
// cache keeps few lines that are a large power of two apart.
func (s shape) pitch() int {
	return (aligned((pad+s.width+2*pad)*s.bytes()) | align) / s.bytes()
}

// size returns the bytes of a padded plane.
func (s shape) size() int { return s.pitch() * (s.height + 2*pad) * s.bytes() }

// block is memory to be divided into planes. at is the start of the unused part.
type block struct {
	at    unsafe.Pointer
	free  func()
	users atomic.Int32
}

// release frees the block after its last user.
func (b *block) release() {
	if b.users.Add(-1) == 0 {
		b.free()
	}
}

func (e *Engine) alloc(kind, size int) (*block, error) {
	memory, release, err := e.blocks[kind].Take(size)
	if err != nil {
		return nil, fmt.Errorf("interlace: %w", err)
	}
	return &block{at: unsafe.Pointer(unsafe.SliceData(memory)), free: release}, nil
}

func (b *block) take(size int) unsafe.Pointer {
	at := b.at
	b.at = unsafe.Add(at, size)
	return at
}

func (b *block) plane(s shape) motion.Plane {
	first := unsafe.Add(b.take(s.size()), (pad*s.pitch()+pad)*s.bytes())
	return motion.Plane{At: first, Pitch: s.pitch(), Width: int32(s.width), Height: int32(s.height), Depth: int32(s.depth)}
}

func c(p motion.Plane) C.vi_plane { return *(*C.vi_plane)(unsafe.Pointer(&p)) }

// halves are a plane and its half-pel planes, by a vector's phase.
type halves [4]motion.Plane

func (b *block) halves(p motion.Plane, s shape) halves {
	return halves{p, b.plane(s), b.plane(s), b.plane(s)}
}

// work is in progress or done.
type work struct {
	done chan struct{} // closed at the end
	err  error         // to be read after done is closed
}

// begin calls do in the background when the estimates that it reads are complete. It keeps their
// memory and the block to, which do writes.
func begin(to *block, reads []*estimate, do func() error) *work {
	w := &work{done: make(chan struct{})}
	to.users.Add(1)
	for _, s := range reads {
		s.own.users.Add(1)
	}
	go func() {
		defer close(w.done)
		defer to.release()
		for _, s := range reads {
			<-s.done
			w.err = cmp.Or(w.err, s.err)
		}
		if w.err == nil {
			w.err = do()
		}
		for _, s := range reads {
			s.own.release()
		}
	}()
	return w
}

func (w *work) wait(ctx context.Context) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// estimate is a full picture for a field, with the data that the next pass derives from it.
type estimate struct {
	*work
	parts    []halves
	levels   []motion.Plane               // for the search, finest first
	searched int                          // index of the component for the search
	half     halves                       // half-pel planes of the finest level
	coarser  [neighbours][]*motion.Vector // of pass 0: vectors of the levels above the finest
	found    [neighbours]*motion.Vector   // of pass 1: vectors of the pass before
	refined  [neighbours]*motion.Vector   // of pass 1
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
	estimates [interlace.Passes]*estimate // nil before their pass, and when no picture needs them
	read      *work                       // the first estimate
}

// Retire implements interlace.Field. Fill drops estimates that no later picture reads.
func (*field) Retire() {}

// Release waits until the first estimate, which reads the frame, is complete.
func (f *field) Release() {
	<-f.read.done
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

// Prepare begins the first estimate of a field.
func (e *Engine) Prepare(ctx context.Context, f *pipeline.Frame, which plane.Field) (interlace.Field, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
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
	first, err := out.newEstimate(0)
	if err != nil {
		return nil, err
	}
	first.work = begin(first.own, nil, func() error {
		b, err := e.alloc(ofLines, size)
		if err != nil {
			return err
		}
		defer b.free()
		lines := make([]motion.Plane, len(own))
		for i, c := range own {
			lines[i] = b.plane(shapeOf(c))
		}
		e.rows(ctx, lines, func(i int, y0, y1 int) {
			C.vi_load(e.isa, c(lines[i]), (*C.uint8_t)(&own[i].Data[0]), placeOf(own[i]), C.int(y0), C.int(y1))
		})
		e.pad(ctx, lines...)
		e.rows(ctx, first.planes(), func(i int, y0, y1 int) {
			C.vi_estimate(e.isa, c(first.parts[i][0]), c(lines[i]), out.parity(i), &C.vi_learned.net, C.int(y0), C.int(y1))
		})
		return first.finish(ctx, e)
	})
	out.read = first.work
	return out, nil
}

// newEstimate allocates an estimate of the field. Only pass 0 has all levels of the search.
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
		size += l.size() + neighbours*vectorsSize(l, search.Cell)
	}
	if pass == 1 {
		size += neighbours * vectorsSize(luma, search.RefinedCell)
	}
	for _, p := range f.parts {
		size += 4 * shapeOf(p).size()
	}
	b, err := f.engine.alloc(ofEstimate+pass, size)
	if err != nil {
		return nil, err
	}
	out := &estimate{own: b}
	b.users.Add(1)
	f.estimates[pass] = out
	for _, p := range f.parts {
		s := shapeOf(p)
		out.parts = append(out.parts, b.halves(b.plane(s), s))
	}
	for _, l := range levels {
		out.levels = append(out.levels, b.plane(l))
	}
	out.half = b.halves(out.levels[0], luma)
	vectors := func(l shape, cell int) *motion.Vector { return (*motion.Vector)(b.take(vectorsSize(l, cell))) }
	for i := range neighbours {
		if pass == 1 {
			out.found[i], out.refined[i] = vectors(luma, search.Cell), vectors(luma, search.RefinedCell)
			continue
		}
		for _, l := range levels[1:] {
			out.coarser[i] = append(out.coarser[i], vectors(l, search.Cell))
		}
	}
	out.searched = f.searched
	return out, nil
}

const depthSearched = search.Depth

func cells(samples, cell int) int { return (samples + cell - 1) / cell }

func vectorsSize(s shape, cell int) int {
	return aligned(cells(s.width, cell) * cells(s.height, cell) * C.sizeof_vi_vector)
}

func (s *estimate) planes() (all []motion.Plane) {
	for _, p := range s.parts {
		all = append(all, p[0])
	}
	return all
}

// finish derives the padding, the search levels and the half-pel planes for the next pass.
func (s *estimate) finish(ctx context.Context, e *Engine) error {
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
	return context.Cause(ctx)
}

// Fill begins the picture, and the second estimates that it reads.
func (e *Engine) Fill(ctx context.Context, j interlace.Job) (interlace.Wait, error) {
	var window window
	for i, f := range j.Window {
		window[i], _ = f.(*field)
	}
	const reach = interlace.Reach / interlace.Passes
	for n := interlace.Reach - reach; n <= interlace.Reach+reach; n++ {
		if f := window[n]; f != nil && f.estimates[1] == nil {
			second, err := f.newEstimate(1)
			if err != nil {
				return nil, err
			}
			p := window.pass(n, 0)
			second.work = begin(second.own, p.reads(), func() error {
				p.run(ctx, e, second.planes(), second)
				return second.finish(ctx, e)
			})
		}
	}
	now := window[interlace.Reach]
	size := 0
	for _, p := range now.parts {
		size += shapeOf(p).size()
	}
	b, err := e.alloc(ofResult, size)
	if err != nil {
		return nil, err
	}
	p := window.pass(interlace.Reach, 1)
	result := begin(b, p.reads(), func() error {
		var out []motion.Plane
		for _, p := range now.parts {
			out = append(out, b.plane(shapeOf(p)))
		}
		p.run(ctx, e, out, p.now)
		parts := interlace.ComponentsOf(j.Out, plane.Whole)
		e.rows(ctx, out, func(i, y0, y1 int) {
			C.vi_save(e.isa, (*C.uint8_t)(&parts[i].Data[0]), placeOf(parts[i]), c(out[i]), C.int(y0), C.int(y1))
		})
		return context.Cause(ctx)
	})
	// Later pictures do not read these estimates.
	for n, f := range window[:interlace.Reach+1] {
		if f != nil {
			f.drop(0)
		}
		if f != nil && n <= interlace.Reach-reach {
			f.drop(1)
		}
	}
	return result.wait, nil
}

type window [2*interlace.Reach + 1]*field

// pass is a pass for a field.
type pass struct {
	number int
	field  *field
	now    *estimate
	to     [neighbours]*field    // the neighbours or their stand-ins
	others [neighbours]*estimate // of them
	real   [neighbours]bool      // they are no stand-ins
}

// pass returns a pass for field n.
func (w *window) pass(n, number int) *pass {
	p := &pass{number: number, field: w[n], now: w[n].estimates[number]}
	there := func(place int) bool { return place >= 0 && place < len(w) && w[place] != nil }
	for i := range p.to {
		place := interlace.StandIn(i, n, there)
		p.to[i], p.others[i], p.real[i] = w[place], w[place].estimates[number], place == n+interlace.Neighbours[i]
	}
	return p
}

func (p *pass) reads() []*estimate { return append(p.others[:], p.now) }

// run writes the planes out. Pass 0 also writes the vectors found, and pass 1 refines those.
func (p *pass) run(ctx context.Context, e *Engine, out []motion.Plane, found *estimate) {
	var searches [neighbours]*motion.Search
	for i, other := range p.others {
		levels := append([]*motion.Vector{found.found[i]}, p.now.coarser[i]...)
		searches[i] = motion.NewSearch(isa.ISA(e.make), interlace.Search, p.now.levels, other.levels, other.half, levels, found.refined[i])
	}
	// rows calls do for the rows of cells of all searches.
	rows := func(level motion.Plane, cell int, do func(s *motion.Search, y0, y1 int)) {
		all := cells(int(level.Height), cell)
		each := (all + cellRowsPerTask - 1) / cellRowsPerTask
		e.each(ctx, each*neighbours, func(k int) {
			y := k % each * cellRowsPerTask
			do(searches[k/each], y, min(y+cellRowsPerTask, all))
		})
	}
	cell, vectors := search.Cell, &found.found
	if p.number == 0 {
		for l, level := range slices.Backward(p.now.levels) {
			rows(level, cell, func(s *motion.Search, y0, y1 int) { s.Find(l, y0, y1) })
		}
	} else {
		cell, vectors = search.RefinedCell, &found.refined
		rows(p.now.levels[0], cell, (*motion.Search).Refine)
	}
	luma := p.now.levels[0]
	passes := make([]C.vi_pass, len(out))
	for i := range passes {
		q := &passes[i]
		*q = C.vi_pass{
			now: c(p.now.parts[i][0]), out: c(out[i]), parity: p.field.parity(i),
			cell_shift: C.int(bits.TrailingZeros(uint(cell))),
			cells_x:    C.int(cells(int(luma.Width), cell)), cells_y: C.int(cells(int(luma.Height), cell)),
			learned: &C.vi_learned.pass[p.number],
		}
		q.shift_x, q.shift_y = p.field.shifts(i)
		for k, other := range p.others {
			to := &q.to[k]
			for phase, h := range other.parts[i] {
				to.half[phase] = c(h)
			}
			to.field, to.parity = (*C.vi_vector)(unsafe.Pointer(vectors[k])), p.to[k].parity(i)
			if p.real[k] {
				to.there = 1
			}
		}
	}
	e.rows(ctx, out, func(i, y0, y1 int) { C.vi_blend(e.isa, &passes[i], C.int(y0), C.int(y1)) })
}

// Depth returns the number of pictures in progress.
func (*Engine) Depth() int { return Depth }

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
