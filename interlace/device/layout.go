package device

// #include "cuda/interlace_args.h"
import "C"

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/kernels"
)

// Shape describes the frames of a run.
type Shape struct {
	Components     [C.VI_PLANES]device.Size // sizes in frames, empty beyond the layout's components
	ShiftX, ShiftY int                      // log2 of the chroma subsampling
	Searched       int                      // index of the component for the motion search, 0 or 1
	Depth          int                      // bits of a sample: 8 in one byte, more in two
	Shift          int                      // left shift of a frame's samples in their two bytes
}

// Layout plans the device memory for fields of one shape, and builds the launches.
type Layout struct {
	Field    int // bytes for a field: its rows and vectors
	Estimate int // bytes for an estimate
	Work     int // bytes of scratch memory, which pictures use in turn

	shape     Shape
	args      C.vi_args
	colours   *device.Layout    // part of an estimate, with the searched component first
	alpha     *device.Layout    // nil without alpha
	order     [3]int            // component of each plane of colours
	after     int               // offset of alpha in an estimate
	vectors   int               // offset of the vectors in a field
	scratch   [C.VI_PLANES]rows // components in the scratch memory
	searching int               // offset of the search's part of the scratch memory
}

// rows locates a component in the scratch memory, in bytes.
type rows struct{ offset, pitch int }

const (
	align  = 256 // alignment of components, in bytes
	atOnce = 8   // samples per store
)

// NewLayout plans the memory for a shape.
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
	l.vectors = l.Field
	l.Field += l.colours.VectorBytes(C.VI_NEIGHBOURS)
	l.searching = l.Work
	l.Work += l.colours.Work
	return l, nil
}

// estimates plans an estimate with the denoiser's layout of a picture.
func (l *Layout) estimates() (err error) {
	s := device.Shape{ShiftX: l.shape.ShiftX, ShiftY: l.shape.ShiftY, Depth: l.shape.Depth, Searched: true}
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

// place sets the location of a component to plane i of a layout at offset from in an estimate.
func (l *Layout) place(component int, of *device.Layout, i, from int) {
	offset, phase, pitch := of.Plane(i)
	l.args.estimate[component] = C.vi_phases{offset: C.uint64_t(uint64(from) + offset), phase: C.uint64_t(phase), pitch: C.int32_t(pitch)}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Table returns the learned tables in the kernels' format. For each pass, it holds the codes of the
// classes, then the weights of the codes. The caller copies it to the device.
func Table() (all []byte) {
	for pass := range interlace.Passes {
		all = append(all, interlace.Learned().Class[pass][:]...)
		for _, code := range interlace.Learned().Code[pass] {
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

// net converts the weights of the first estimate.
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

// Samples locates the components of a frame or a field in device memory.
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

// Keep returns the launches that copy a field's own rows to its memory.
func (l *Layout) Keep(field uint64, from Samples) []device.Run {
	a := l.args
	a.now, a.source = C.uint64_t(field), from.forDevice()
	return []device.Run{tiled("interlace_lines", &a, &a.source, rowsWidth, rowsHeight, rowsThreads)}
}

// First returns the launches for the first estimate of a field.
func (l *Layout) First(field uint64, bottom bool, estimate, work uint64) []device.Run {
	a := l.args
	a.now, a.bottom = C.uint64_t(field), flag(bottom)
	made := l.made(work)
	a.result = made.forDevice()
	a.net = net(&interlace.Learned().Net)
	run := tiled("interlace_estimate", &a, &a.result, rowsWidth, 2*rowsHeight, rowsThreads)
	return append([]device.Run{run}, l.keep(estimate, made)...)
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// made returns the location of a new estimate in the scratch memory.
func (l *Layout) made(work uint64) (all Samples) {
	for i, size := range l.shape.Components {
		all[i] = device.Samples{Addr: work + uint64(l.scratch[i].offset), Pitch: l.scratch[i].pitch, Step: (l.shape.Depth + 7) / 8, Size: size}
	}
	return all
}

// keep returns the launches that copy a new estimate to its memory and prepare the next pass.
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

// Neighbour is a neighbouring field as input of a pass. Estimate is an address.
type Neighbour struct {
	Estimate uint64
	Bottom   bool
	StandsIn bool // it replaces a missing neighbour
}

// Job describes a pass over a field. Addresses are in device memory.
type Job struct {
	Pass       int                        // counted from 0
	Field      uint64                     // address of the field
	Bottom     bool                       // its rows are 1, 3, 5, ... of the frame
	Estimate   uint64                     // address of the estimate before the pass
	Neighbours [C.VI_NEIGHBOURS]Neighbour // in the order of interlace.Neighbours
	Table      uint64                     // address of Table's bytes
	Work       uint64                     // address of the scratch memory
}

// Better returns the launches of a pass whose result goes to the address of the next estimate.
func (l *Layout) Better(j Job, estimate uint64) []device.Run {
	made := l.made(j.Work)
	return append(l.blend(j, made, 0), l.keep(estimate, made)...)
}

// Finish returns the launches of the last pass, which writes the picture.
func (l *Layout) Finish(j Job, result Samples) []device.Run { return l.blend(j, result, l.shape.Shift) }

func (l *Layout) blend(j Job, to Samples, shift int) []device.Run {
	a := l.args
	a.now, a.bottom, a.shift, a.result = C.uint64_t(j.Estimate), flag(j.Bottom), C.int32_t(shift), to.forDevice()
	var others []uint64
	for i, n := range j.Neighbours {
		a.to[i], a.bottoms[i], a.there[i] = C.uint64_t(n.Estimate), flag(n.Bottom), flag(!n.StandsIn)
		others = append(others, n.Estimate)
	}
	a.classes = C.uint64_t(j.Table) + C.uint64_t(j.Pass*bytesOfPass)
	a.codes = a.classes + C.VI_CLASSES
	search := l.colours.Search
	if j.Pass > 0 {
		search = l.colours.Refine
	}
	runs, v := search(j.Work+uint64(l.searching), j.Field+uint64(l.vectors), j.Estimate, others, interlace.Search)
	a.vectors, a.stride = C.uint64_t(v.Address), C.int64_t(v.Stride)
	a.cell_shift = C.int32_t(bits.TrailingZeros(uint(v.Cell)))
	a.cells_x, a.cells_y = C.int32_t(v.Across), C.int32_t(v.Down)
	return append(runs, tiled("interlace_blend", &a, &a.result, blendWidth, blendHeight, blendThreads))
}

// Sizes of thread blocks. They must match cuda/interlace_*.cu.
const (
	rowsWidth, rowsHeight, rowsThreads    = 128, 8, 256
	blendWidth, blendHeight, blendThreads = 256, 16, 128
)

// tiled returns a launch whose blocks each process across by down samples of a component.
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
