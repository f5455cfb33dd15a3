package device

// #include "cuda/denoise_args.h"
import "C"

import (
	"fmt"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
)

// halfPlaces are offsets in the memory for the work on pictures of half the size: of samples in, of
// the result, and of its differences from the result of full size.
type halfPlaces struct{ source, result, change [3]int }

// Halved plans the memory for pictures of half the size, with cells of the same size.
func (l *Layout) Halved() (*Layout, error) {
	s := l.Shape
	s.Depth, s.Shift = plane.HalfDepth(s.Depth), 0
	for i, p := range s.Planes {
		if p != (Size{}) && min(p.Width, p.Height) < plane.LeastHalved {
			return nil, fmt.Errorf("denoise: a plane of %dx%d is too small to remove coarse noise", p.Width, p.Height)
		}
		s.Planes[i] = Size{p.Width / 2, p.Height / 2}
	}
	h, err := NewLayout(s)
	if err != nil {
		return nil, err
	}
	h.half = &halfPlaces{}
	for i, p := range s.Planes {
		samples := h.halfPitch(i) * p.Height
		h.half.source[i], h.half.result[i] = h.take(samples), h.take(samples)
		h.half.change[i] = h.take(4 * p.Width * p.Height)
	}
	return h, nil
}

func (l *Layout) halfPitch(i int) int { return roundUp(2*l.Shape.Planes[i].Width, 64) }

// samples returns the samples at offsets in the memory for the work.
func (l *Layout) samples(work uint64, at [3]int) (all [3]Samples) {
	for i, p := range l.Shape.Planes {
		all[i] = Samples{Addr: work + uint64(at[i]), Pitch: l.halfPitch(i), Step: 2, Size: p}
	}
	return all
}

// HalfResult returns where a result is to be written for Replace, given the memory for the work on
// pictures of half the size.
func (l *Layout) HalfResult(work uint64) [3]Samples { return l.samples(work, l.half.result) }

// Halve returns the runs that make the planes of a picture of half the size. Half is its layout,
// and work the memory for the work on it.
func (l *Layout) Halve(picture uint64, half *Layout, to, work uint64) []Run {
	a := l.args
	from := half.samples(work, half.half.source)
	a.centre, a.half_depth = C.uint64_t(picture), C.int32_t(half.Shape.Depth)
	for i, s := range from {
		a.source[i] = s.forDevice()
	}
	shrink := tiled("denoise_shrink", &a, half.Shape.Planes[:], finishWidth, finishHeight, finishThreads, 0)
	return append([]Run{shrink}, half.Prepare(to, from)...)
}

// Replace returns the runs that have the filtered planes of a job's result agree with the planes of
// half the size, by their share.
func (l *Layout) Replace(j Job, filtered denoise.Planes, half *Layout, work uint64, n *noise.Half) []Run {
	a := l.args
	a.depth, a.shift, a.half_depth = C.int32_t(j.Depth), C.int32_t(j.Shift), C.int32_t(half.Shape.Depth)
	small := half.HalfResult(work)
	var sizes, changed [3]Size
	for i := range j.Result {
		a.result[i], a.source[i] = j.Result[i].forDevice(), small[i].forDevice()
		a.change[i], a.part[i] = C.uint64_t(work+uint64(half.half.change[i])), C.int32_t(n.ShareOf(i))
		if a.part[i] > 0 && filtered[i] {
			sizes[i], changed[i] = small[i].Size, j.Result[i].Size
		}
	}
	return []Run{
		tiled("denoise_compare", &a, sizes[:], finishWidth, finishHeight, finishThreads, 0),
		tiled("denoise_apply", &a, changed[:], finishWidth, finishHeight, finishThreads, 0),
	}
}
