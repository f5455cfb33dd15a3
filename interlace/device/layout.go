package device

// #include "cuda/interlace_args.h"
import "C"

import (
	"encoding/binary"
	"unsafe"

	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/kernels"
)

// Shape is what the fields of a run have in common: the components of their frames.
type Shape struct {
	Components     [C.VI_PLANES]device.Size // of frames; those that a layout lacks are empty
	ShiftX, ShiftY int                      // log2 of the chroma subsampling
	Searched       int                      // component, 0 or 1
	Depth          int                      // bits of a sample, in a byte or two
	Shift          int                      // of a sample in the two bytes of a frame's
}

// Layout says where all that is made of fields of one shape lies in its memory.
type Layout struct {
	Field    int // bytes of memory for a field: its rows, and its vectors
	Estimate int // bytes of memory for an estimate of its picture
	Work     int // bytes of memory for the work on one picture after another

	shape     Shape
	args      C.vi_args
	colours   *device.Layout    // of an estimate; the searched component is its first
	alpha     *device.Layout    // nil: there is none
	order     [3]int            // the components of colours
	after     int               // offset of alpha in an estimate
	vectors   int               // offset in the memory of a field
	scratch   [C.VI_PLANES]rows // in the memory for the work
	searching int               // offset there
}

// rows are those of a component in the memory for the work.
type rows struct{ offset, pitch int }

const (
	align  = 256 // of components, in bytes
	atOnce = 8   // samples are stored at a time
	cell   = 8   // side of the search's cells
)

// NewLayout plans the memory for fields of a shape.
func NewLayout(s Shape) (l *Layout, err error) {
	l = &Layout{shape: s, order: [3]int{0, 1, 2}}
	l.order[0], l.order[s.Searched] = s.Searched, 0
	l.args.depth, l.args.shift = C.int32_t(s.Depth), C.int32_t(s.Shift)
	for i, size := range s.Components {
		if size == (device.Size{}) {
			continue
		}
		pitch := roundUp(roundUp(size.Width, atOnce)*((s.Depth+7)/8), align)
		_, _, top, _ := plane.Top.Rows(size.Height)
		_, _, bottom, _ := plane.Bottom.Rows(size.Height)
		p := C.vi_plane{
			offset: C.uint64_t(l.Field), pitch: C.int32_t(pitch), width: C.int32_t(size.Width),
			rows: [2]C.int32_t{C.int32_t(top), C.int32_t(bottom)}, height: C.int32_t(size.Height),
		}
		if i > 0 {
			p.shift_x, p.shift_y = C.int32_t(s.ShiftX), C.int32_t(s.ShiftY)
		}
		l.args.plane[i] = p
		l.Field += pitch * top
		l.scratch[i] = rows{l.Work, pitch}
		l.Work += pitch * size.Height
	}
	if err := l.estimates(); err != nil {
		return nil, err
	}
	across, down := l.colours.Cells()
	l.args.cells_x, l.args.cells_y = C.int32_t(across), C.int32_t(down)
	l.args.stride = C.int64_t(l.colours.VectorBytes(1))
	l.vectors = l.Field
	l.Field += l.colours.VectorBytes(C.VI_NEIGHBOURS)
	l.searching = l.Work
	l.Work += l.colours.Work
	return l, nil
}

// estimates plans the memory of an estimate as that of a picture for the denoiser.
func (l *Layout) estimates() (err error) {
	s := device.Shape{ShiftX: l.shape.ShiftX, ShiftY: l.shape.ShiftY, Depth: l.shape.Depth, Cell: cell, Searched: true}
	for i, c := range l.order {
		s.Planes[i] = l.shape.Components[c]
	}
	if l.colours, err = device.NewLayout(s); err != nil {
		return err
	}
	for i, c := range l.order {
		l.place(c, l.colours, i, 0)
	}
	l.Estimate = l.colours.Picture
	const alpha = 3
	if l.shape.Components[alpha] == (device.Size{}) {
		return nil
	}
	s.Planes = [3]device.Size{l.shape.Components[alpha]}
	if l.alpha, err = device.NewLayout(s); err != nil {
		return err
	}
	l.after = roundUp(l.Estimate, align)
	l.place(alpha, l.alpha, 0, l.after)
	l.Estimate = l.after + l.alpha.Picture
	return nil
}

// place sets where a component of an estimate is.
func (l *Layout) place(component int, of *device.Layout, i, from int) {
	offset, phase, pitch := of.Plane(i)
	l.args.estimate[component] = C.vi_phases{offset: C.uint64_t(uint64(from) + offset), phase: C.uint64_t(phase), pitch: C.int32_t(pitch)}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Table returns what blends read, for the device's memory: of each pass, the codes of the classes,
// and the weights of the codes.
func Table() (all []byte) {
	for pass := range interlace.Passes {
		all = append(all, interlace.Learned.Class[pass][:]...)
		for _, code := range interlace.Learned.Code[pass] {
			for i := range C.VI_WEIGHTS {
				w := int16(0)
				if i < len(code) {
					w = code[i]
				}
				all = binary.LittleEndian.AppendUint16(all, uint16(w))
			}
		}
	}
	return all
}

const bytesOfPass = C.VI_CLASSES + C.VI_CODES*C.VI_WEIGHTS*2

// net returns the weights of the first estimate.
func net(n *interlace.Net) (c C.vi_net) {
	set := func(to []C.float, from []float32) {
		for i := range to {
			to[i] = C.float(from[i])
		}
	}
	for i := range c.flat {
		set(c.flat[i][:], n.Flat[i][:])
	}
	for i := range c.pair {
		set(c.pair[i][:], n.Pair[i][:])
		set(c.centre[i][:], n.Centre[i][:])
		set(c.outer[i][:], n.Outer[i][:])
	}
	for i := range c.gate {
		set(c.gate[i][:], n.Gate[i][:])
		set(c.filter[i][:], n.Filter[i][:])
	}
	set(c.flat_bias[:], n.FlatBias[:])
	set(c.gate_bias[:], n.GateBias[:])
	c.mean, c.bias = C.float(n.Mean), C.float(n.Bias)
	return c
}

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
	return []device.Run{tiled("interlace_lines", &a, &a.source, rowsWidth, rowsHeight, rowsThreads)}
}

// First returns the runs that make the first estimate of a field.
func (l *Layout) First(field uint64, bottom bool, estimate, work uint64) []device.Run {
	a := l.args
	a.now, a.bottom = C.uint64_t(field), flag(bottom)
	made := l.made(work)
	a.result = made.forDevice()
	a.net = net(&interlace.Learned.Net)
	run := tiled("interlace_estimate", &a, &a.result, rowsWidth, 2*rowsHeight, rowsThreads)
	return append([]device.Run{run}, l.keep(estimate, made)...)
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// made is where an estimate is made, in the memory for the work.
func (l *Layout) made(work uint64) (all Samples) {
	for i, size := range l.shape.Components {
		all[i] = device.Samples{Addr: work + uint64(l.scratch[i].offset), Pitch: l.scratch[i].pitch, Step: (l.shape.Depth + 7) / 8, Size: size}
	}
	return all
}

// keep returns the runs that make of the rows of an estimate what the next ones read.
func (l *Layout) keep(estimate uint64, made Samples) []device.Run {
	var colours [3]device.Samples
	for i, c := range l.order {
		colours[i] = made[c]
	}
	runs := append(l.colours.Prepare(estimate, colours), l.colours.Smooth(estimate, interlace.Search.Coarse)...)
	if l.alpha != nil {
		runs = append(runs, l.alpha.Prepare(estimate+uint64(l.after), [3]device.Samples{made[3]})...)
	}
	return runs
}

// Neighbour is a field whose estimate another one is made better by.
type Neighbour struct {
	Estimate uint64
	Bottom   bool
	StandsIn bool // for one that there is not
}

// Job is an estimate to make better.
type Job struct {
	Pass       int    // counted from 0
	Field      uint64 // its memory
	Bottom     bool   // its rows are 1, 3, 5, ... of the frame
	Estimate   uint64
	Neighbours [C.VI_NEIGHBOURS]Neighbour // as in interlace.Neighbours
	Table      uint64                     // its address
	Work       uint64
}

// Better returns the runs that make the next estimate.
func (l *Layout) Better(j Job, estimate uint64) []device.Run {
	made := l.made(j.Work)
	return append(l.blend(j, made, 0), l.keep(estimate, made)...)
}

// Finish returns the runs that make the picture.
func (l *Layout) Finish(j Job, result Samples) []device.Run { return l.blend(j, result, l.shape.Shift) }

func (l *Layout) blend(j Job, to Samples, shift int) []device.Run {
	a := l.args
	a.now, a.bottom, a.shift, a.result = C.uint64_t(j.Estimate), flag(j.Bottom), C.int32_t(shift), to.forDevice()
	var others []uint64
	for i, n := range j.Neighbours {
		a.to[i], a.bottoms[i], a.there[i] = C.uint64_t(n.Estimate), flag(n.Bottom), flag(!n.StandsIn)
		others = append(others, n.Estimate)
	}
	vectors := j.Field + uint64(l.vectors)
	a.vectors = C.uint64_t(vectors)
	a.classes = C.uint64_t(j.Table) + C.uint64_t(j.Pass*bytesOfPass)
	a.codes = a.classes + C.VI_CLASSES
	search := l.colours.Search
	if j.Pass > 0 {
		search = l.colours.Refine
	}
	runs := search(j.Work+uint64(l.searching), vectors, j.Estimate, others, interlace.Search)
	return append(runs, tiled("interlace_blend", &a, &a.result, blendWidth, blendHeight, blendThreads))
}

// As in cuda/interlace_lines.cu and interlace_estimate.cu, and cuda/interlace_blend.cu.
const (
	rowsWidth, rowsHeight, rowsThreads    = 128, 8, 256
	blendWidth, blendHeight, blendThreads = 256, 16, 128
)

// tiled is a run whose blocks each take so many samples of a component across and down.
func tiled(name string, a *C.vi_args, of *[C.VI_PLANES]C.vi_samples, across, down, threads int) device.Run {
	n := 0
	for i, s := range of {
		a.begin[i] = C.int32_t(n)
		columns := kernels.Blocks(int(s.width), across)
		a.across[i] = C.int32_t(max(columns, 1))
		n += columns * kernels.Blocks(int(s.height), down)
	}
	own := *a
	return device.Run{Kernel: named(name, int(a.depth)), Launch: kernels.Launch{
		Grid: [2]int{n, 1}, Block: [2]int{threads, 1},
		Args: unsafe.Pointer(&own), ArgsSize: unsafe.Sizeof(own),
	}}
}
