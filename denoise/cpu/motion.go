package cpu

// #include "cpu.h"
import "C"

import (
	"unsafe"

	"vidfilter/denoise/motion"
	"vidfilter/internal/isa"
)

// Pad is how many columns and rows a Plane has beyond each edge, alike the edge: to the right twice
// as many.
const Pad = C.VD_PAD

// Plane is a plane in the C heap, as the search reads it: samples of a byte, or of two if they are
// deeper than 8 bits.
type Plane struct {
	At                   unsafe.Pointer // the first sample
	Pitch                int            // samples
	Width, Height, Depth int32
}

func (p Plane) c() C.vd_plane { return *(*C.vd_plane)(unsafe.Pointer(&p)) }

// Planes makes planes of others with an instruction set: rows y0 <= y < y1. What is beyond the
// edges of the source must be set, and is set by Pad in the result.
type Planes isa.ISA

// Pad sets the samples beyond the edges.
func (s Planes) Pad(p Plane) { C.vd_pad(C.int(s), p.c()) }

// Smooth makes the first level that is searched, of bytes, with the coarser smoothing.
func (s Planes) Smooth(to, from Plane, y0, y1 int) {
	C.vd_smooth(C.int(s), to.c(), from.c(), 1, C.int(y0), C.int(y1))
}

// Halve makes the next level.
func (s Planes) Halve(to, from Plane, y0, y1 int) {
	C.vd_halve(C.int(s), to.c(), from.c(), C.int(y0), C.int(y1))
}

// Right makes the plane half a pel to the right.
func (s Planes) Right(to, from Plane, y0, y1 int) {
	C.vd_right(C.int(s), to.c(), from.c(), C.int(y0), C.int(y1))
}

// Down makes the plane half a pel below.
func (s Planes) Down(to, from Plane, y0, y1 int) {
	C.vd_down(C.int(s), to.c(), from.c(), C.int(y0), C.int(y1))
}

// Vector is a motion.Vector in the C heap.
type Vector struct{ X, Y int16 }

// Search finds the vectors between two pictures: the same as denoise/motion.
type Search struct {
	isa  isa.ISA
	Cell int
	c    C.vd_search
}

// NewSearch returns the search from a picture to another. The levels are smoothed, the finest
// first. The half-pel planes, by phase, are of the finest level of to. Each level has its field of
// vectors, and the first is the result.
func NewSearch(set isa.ISA, s *motion.Search, from, to []Plane, half [4]Plane, fields []*Vector) *Search {
	out := &Search{isa: set, Cell: s.Cell, c: C.vd_search{
		levels: C.int(len(from)), cell: C.int(s.Cell), penalty: C.int(s.Penalty), refine: C.int(s.Refined), pilot: from[0].c(),
	}}
	for i, v := range s.Length {
		out.c.length[i] = C.int(v)
	}
	for i := range from {
		out.c.from[i], out.c.to[i] = from[i].c(), to[i].c()
		out.c.field[i] = (*C.vd_vector)(unsafe.Pointer(fields[i]))
	}
	for i := range half {
		out.c.half[i] = half[i].c()
	}
	return out
}

// Find sets the vectors of rows y0 <= y < y1 of cells at one level. The next coarser one is done.
func (s *Search) Find(level, y0, y1 int) {
	C.vd_find(C.int(s.isa), &s.c, C.int(level), C.int(y0), C.int(y1))
}

// Refine improves the vectors of rows y0 <= y < y1 of cells of the finest level.
func (s *Search) Refine(y0, y1 int) { C.vd_refine(C.int(s.isa), &s.c, C.int(y0), C.int(y1)) }
