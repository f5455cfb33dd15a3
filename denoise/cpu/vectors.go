package cpu

// #include "cpu.h"
import "C"

import (
	"context"
	"errors"

	"vidfilter/denoise"
	"vidfilter/denoise/motion"
)

// Find returns the vectors from a picture to each of the others, equal to the vectors from a
// motion.Search with these constants and sigma. The pictures must belong to the engine and have the
// same size.
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
		all = append(all, n)
	}
	f.find(all)
	luma := f.planes.levels[0]
	fields := make([]motion.Field, len(all))
	for i, n := range all {
		fields[i] = motion.Field{
			Cell: c.Cell, Width: cells(int(luma.width), c.Cell), Height: cells(int(luma.height), c.Cell),
			Vectors: make([]motion.Vector, len(n.field)),
		}
		for k, v := range n.field {
			fields[i].Vectors[k] = motion.Vector{X: int(v.x), Y: int(v.y)}
		}
	}
	return fields, context.Cause(ctx)
}
