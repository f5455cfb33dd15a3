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
func (l *Layout) VectorBytes(others int) int { return others * int(l.args.field_stride) }

// Search returns the launches that search for a picture's cells in at most VD_NEIGHBOURS others.
// All pictures must be smoothed. The vectors go to the address vectors, in the format of Field.
func (l *Layout) Search(work, vectors, picture uint64, others []uint64, s *motion.Search) []Run {
	w := l.searchOf(work, vectors, picture, others, s)
	w.search()
	return w.all
}

// Refine is Search, starting from the vectors at the address vectors.
func (l *Layout) Refine(work, vectors, picture uint64, others []uint64, s *motion.Search) []Run {
	w := l.searchOf(work, vectors, picture, others, s)
	w.args.pilot_luma = C.uint64_t(picture) + w.args.level[0].offset
	w.searching("denoise_refine", 0, 0, len(others))
	return w.all
}

func (l *Layout) searchOf(memory, vectors, picture uint64, others []uint64, s *motion.Search) *work {
	w := &work{Layout: l, args: l.args, near: [2]int{0, len(others)}}
	l.at(&w.args, memory)
	w.args.centre, w.args.fields = C.uint64_t(picture), C.uint64_t(vectors)
	for i, other := range others {
		w.args.to[i], w.args.from[i] = C.uint64_t(other), C.int32_t(i)
	}
	w.searchBy(s)
	return w
}

// searchBy sets the parameters of a search.
func (w *work) searchBy(s *motion.Search) {
	a := &w.args
	a.penalty, a.refined, a.misfit = C.int32_t(s.Penalty), C.int32_t(s.Refined), math.MaxInt64
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

// Cells returns the numbers of cells across and down a picture.
func (l *Layout) Cells() (across, down int) {
	return int(l.args.level[0].cells_x), int(l.args.level[0].cells_y)
}

// SearchKernels returns the subset of Kernels for Prepare, Smooth, Search and Refine.
func SearchKernels(depth int) []kernels.Variant {
	forms := []string{"denoise_planes", "denoise_pyramid", "denoise_rim", "denoise_coarsest", "denoise_finer", "denoise_refine"}
	return slices.DeleteFunc(Kernels(depth), func(v kernels.Variant) bool { return !slices.Contains(forms, v.Form.Name) })
}
