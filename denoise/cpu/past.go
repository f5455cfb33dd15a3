package cpu

// #include "cpu.h"
import "C"

import (
	"context"

	"vidfilter/denoise"
)

// sum is the sum of some frames.
type sum struct {
	engine *Engine
	planes [3]*C.uint16_t // in the pitch of the frames' planes
	block  *block
	count  int
}

// Sum returns a sum of frames.
func (e *Engine) Sum(_ context.Context, like denoise.Picture) (denoise.Sum, error) {
	f, size := like.(*frame), 0
	for _, p := range f.planes {
		size += sumOfSize(p)
	}
	b := e.heap.alloc(size)
	if b == nil {
		return nil, errMemory
	}
	s := &sum{engine: e, block: b}
	for i, p := range f.planes {
		if p.at != nil {
			s.planes[i] = (*C.uint16_t)(b.take(sumOfSize(p)))
		}
	}
	return s, nil
}

func sumOfSize(p C.vd_plane) int { return aligned(C.sizeof_uint16_t * int(p.pitch) * int(p.height)) }

// Add adds the samples of a frame.
func (s *sum) Add(ctx context.Context, p denoise.Picture) error {
	e, f, fresh := s.engine, p.(*frame), C.int(0)
	e.ctx = ctx
	if s.count == 0 {
		fresh = 1
	}
	e.rows(f.planes[:], func(i int, y0, y1 C.int) { C.vd_sum(e.isa, s.planes[i], f.planes[i], fresh, y0, y1) })
	s.count++
	return context.Cause(ctx)
}

// Release gives the memory back.
func (s *sum) Release() {
	s.block.release()
	s.block = nil
}

// setPast sets the past frames that the second pass over component c reads. The nearest neighbour,
// the one before rather than the one after, decides whether a patch stands still.
func (f *filter) setPast(j *C.vd_pass, c int, neighbours []*neighbour) {
	nearest := f.Near + 1
	for _, n := range neighbours {
		if d := max(n.distance, -n.distance); d < nearest {
			nearest, j.still = d, n.job.refined
		}
	}
	if nearest > f.Near {
		return
	}
	j.past_reach, j.past_most = C.int(f.Second.PastReach), C.float(f.Second.PastMost)
	j.pasts = C.int(len(f.past))
	for i, p := range f.past {
		j.past[i] = C.vd_past{
			at: p.Sum.(*sum).planes[c], count: C.float(p.Count),
			level: levelAt(min(f.frame.depth(), 8+C.VD_SUM_BITS)) / C.float(p.Count),
		}
	}
}
