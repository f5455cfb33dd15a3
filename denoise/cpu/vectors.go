package cpu

// #include "cpu.h"
import "C"

import (
	"context"
	"errors"
	"unsafe"

	"vidfilter/denoise"
	"vidfilter/denoise/motion"
)

// Find returns the vectors from a picture to each of the others: those that a motion.Search with
// these constants and sigma finds and then refines, with the picture's own luma as the pilot. The
// pictures must belong to the engine and have the same size.
func (e *Engine) Find(ctx context.Context, c motion.Constants, sigma float64, from denoise.Picture, to ...denoise.Picture) ([]motion.Field, error) {
	e.ctx = ctx
	f := &filter{Settings: denoise.Settings{Motion: c}, Engine: e, frame: from.(*frame), search: motion.NewSearch(c, sigma)}
	defer f.release()
	var err error
	if f.planes, err = f.frame.forSearch(f.search.Coarse); err != nil {
		return nil, err
	}
	var all []*neighbour
	for _, p := range to {
		n := &neighbour{frame: p.(*frame)}
		if shapeOf(n.frame.planes[0]) != shapeOf(f.frame.planes[0]) {
			return nil, errors.New("denoise: the pictures differ in size")
		}
		if n.planes, err = n.forSearch(f.search.Coarse); err != nil {
			return nil, err
		}
		if err := f.newSearch(n); err != nil {
			return nil, err
		}
		n.job.pilot = f.planes.levels[0]
		all = append(all, n)
	}
	f.find(all)
	f.cellRows(motion.RefinedCell, 0, all, f.refine)
	var fields []motion.Field
	for _, n := range all {
		fields = append(fields, fieldOf(n.job, n.job.refined, motion.RefinedCell))
	}
	return fields, context.Cause(ctx)
}

// fieldOf copies vectors of a search.
func fieldOf(s *C.vd_search, vectors *C.vd_vector, cell int) motion.Field {
	f := motion.Field{Cell: cell, Width: cells(int(s.from[0].width), cell), Height: cells(int(s.from[0].height), cell)}
	for _, v := range unsafe.Slice(vectors, f.Width*f.Height) {
		f.Vectors = append(f.Vectors, motion.Vector{X: int(v.x), Y: int(v.y)})
	}
	return f
}
