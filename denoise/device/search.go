package device

// #include "cuda/denoise_args.h"
import "C"

import (
	"math"
	"slices"

	"vidfilter/denoise/motion"
	"vidfilter/kernels"
)

// VectorBytes returns the bytes for the vectors of a search in a number of pictures.
func (l *Layout) VectorBytes(others int) int { return others * int(l.args.found_stride) }

// Vectors locates the vectors of a search: two int16 in half-pels for each cell. Those to the next
// picture follow Stride bytes later.
type Vectors struct {
	Address      uint64
	Stride       int
	Cell         int // side of a cell, in samples
	Across, Down int // cells
}

func (l *Layout) vectors(address, stride uint64, cell int) Vectors {
	luma := l.args.level[0]
	return Vectors{address, int(stride), cell, kernels.Blocks(int(luma.width), cell), kernels.Blocks(int(luma.height), cell)}
}

// Search returns the launches that search for a picture's cells in at most VD_NEIGHBOURS others.
// All pictures must be smoothed. The vectors go to the address found.
func (l *Layout) Search(work, found, picture uint64, others []uint64, s *motion.Search) ([]Run, Vectors) {
	w := l.searchOf(work, found, picture, others, s)
	w.search()
	return w.all, l.vectors(found, uint64(w.args.found_stride), motion.Cell)
}

// Refine returns the launches that refine the vectors at the address found, with the picture itself
// as the pilot. The refined ones go to the memory for the work.
func (l *Layout) Refine(work, found, picture uint64, others []uint64, s *motion.Search) ([]Run, Vectors) {
	w := l.searchOf(work, found, picture, others, s)
	w.args.pilot_luma = C.uint64_t(picture) + w.args.level[0].offset
	w.searching("denoise_refine", 0, motion.RefinedCell, 0, len(others))
	return w.all, l.vectors(uint64(w.args.refined), uint64(w.args.refined_stride), motion.RefinedCell)
}

func (l *Layout) searchOf(memory, found, picture uint64, others []uint64, s *motion.Search) *work {
	w := &work{Layout: l, args: l.args, near: [2]int{0, len(others)}}
	l.at(&w.args, memory)
	w.args.centre, w.args.found = C.uint64_t(picture), C.uint64_t(found)
	for i, other := range others {
		w.args.to[i], w.args.from[i] = C.uint64_t(other), C.int32_t(i)
	}
	w.searchBy(s)
	return w
}

// searchBy sets the parameters of a search.
func (w *work) searchBy(s *motion.Search) {
	a := &w.args
	a.penalty, a.refine_penalty, a.misfit = C.int32_t(s.Penalty), C.int32_t(s.Refined), math.MaxInt64
	for i, p := range s.Length {
		a.length[i] = C.int32_t(p)
	}
}

// Plane returns the offset and the pitch of plane i in a picture, in bytes. Three planes follow at
// intervals of phase bytes: half a pel to the right, half a pel down, and both.
func (l *Layout) Plane(i int) (offset, phase uint64, pitch int) {
	p := l.args.noisy[i]
	return uint64(p.offset), uint64(p.phase), int(p.pitch)
}

// SearchKernels returns the subset of Kernels for Prepare, Smooth, Search and Refine.
func SearchKernels(depth int) []kernels.Variant {
	forms := []string{"denoise_planes", "denoise_pyramid", "denoise_rim", "denoise_coarsest", "denoise_finer", "denoise_refine"}
	return slices.DeleteFunc(Kernels(depth), func(v kernels.Variant) bool { return !slices.Contains(forms, v.Form.Name) })
}
