package cpu

// #include "cpu.h"
import "C"

import (
	"unsafe"

	"vidfilter/denoise/motion"
	"vidfilter/internal/isa"
)

// Pad is the padding of a Plane on each side, in samples that repeat the edge. The right side has
// twice as much.
const Pad = C.VD_PAD

// Plane is a padded plane on the C heap. Samples are one byte, or two above 8 bits. The caller owns
// the memory.
type Plane struct {
	At                   unsafe.Pointer // the first sample
	Pitch                int            // samples
	Width, Height, Depth int32
}

func (p Plane) c() C.vd_plane { return *(*C.vd_plane)(unsafe.Pointer(&p)) }

// Planes derives planes with an instruction set. The methods other than Pad compute rows y0 <= y <
// y1 of to. They read the padding of from, and do not set the padding of to.
type Planes isa.ISA

// Pad fills the padding of a plane.
func (s Planes) Pad(p Plane) { C.vd_pad(C.int(s), p.c()) }

// Smooth computes the finest level of the search, in bytes, with the coarse smoothing.
func (s Planes) Smooth(to, from Plane, y0, y1 int) {
	C.vd_smooth(C.int(s), to.c(), from.c(), 1, C.int(y0), C.int(y1))
}

// Halve computes the next coarser level.
func (s Planes) Halve(to, from Plane, y0, y1 int) {
	C.vd_halve(C.int(s), to.c(), from.c(), C.int(y0), C.int(y1))
}

// Right computes the plane half a pel to the right.
func (s Planes) Right(to, from Plane, y0, y1 int) {
	C.vd_right(C.int(s), to.c(), from.c(), C.int(y0), C.int(y1))
}

// Down computes the plane half a pel below.
func (s Planes) Down(to, from Plane, y0, y1 int) {
	C.vd_down(C.int(s), to.c(), from.c(), C.int(y0), C.int(y1))
}

// Vector is a motion.Vector on the C heap.
type Vector struct{ X, Y int16 }

// Search finds the vectors between two pictures, and gives the same vectors as motion.Search.
type Search struct {
	isa isa.ISA
	c   C.vd_search
}

// NewSearch returns a search of the picture from in the picture to. Their smoothed levels come
// finest first. half holds the finest level of to and its half-pel planes, by phase. found has room
// for a vector per cell of motion.Cell for each level, and refined for one per cell of
// motion.RefinedCell. The caller owns all the memory.
func NewSearch(set isa.ISA, s *motion.Search, from, to []Plane, half [4]Plane, found []*Vector, refined *Vector) *Search {
	out := &Search{isa: set, c: searchOf(s, len(from))}
	out.c.pilot = from[0].c()
	for i := range from {
		out.c.from[i], out.c.to[i] = from[i].c(), to[i].c()
	}
	out.c.refined = (*C.vd_vector)(unsafe.Pointer(refined))
	for i, v := range found {
		out.c.found[i] = (*C.vd_vector)(unsafe.Pointer(v))
	}
	for i := range half {
		out.c.half[i] = half[i].c()
	}
	return out
}

// Find finds the vectors of cell rows y0 <= y < y1 at a level, after the next coarser level.
func (s *Search) Find(level, y0, y1 int) {
	C.vd_find(C.int(s.isa), &s.c, C.int(level), C.int(y0), C.int(y1))
}

// Refine sets the refined vectors of cell rows y0 <= y < y1, after Find at all levels.
func (s *Search) Refine(y0, y1 int) { C.vd_refine(C.int(s.isa), &s.c, C.int(y0), C.int(y1)) }
