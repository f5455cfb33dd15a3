package av

//#include "glue.h"
import "C"

import (
	"slices"
	"unsafe"

	"vidfilter/internal/units"
)

// The extras that some encoders hold.
const Alpha = "alpha"

var Grain = units.FilmGrain.String() // of AV1 (H.264 and HEVC have units)

// Extras names things in a video beside its pictures that are no units of pictures, and that few
// outputs keep, in the order in which they were found.
type Extras []string

func (e *Extras) add(name string) {
	if !slices.Contains(*e, name) {
		*e = append(*e, name)
	}
}

// AddStream adds the extras that an AVStream announces.
func (e *Extras) AddStream(stream unsafe.Pointer) {
	st := (*C.AVStream)(stream)
	if C.vf_has_alpha_mode(st) != 0 {
		e.add(Alpha)
	}
}

// AddFrame adds the extras of a decoded AVFrame.
func (e *Extras) AddFrame(frame unsafe.Pointer) {
	f := (*C.AVFrame)(frame)
	if g, _ := FilmGrain(frame); g != nil {
		e.add(Grain)
	}
	if C.vf_moves_picture(f) != 0 {
		e.add("pan and scan")
	}
	if !slices.Contains(*e, Alpha) && C.vf_transparent(f) != 0 {
		e.add(Alpha)
	}
}
