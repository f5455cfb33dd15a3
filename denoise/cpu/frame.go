package cpu

// #include "cpu.h"
import "C"

import (
	"fmt"
	"unsafe"

	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// frame is a frame, or one of its fields, as the engine reads it.
type frame struct {
	engine         *Engine
	format         pipeline.Format
	field          plane.Field
	shiftX, shiftY int
	planes         [3]C.vd_plane // no smaller than a patch

	blocks  []*block
	between [3]halfPels      // made when needed, like those below
	search  [2]*searchPlanes // smoothed less and more
}

// halfPels are a plane and those between its samples, by a vector's phase.
type halfPels [4]C.vd_plane

// searchPlanes are what the search reads of a frame.
type searchPlanes struct {
	levels []C.vd_plane
	half   halfPels
}

// largestPatch is the least width and height of the planes that are filtered.
const largestPatch = 16

// prepare copies the samples of a frame or a field. The caller must release the result.
func (e *Engine) prepare(f *pipeline.Frame, field plane.Field) (*frame, error) {
	parts, err := components(f, field)
	if err != nil {
		return nil, err
	}
	out := &frame{engine: e, format: f.Format, field: field}
	out.shiftX, out.shiftY = f.ChromaShift()
	size := 0
	for _, c := range parts {
		size += enlarged(c).size()
	}
	e.heap.pass()
	b, err := out.alloc(size)
	if err != nil {
		return nil, err
	}
	for i, c := range parts {
		out.planes[i] = b.plane(enlarged(c))
	}
	e.share(len(parts), func(i int) {
		c := parts[i]
		C.vd_load(e.isa, out.planes[i], (*C.uint8_t)(&c.Data[0]), C.ptrdiff_t(c.Pitch), C.int(c.Step), C.int(c.Shift), C.int(c.Width), C.int(c.Height))
		C.vd_pad(e.isa, out.planes[i])
	})
	return out, nil
}

// components finds Y, U and V of a field.
func components(f *pipeline.Frame, field plane.Field) (all [3]plane.Component, err error) {
	if !takes(f.Layout) {
		return all, fmt.Errorf("denoise: frames of %v cannot be filtered", f.Format)
	}
	for i := range all {
		all[i] = plane.ComponentOf(f, field, i)
	}
	if !all[0].Own {
		return all, fmt.Errorf("denoise: field %d of %v has no samples", field, f.Format)
	}
	return all, nil
}

func takes(l pipeline.Layout) bool { return l.Valid() && !l.Info().RGB }

func (f *frame) depth() int { return int(f.planes[0].depth) }

func enlarged(c plane.Component) shape {
	return shape{max(c.Width, largestPatch), max(c.Height, largestPatch), c.Depth}
}

// alloc returns memory that lives as long as the frame.
func (f *frame) alloc(size int) (*block, error) {
	b := f.engine.heap.alloc(size)
	if b == nil {
		return nil, errMemory
	}
	f.blocks = append(f.blocks, b)
	return b, nil
}

// Retire does nothing: no job outlives its call.
func (f *frame) Retire() {}

// Release gives the frame's memory back. The frame must not be used any more.
func (f *frame) Release() {
	for _, b := range f.blocks {
		b.release()
	}
	f.blocks = nil
}

// save writes planes to the place of the frame's samples in out.
func (f *frame) save(out *pipeline.Frame, planes [3]C.vd_plane) error {
	parts, err := components(out, f.field)
	if err != nil {
		return err
	}
	f.engine.share(len(parts), func(i int) {
		if c := parts[i]; c.Own {
			C.vd_save(f.engine.isa, (*C.uint8_t)(&c.Data[0]), C.ptrdiff_t(c.Pitch), C.int(c.Step), C.int(c.Shift), planes[i], C.int(c.Width), C.int(c.Height))
		}
	})
	return nil
}

// forPasses returns the half-pel planes of the first count components.
func (f *frame) forPasses(count int) ([3]halfPels, error) {
	for c := range count {
		if f.between[c][0].at != nil {
			continue
		}
		b, err := f.alloc(3 * shapeOf(f.planes[c]).size())
		if err != nil {
			return [3]halfPels{}, err
		}
		f.between[c] = f.engine.interpolate(b, f.planes[c])
	}
	return f.between, nil
}

// interpolate makes the planes between the samples of one.
func (e *Engine) interpolate(b *block, p C.vd_plane) halfPels {
	s := shapeOf(p)
	half := halfPels{p, b.plane(s), b.plane(s), b.plane(s)}
	e.rows(s.height, func(y0, y1 C.int) { C.vd_right(e.isa, half[1], p, y0, y1) })
	C.vd_pad(e.isa, half[1])
	e.rows(s.height, func(y0, y1 C.int) {
		C.vd_down(e.isa, half[2], p, y0, y1)
		C.vd_down(e.isa, half[3], half[1], y0, y1)
	})
	C.vd_pad(e.isa, half[2])
	C.vd_pad(e.isa, half[3])
	return half
}

// forSearch returns the smoothed luma, its pyramid and its half-pel planes.
func (f *frame) forSearch(coarse bool) (*searchPlanes, error) {
	kind := 0
	if coarse {
		kind = 1
	}
	if f.search[kind] != nil {
		return f.search[kind], nil
	}
	luma := shapeOf(f.planes[0])
	size, count := 3*luma.size(), motion.Levels(luma.width, luma.height)
	for l := range count {
		size += luma.smaller(l).size()
	}
	b, err := f.alloc(size)
	if err != nil {
		return nil, err
	}
	e, s := f.engine, &searchPlanes{}
	for l := range count {
		p := b.plane(luma.smaller(l))
		e.rows(int(p.height), func(y0, y1 C.int) {
			if l == 0 {
				C.vd_smooth(e.isa, p, f.planes[0], C.int(kind), y0, y1)
			} else {
				C.vd_halve(e.isa, p, s.levels[l-1], y0, y1)
			}
		})
		C.vd_pad(e.isa, p)
		s.levels = append(s.levels, p)
	}
	s.half = e.interpolate(b, s.levels[0])
	f.search[kind] = s
	return s, nil
}

func vectorsOf(p *C.vd_vector, n int) []C.vd_vector { return unsafe.Slice(p, n) }
