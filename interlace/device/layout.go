package device

// #include "cuda/interlace_args.h"
import "C"

import (
	"unsafe"

	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/kernels"
)

// Shape is what the fields of a run have in common: the components of their frames.
type Shape struct {
	Components [C.VI_PLANES]device.Size // of frames; those that a layout lacks are empty
	Depth      int                      // bits of a sample, in a byte or two
	Shift      int                      // of a sample in the two bytes of a frame's
}

// Layout says where the components of fields of one shape lie in their memory.
type Layout struct {
	Field int // bytes of memory for each field
	args  C.vi_args
}

const (
	align  = 256 // of components, in bytes
	atOnce = 4   // samples are loaded at a time
)

// NewLayout plans the memory for fields of a shape.
func NewLayout(s Shape) *Layout {
	l := &Layout{}
	l.args.depth, l.args.shift = C.int32_t(s.Depth), C.int32_t(s.Shift)
	for i, size := range s.Components {
		if size == (device.Size{}) {
			continue
		}
		pitch := roundUp(roundUp(size.Width, atOnce)*((s.Depth+7)/8), align)
		_, _, top, _ := plane.Top.Rows(size.Height)
		_, _, bottom, _ := plane.Bottom.Rows(size.Height)
		l.args.plane[i] = C.vi_plane{
			offset: C.uint64_t(l.Field), pitch: C.int32_t(pitch), width: C.int32_t(size.Width),
			rows: [2]C.int32_t{C.int32_t(top), C.int32_t(bottom)}, height: C.int32_t(size.Height),
		}
		l.Field += pitch * top
	}
	return l
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Samples are the components of a frame or a field in the device's memory.
type Samples [C.VI_PLANES]device.Samples

func (s *Samples) forDevice() (all [C.VI_PLANES]C.vi_samples) {
	for i, c := range s {
		all[i] = C.vi_samples{
			at: C.uint64_t(c.Addr), pitch: C.int32_t(c.Pitch), step: C.int32_t(c.Step),
			width: C.int32_t(c.Width), height: C.int32_t(c.Height),
		}
	}
	return all
}

// Keep returns the runs that copy a field's own rows to its memory.
func (l *Layout) Keep(field uint64, from Samples) []device.Run {
	a := l.args
	a.now, a.source = C.uint64_t(field), from.forDevice()
	return []device.Run{tiled("interlace_lines", &a, &a.source)}
}

// Job is one picture to make.
type Job struct {
	Window [2*interlace.Reach + 1]uint64 // addresses of fields; 0 beyond the ends of a run
	Bottom bool                          // the field in the middle has rows 1, 3, 5, ... of the frame
	Result Samples
}

// Fill returns the runs that make a picture.
func (l *Layout) Fill(j Job) []device.Run {
	a := l.args
	a.result = j.Result.forDevice()
	if j.Bottom {
		a.bottom = 1
	}
	now, before, after := j.Window[interlace.Reach], j.Window[interlace.Reach-1], j.Window[interlace.Reach+1]
	if before == 0 {
		before = after
	}
	if after == 0 {
		after = before
	}
	a.now, a.before, a.after = C.uint64_t(now), C.uint64_t(before), C.uint64_t(after)
	return []device.Run{tiled("interlace_fill", &a, &a.result)}
}

// As in cuda/interlace_lines.cu and interlace_fill.cu.
const width, height, threads = 128, 8, 256

// tiled is a run whose blocks each take so many samples of a component across and down.
func tiled(name string, a *C.vi_args, of *[C.VI_PLANES]C.vi_samples) device.Run {
	n := 0
	for i, s := range of {
		a.begin[i] = C.int32_t(n)
		columns := kernels.Blocks(int(s.width), width)
		a.across[i] = C.int32_t(max(columns, 1))
		n += columns * kernels.Blocks(int(s.height), height)
	}
	own := *a
	return device.Run{Kernel: named(name, int(a.depth)), Launch: kernels.Launch{
		Grid: [2]int{n, 1}, Block: [2]int{threads, 1},
		Args: unsafe.Pointer(&own), ArgsSize: unsafe.Sizeof(own),
	}}
}
