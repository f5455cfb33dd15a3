package device

// #include "cuda/denoise_args.h"
import "C"

import (
	"math"

	"vidfilter/denoise/motion"
)

// Search returns the runs that search a smoothed picture's cells in others, VD_NEIGHBOURS at the
// most. Field finds the vectors.
func (l *Layout) Search(memory, picture uint64, others []uint64, s *motion.Search) []Run {
	w := &work{Layout: l, args: l.args, near: [2]int{0, len(others)}}
	l.at(&w.args, memory)
	w.args.centre = C.uint64_t(picture)
	for i, other := range others {
		w.args.to[i], w.args.from[i] = C.uint64_t(other), C.int32_t(i)
	}
	w.searchBy(s)
	w.search()
	return w.all
}

// searchBy sets what a search goes by.
func (w *work) searchBy(s *motion.Search) {
	a := &w.args
	a.penalty, a.refined, a.misfit = C.int32_t(s.Penalty), C.int32_t(s.Refined), math.MaxInt64
	for i, p := range s.Length {
		a.length[i] = C.int32_t(p)
	}
}
