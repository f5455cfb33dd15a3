package papers

// #include "cuda/paper_args.h"
import "C"

import (
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Akers is the name of the kernel of 001.
const Akers = "paper"

// akersForm is Akers (001): cuda/akers.cu.
var akersForm = &kernels.Form{Name: "akers", Filter: kernels.Bilateral{}.Filter(), Layouts: rgba, Work: kernels.WorkOf(akersWork), Variants: kernels.List(kernels.Variant{
	Name: Akers, Radii: [2]int{1, kernels.MaxRadius}, Range: kernels.Lorentzian,
	Compute: 61, Threads: [2]int{32, 32}, Shared: 4 * 32 * 32, Defines: []string{kernels.DefineRange(kernels.Lorentzian)},
	Details: Details{Paper: "001", Version: "CUDA", Title: "halo block", Semantics: Semantics{RGB, Zero}},
})}

// akersWork pads the picture in scratch memory and filters it from there.
func akersWork(v kernels.Variant, p kernels.Bilateral, f pipeline.Format, _ kernels.Limits) (kernels.Work, error) {
	r, pitch := p.Radius, 4*(f.Width+2*p.Radius)
	w := kernels.Work{Table: Of(v).hosted}
	if w.Table == nil {
		w.Scratch = pitch * (f.Height + 2*r)
	}
	w.Launches = launches(newArgs(p), func(field kernels.Field) []pass {
		across, down := v.Threads[0], v.Threads[1]
		all := numbered(
			pass{grid: [2]int{kernels.Blocks(field.Width+2*r, across), kernels.Blocks(field.Height+2*r, down)}, block: v.Threads,
				set: func(a *args, m kernels.DeviceMemory) { a.dst, a.dst_pitch = a.scratch, C.int32_t(pitch) }},
			pass{grid: [2]int{kernels.Blocks(field.Width, across-2*r), kernels.Blocks(field.Height, down-2*r)}, block: v.Threads, shared: v.Shared,
				set: func(a *args, m kernels.DeviceMemory) {
					a.src, a.src_pitch = max(a.scratch, a.table)+C.uint64_t(r*(pitch+4)), C.int32_t(pitch)
				}},
		)
		if w.Table != nil {
			return all[1:]
		}
		return all
	})
	return w, nil
}

// padded returns the words of a picture with a black margin. The margin has the alpha of
// the first pixel.
func padded(src *pipeline.Frame, radius int) []byte {
	pitch := 4 * (src.Width + 2*radius)
	all := make([]byte, pitch*(src.Height+2*radius))
	for i := 3; i < len(all); i += 4 {
		all[i] = src.Row(0, 0)[3]
	}
	for y := range src.Height {
		copy(all[(y+radius)*pitch+4*radius:], src.Row(0, y))
	}
	return all
}
