package av

//#include "glue.h"
import "C"

import (
	"slices"
	"unsafe"
)

// Alpha is the extra that some encoders hold.
const Alpha = "alpha"

// Extras names things in a video beside its pictures that the filter and the encoders do not keep,
// in the order in which they were found.
type Extras []string

func (e *Extras) add(name string) {
	if !slices.Contains(*e, name) {
		*e = append(*e, name)
	}
}

// AddStream adds the extras that an AVStream announces.
func (e *Extras) AddStream(stream unsafe.Pointer) {
	st := (*C.AVStream)(stream)
	if C.vf_has_dovi(st) != 0 {
		e.add("Dolby Vision")
	}
	if C.vf_has_alpha_mode(st) != 0 {
		e.add(Alpha)
	}
}

var frameExtras = []struct {
	kind C.enum_AVFrameSideDataType
	name string
}{
	{C.AV_FRAME_DATA_DOVI_METADATA, "Dolby Vision"},
	{C.AV_FRAME_DATA_DOVI_RPU_BUFFER, "Dolby Vision"},
	{C.AV_FRAME_DATA_DYNAMIC_HDR_PLUS, "HDR10+"},
	{C.AV_FRAME_DATA_DYNAMIC_HDR_VIVID, "HDR Vivid"},
	{C.AV_FRAME_DATA_FILM_GRAIN_PARAMS, "film grain parameters"},
	{C.AV_FRAME_DATA_AFD, "active format"},
	{C.AV_FRAME_DATA_S12M_TIMECODE, "timecodes of pictures"},
}

// AddFrame adds the extras of a decoded AVFrame.
func (e *Extras) AddFrame(frame unsafe.Pointer) {
	f := (*C.AVFrame)(frame)
	for _, x := range frameExtras {
		if C.av_frame_get_side_data(f, x.kind) != nil {
			e.add(x.name)
		}
	}
	if C.vf_moves_picture(f) != 0 {
		e.add("pan and scan")
	}
	if !slices.Contains(*e, Alpha) && C.vf_transparent(f) != 0 {
		e.add(Alpha)
	}
}

// AddFirst adds extras that count only in the first AVFrame: a timecode that starts at 0 means
// nothing.
func (e *Extras) AddFirst(frame unsafe.Pointer) {
	if C.vf_has_timecode((*C.AVFrame)(frame)) != 0 {
		e.add("timecodes of pictures")
	}
}
