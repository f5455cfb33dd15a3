package kernels

// #include "cuda/args.h"
import "C"

import (
	"fmt"
	"unsafe"

	"vidfilter/pipeline"
)

// The kernels of the papers: each form of them has its variants in a file of its own (thesis.go), and may need more than one launch of
// one tile a block. They filter RGBA only, and are never chosen but by name.

// labForm is what a form of the papers needs beside what every variant has; a nil function stands for nothing of the kind.
type labForm struct {
	form     Form
	list     func() []Variant
	passes   func(v Variant, p Params, width, height int) []pass // of one field; nil: one, by the variant's tile
	table    func(v Variant, p Params) []byte
	scratch  func(v Variant, p Params, f pipeline.Format) int
	textures func(v Variant, f pipeline.Format) []Texture
	fits     func(v Variant, p Params, f pipeline.Format) error  // refuses frames that the kernels do not do
	fill     func(a *labArgs, p *Plan, m DeviceMemory, pass int) // sets what else a launch is told, or otherwise
}

// labForms lists them in the order of the papers.
var labForms = []labForm{thesisForm, recursiveForm, recursiveFastForm, pairForm, staalForm}

// labArgs is what a launch is told.
type labArgs = C.vf_lab_args

// pass is one launch of the kernel over a field.
type pass struct {
	grid, block [2]int
	shared      int             // dynamic shared memory in bytes
	around      bool            // see Launch.Around
	recursion   *C.vf_recursion // of the recursive filter's kernels
}

// Texture is a texture object of floats, one a texel, that a kernel wants over a part of its scratch memory: both in bytes.
type Texture struct{ Offset, Size int }

// TextureAlign is what the address of a texture's memory divides by, and so that of the scratch memory of a plan with textures.
const TextureAlign = 512

// DeviceMemory is what a plan's launches use of a device beside the frames: the addresses of what Table and Scratch ask for, and the
// texture objects; 0 for what they do not ask for.
type DeviceMemory struct {
	Table, Scratch uint64
	Textures       [3]uint64
}

// lab returns what is special about a form of the papers.
func (f Form) lab() (l labForm, ok bool) {
	for _, l := range labForms {
		if l.form == f {
			return l, true
		}
	}
	return labForm{}, false
}

// FromPaper says whether the variant is a system of one of the papers: it filters RGBA only, with the one range weight, distance and
// border that it has, and Choose never takes it.
func (v Variant) FromPaper() bool { return v.Paper != "" }

// Adapt returns p with the range weight, the distance and, where it has only one, the border that the variant has, and with the nearest
// radius that it takes.
func (v Variant) Adapt(p Params) Params {
	if v.Filter != p.Filter {
		p = Params{Filter: v.Filter, Radius: p.Radius}.WithDefaults()
	}
	if v.Filter == Recursive {
		return p
	}
	p.Range, p.Distance = v.Range, v.Distance
	if v.Radius == AnyRadius {
		p.Radius = min(max(p.Radius, v.LeastRadius), v.largest())
	} else {
		p.Radius = v.Radius
	}
	if v.FromPaper() {
		p.Border = v.Border
	}
	return p
}

// Does says in words what the variant does: "radius 0 to 15, gaussian, channel, border skip".
func (v Variant) Does() string {
	if v.Filter == Recursive {
		return "the recursive filter"
	}
	radius, border := fmt.Sprintf("radius %d", v.Radius), "any border"
	if v.Radius == AnyRadius {
		radius = fmt.Sprintf("radius %d to %d", v.LeastRadius, v.largest())
	}
	if v.FromPaper() {
		border = "border " + v.Border.String()
	}
	if v.Form == Tensor {
		radius += fmt.Sprintf(", sigma-r %d to %d", leastTensorSigma, mostTensorSigma)
	}
	return fmt.Sprintf("%s, %s, %s, %s", radius, v.Range, v.Distance, border)
}

// Refuses returns why the variant does not do p, or nil.
func (v Variant) Refuses(p Params) error {
	if v.does(p) {
		return nil
	}
	return v.refuses(p)
}

// largest is the largest radius of a variant that takes more than one.
func (v Variant) largest() int {
	if v.MostRadius > 0 {
		return v.MostRadius
	}
	return MaxRadius
}

// TakesRadius says whether the variant does a radius.
func (v Variant) TakesRadius(radius int) bool {
	if v.Radius == AnyRadius {
		return radius >= v.LeastRadius && radius <= v.largest()
	}
	return radius == v.Radius
}

// Table is what the kernel wants to find in the device's memory, the same for every frame; nil for nothing.
func (p *Plan) Table() []byte {
	if p.lab.table == nil {
		return nil
	}
	return p.lab.table(p.variant, p.params)
}

// Scratch is how many bytes of the device's memory the kernel wants for its own use while it filters a frame. Frames that are filtered
// at the same time must not share them; frames one after another may, and need not clear them.
func (p *Plan) Scratch() int {
	if p.lab.scratch == nil {
		return 0
	}
	return p.lab.scratch(p.variant, p.params, p.format)
}

// Textures are the texture objects that the kernel wants over its scratch memory, at most 3.
func (p *Plan) Textures() []Texture {
	if p.lab.textures == nil {
		return nil
	}
	return p.lab.textures(p.variant, p.format)
}

// labArgs returns what one launch of a kernel of the papers is told.
func (p *Plan) labArgs(frame C.vf_args, m DeviceMemory, pass int, r *C.vf_recursion) (unsafe.Pointer, uintptr) {
	lab := &labArgs{table: C.uint64_t(m.Table), texture: C.uint64_t(m.Textures[0]), scratch: C.uint64_t(m.Scratch), pass: C.int32_t(pass)}
	if p.params.Filter == Bilateral && p.params.Distance != Lab {
		for i, w := range rangeWeights(p.params) {
			frame.color.linear[i] = C.float(w) // where vf_lab_args has its table of the range weight
		}
	}
	*(*C.vf_args)(unsafe.Pointer(lab)) = frame
	if r != nil {
		*(*C.vf_recursion)(unsafe.Add(unsafe.Pointer(lab), C.VF_RECURSION_OFFSET)) = *r
	}
	if p.lab.fill != nil {
		p.lab.fill(lab, p, m, pass)
	}
	return unsafe.Pointer(lab), unsafe.Sizeof(*lab)
}

// rangeWeights returns R by the difference of levels.
func rangeWeights(p Params) (w [256]float64) {
	m := measure{Params: p, twoVar: twice(p.SigmaR)}
	for i := range w {
		w[i] = m.weight(float64(i * i))
	}
	return w
}
