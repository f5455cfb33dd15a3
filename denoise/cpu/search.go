package cpu

// #include "cpu.h"
import "C"

import (
	"slices"
	"unsafe"
)

func cells(samples, cell int) int { return (samples + cell - 1) / cell }

// newSearch sets up the search from the frame to a neighbour.
func (f *filter) newSearch(n *neighbour) error {
	cell := f.Motion.Cell
	size := aligned(C.sizeof_vd_search)
	for _, p := range f.planes.levels {
		size += aligned(C.sizeof_vd_vector * cells(int(p.width), cell) * cells(int(p.height), cell))
	}
	b, err := f.alloc(size)
	if err != nil {
		return err
	}
	s := (*C.vd_search)(b.take(C.sizeof_vd_search))
	*s = C.vd_search{
		levels: C.int(len(f.planes.levels)), cell: C.int(cell),
		penalty: C.int(f.search.Penalty), refine: C.int(f.search.Refine),
	}
	for i, v := range f.search.Length {
		s.length[i] = C.int(v)
	}
	for i, p := range n.planes.half {
		s.half[i] = p
	}
	for l, p := range f.planes.levels {
		s.from[l], s.to[l] = p, n.planes.levels[l]
		count := cells(int(p.width), cell) * cells(int(p.height), cell)
		s.field[l] = (*C.vd_vector)(b.take(C.sizeof_vd_vector * count))
		if l == 0 {
			n.field = unsafe.Slice(s.field[l], count)
		}
	}
	n.job = s
	return nil
}

// find finds the vectors to all neighbours, level by level.
func (f *filter) find(all []*neighbour) {
	for l := len(f.planes.levels) - 1; l >= 0; l-- {
		rows := cells(int(f.planes.levels[l].height), f.Motion.Cell)
		f.share(rows*len(all), func(i int) {
			C.vd_find(f.id, all[i/rows].job, C.int(l), C.int(i%rows))
		})
	}
}

// fitting returns the neighbours that resemble the frame where the vectors lead.
func (f *filter) fitting(all []*neighbour) []*neighbour {
	rows := cells(int(f.planes.levels[0].height), f.Motion.Cell)
	sums := make([]int64, rows*len(all))
	f.share(len(sums), func(i int) {
		sums[i] = int64(C.vd_misfit(f.id, all[i/rows].job, C.int(i%rows)))
	})
	var fit []*neighbour
	for i, n := range all {
		total := int64(0)
		for _, s := range sums[i*rows:][:rows] {
			total += s
		}
		if total <= int64(f.search.Misfit)*int64(len(n.field)) {
			fit = append(fit, n)
		}
	}
	return fit
}

// refined returns the neighbours of the second pass, in order: those given, with vectors refined
// against the pilot, and those further away in the same directions.
func (f *filter) refined(near []*neighbour) ([]*neighbour, error) {
	f.refine(near)
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
	f.refine(before)
	f.refine(after)
	return slices.Concat(before, near, after), nil
}

// beyond returns the frames further away than n, from the nearest on: the step is 1 or -1. Their
// vectors are those of n, longer.
func (f *filter) beyond(n *neighbour, step int) (all []*neighbour, err error) {
	for d := f.Near + 1; d <= f.Far; d++ {
		far, err := f.neighbour(step * d)
		if err != nil {
			return nil, err
		}
		if far == nil {
			break
		}
		extend(far.field, n.field, d, f.Near)
		all = append(all, far)
	}
	return all, nil
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

func (f *filter) refine(all []*neighbour) {
	rows := cells(int(f.pilot[0].height), f.Motion.Cell)
	for _, n := range all {
		n.job.pilot = f.pilot[0]
	}
	f.share(rows*len(all), func(i int) {
		C.vd_refine(f.id, all[i/rows].job, C.int(i%rows))
	})
}
