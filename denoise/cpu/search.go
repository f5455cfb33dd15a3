package cpu

// #include "cpu.h"
import "C"

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"vidfilter/denoise/motion"
)

func cells(samples, cell int) int { return (samples + cell - 1) / cell }

// searchOf returns a search without planes and vectors.
func searchOf(s *motion.Search, levels int) C.vd_search {
	out := C.vd_search{levels: C.int(levels), penalty: C.int(s.Penalty), refine: C.int(s.Refined)}
	for i, v := range s.Length {
		out.length[i] = C.int(v)
	}
	return out
}

// newSearch sets up the search from the frame to a neighbour. One without planes gets them later,
// and only for the refinement.
func (f *filter) newSearch(n *neighbour) error {
	levels := f.planes.levels
	size := aligned(C.sizeof_vd_search) + fieldSize(levels[0], motion.RefinedCell)
	if n.planes == nil {
		levels = levels[:1]
	} else {
		for _, p := range levels {
			size += fieldSize(p, motion.Cell)
		}
	}
	b, err := f.alloc(size)
	if err != nil {
		return err
	}
	s := (*C.vd_search)(b.take(C.sizeof_vd_search))
	*s = searchOf(f.search, len(levels))
	s.refined = (*C.vd_vector)(b.take(fieldSize(levels[0], motion.RefinedCell)))
	for l, p := range levels {
		s.from[l] = p
		if n.planes != nil {
			s.half, s.to[l] = n.planes.half, n.planes.levels[l]
			s.found[l] = (*C.vd_vector)(b.take(fieldSize(p, motion.Cell)))
		}
	}
	n.job = s
	return nil
}

func cellsOf(p C.vd_plane, cell int) int {
	return cells(int(p.width), cell) * cells(int(p.height), cell)
}

// fieldSize is the memory for a vector for each cell.
func fieldSize(p C.vd_plane, cell int) int { return aligned(C.sizeof_vd_vector * cellsOf(p, cell)) }

const cellRowsPerTask = 4

// cellRows shares the rows of cells of all neighbours at a level.
func (f *filter) cellRows(cell, level int, all []*neighbour, do func(n *neighbour, y0, y1 C.int)) {
	rows := cells(int(f.planes.levels[level].height), cell)
	each := (rows + cellRowsPerTask - 1) / cellRowsPerTask
	f.share(each*len(all), func(i int) {
		y := i % each * cellRowsPerTask
		do(all[i/each], C.int(y), C.int(min(y+cellRowsPerTask, rows)))
	})
}

// find finds the vectors to all neighbours, level by level.
func (f *filter) find(all []*neighbour) {
	for l := len(f.planes.levels) - 1; l >= 0; l-- {
		f.cellRows(motion.Cell, l, all, func(n *neighbour, y0, y1 C.int) {
			C.vd_find(f.isa, n.job, C.int(l), y0, y1)
		})
	}
}

// fitting returns the neighbours that resemble the frame where the vectors lead.
func (f *filter) fitting(all []*neighbour) []*neighbour {
	sums := make([]atomic.Int64, len(all))
	f.cellRows(motion.Cell, 0, all, func(n *neighbour, y0, y1 C.int) {
		sums[slices.Index(all, n)].Add(int64(C.vd_misfit(f.isa, n.job, y0, y1)))
	})
	most := int64(f.search.Misfit) * int64(cellsOf(f.planes.levels[0], motion.Cell))
	var fit []*neighbour
	for i, n := range all {
		if sums[i].Load() <= most {
			fit = append(fit, n)
		}
	}
	return fit
}

// refined returns the neighbours of the second pass, in order: those given, with vectors refined
// against the pilot, and those further away in the same directions.
func (f *filter) refined(near []*neighbour) ([]*neighbour, error) {
	for _, n := range near {
		n.job.pilot = f.rounded
	}
	f.cellRows(motion.RefinedCell, 0, near, f.refine)
	var before, after []*neighbour
	for _, n := range near {
		var err error
		switch n.distance {
		case -f.Near:
			before, err = f.beyond(n, -1)
			slices.Reverse(before)
		case f.Near:
			after, err = f.beyond(n, 1)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := f.refineFar(slices.Concat(before, after)); err != nil {
		return nil, err
	}
	return slices.Concat(before, near, after), nil
}

// beyond returns the frames further away than n, from the nearest on: the step is 1 or -1.
func (f *filter) beyond(n *neighbour, step int) (all []*neighbour, err error) {
	for d := f.Near + 1; d <= f.Far; d++ {
		far := f.at(step * d)
		if far == nil {
			break
		}
		far.along = n
		if err := f.newSearch(far); err != nil {
			return nil, err
		}
		far.job.reach = C.int(f.reach(far))
		all = append(all, far)
	}
	return all, nil
}

// reach is the longest vector to a far frame, in half-pels; 0 for a near one.
func (f *filter) reach(n *neighbour) int {
	if n.along == nil {
		return 0
	}
	return f.FarReach * max(n.distance, -n.distance)
}

// refineFar sets the vectors to far frames: those to the frames they lie beyond, longer and then
// refined. The planes of a few at a time are made for it, in the same memory.
func (f *filter) refineFar(all []*neighbour) error {
	if len(all) == 0 {
		return nil
	}
	b, err := f.alloc(f.passingSize())
	if err != nil {
		return err
	}
	f.passing = b
	luma := shapeOf(f.planes.levels[0])
	few := b.size / f.refinedSize()
	for some := range slices.Chunk(all, few) {
		b.used = 0
		var planes []halfPels
		var frames []*frame
		for _, n := range some {
			p := b.halves(b.plane(luma))
			n.job.half, n.job.pilot = p, f.rounded
			planes, frames = append(planes, p), append(frames, n.frame)
		}
		f.smooth(planes, frames, f.search.Coarse)
		f.cellRows(motion.RefinedCell, 0, some, func(n *neighbour, y0, y1 C.int) {
			width := C.int(cells(luma.width, motion.RefinedCell))
			extend(n.refined(y0*width, y1*width), n.along.refined(y0*width, y1*width), max(n.distance, -n.distance), f.Near)
			f.refine(n, y0, y1)
		})
	}
	return nil
}

// refinedSize is the memory of a far frame's planes for the refinement.
func (f *filter) refinedSize() int {
	luma := f.planes.levels[0]
	return shapeOf(luma).size() + halvesSize(luma)
}

// passingSize is the memory for planes of far frames: enough to refine the vectors to some, and for
// the second pass over any one component.
func (f *filter) passingSize() int {
	const refined = 3 // frames at a time
	size := refined * f.refinedSize()
	for c := range f.filtered.Each() {
		size = max(size, 2*(f.Far-f.Near)*shapeOf(f.frame.planes[c]).size())
	}
	return size
}

// refined is a part of the refined vectors.
func (n *neighbour) refined(from, to C.int) []C.vd_vector {
	return unsafe.Slice(n.job.refined, to)[from:]
}

// extend multiplies vectors by a fraction, rounding halves away from zero.
func extend(out, in []C.vd_vector, by, over int) {
	for i, v := range in {
		out[i] = C.vd_vector{x: C.int16_t(scale(int(v.x), by, over)), y: C.int16_t(scale(int(v.y), by, over))}
	}
}

func scale(v, by, over int) int {
	if v < 0 {
		return -scale(-v, by, over)
	}
	return (2*v*by + over) / (2 * over)
}

func (f *filter) refine(n *neighbour, y0, y1 C.int) { C.vd_refine(f.isa, n.job, y0, y1) }
