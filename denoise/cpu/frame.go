package cpu

// #include "cpu.h"
import "C"

import (
	"fmt"

	"vidfilter/denoise"
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

	own *block // of the planes

	// Made when needed, and kept while the frame is near the one that is filtered.
	between [3]across
	search  *searchPlanes
	rights  []*block // of between

	half *frame // of half the size, made when needed
}

// across is a plane and, once it is made, the one half a pel to the right. The passes need no more:
// they interpolate both half a pel down, patch by patch.
type across [2]C.vd_plane

// halfPels are a plane and those between its samples, by a vector's phase.
type halfPels [4]C.vd_plane

// searchPlanes are the planes of a frame that the search reads.
type searchPlanes struct {
	coarse bool // smoothed more
	levels []C.vd_plane
	half   halfPels
	memory *block
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
	if out.own = e.heap.alloc(size); out.own == nil {
		return nil, errMemory
	}
	for i, c := range parts {
		out.planes[i] = out.own.plane(enlarged(c))
	}
	e.share(len(parts), func(i int) {
		c := parts[i]
		C.vd_load(e.isa, out.planes[i], (*C.uint8_t)(&c.Data[0]), C.ptrdiff_t(c.Pitch), C.int(c.Step), C.int(c.Shift), C.int(c.Width), C.int(c.Height))
		C.vd_pad(e.isa, out.planes[i])
	})
	return out, nil
}

// components finds Y, U and V of a field, or Y of a gray one.
func components(f *pipeline.Frame, field plane.Field) (all []plane.Component, err error) {
	if !takes(f.Layout) {
		return nil, fmt.Errorf("denoise: frames of %v cannot be filtered", f.Format)
	}
	for i := range plane.Components(f.Layout) {
		all = append(all, plane.ComponentOf(f, field, i))
	}
	if !all[0].Own {
		return nil, fmt.Errorf("denoise: field %d of %v has no samples", field, f.Format)
	}
	return all, nil
}

func takes(l pipeline.Layout) bool { return l.Valid() && !l.Info().RGB }

func (f *frame) depth() int { return int(f.planes[0].depth) }

func enlarged(c plane.Component) shape {
	return shape{max(c.Width, largestPatch), max(c.Height, largestPatch), c.Depth}
}

// Retire is empty: no job outlives its call.
func (f *frame) Retire() {}

// Release gives the frame's memory back. The frame must not be used any more.
func (f *frame) Release() {
	f.forget()
	f.own.release()
	f.own = nil
}

// forget gives back all but the samples.
func (f *frame) forget() {
	f.forgetRights()
	if f.half != nil {
		f.half.Release()
		f.half = nil
	}
	if f.search != nil {
		f.search.memory.release()
		f.search = nil
	}
}

// forgetRights gives back the planes of between.
func (f *frame) forgetRights() {
	for _, b := range f.rights {
		b.release()
	}
	f.rights, f.between = nil, [3]across{}
}

// save writes planes to the place of the frame's samples in out, whose samples have as many bits or
// more.
func (f *frame) save(out *pipeline.Frame, planes [3]C.vd_plane) error {
	parts, err := components(out, f.field)
	if err != nil {
		return err
	}
	f.engine.share(len(parts), func(i int) {
		if c := parts[i]; c.Own {
			C.vd_save(f.engine.isa, (*C.uint8_t)(&c.Data[0]), C.ptrdiff_t(c.Pitch), C.int(c.Step), C.int(out.Layout.Info().SampleBytes()), C.int(c.Shift+c.Depth-int(planes[i].depth)), planes[i], C.int(c.Width), C.int(c.Height))
		}
	})
	return nil
}

// forPasses returns some components as the passes read them.
func (f *frame) forPasses(some denoise.Planes) ([3]across, error) {
	var all []across
	for c := range some.Each() {
		if f.between[c][0].at != nil {
			continue
		}
		b := f.engine.heap.alloc(shapeOf(f.planes[c]).size())
		if b == nil {
			return [3]across{}, errMemory
		}
		f.rights = append(f.rights, b)
		f.between[c] = b.across(f.planes[c])
		all = append(all, f.between[c])
	}
	f.engine.moveRight(all)
	return f.between, nil
}

// across takes the plane half a pel to the right from a block.
func (b *block) across(p C.vd_plane) across { return across{p, b.plane(shapeOf(p))} }

// moveRight sets the planes half a pel to the right of several.
func (e *Engine) moveRight(all []across) {
	planes := make([]C.vd_plane, len(all))
	for i, p := range all {
		planes[i] = p[0]
	}
	e.rows(planes, func(i int, y0, y1 C.int) { C.vd_right(e.isa, all[i][1], all[i][0], y0, y1) })
	e.share(len(all), func(i int) { C.vd_pad(e.isa, all[i][1]) })
}

// halvesSize is the memory of the planes between the samples of one.
func halvesSize(p C.vd_plane) int { return 3 * shapeOf(p).size() }

// halves takes the planes between the samples of one from a block.
func (b *block) halves(p C.vd_plane) halfPels {
	s := shapeOf(p)
	return halfPels{p, b.plane(s), b.plane(s), b.plane(s)}
}

// interpolate sets the planes between the samples of several.
func (e *Engine) interpolate(all []halfPels) {
	planes := make([]C.vd_plane, len(all))
	sides := make([]across, len(all))
	for i, p := range all {
		planes[i], sides[i] = p[0], across{p[0], p[1]}
	}
	e.moveRight(sides)
	e.rows(planes, func(i int, y0, y1 C.int) {
		C.vd_down(e.isa, all[i][2], all[i][0], y0, y1)
		C.vd_down(e.isa, all[i][3], all[i][1], y0, y1)
	})
	e.share(2*len(all), func(i int) { C.vd_pad(e.isa, all[i/2][2+i%2]) })
}

// searchShape is the shape of the planes that the search makes of luma.
func searchShape(luma C.vd_plane) shape {
	return shape{int(luma.width), int(luma.height), motion.Depth}
}

// forSearch returns the smoothed luma, its pyramid and its half-pel planes.
func (f *frame) forSearch(coarse bool) (*searchPlanes, error) {
	if f.search != nil && f.search.coarse == coarse {
		return f.search, nil
	}
	luma := searchShape(f.planes[0])
	size, count := 3*luma.size(), motion.Levels(luma.width, luma.height)
	for l := range count {
		size += luma.smaller(l).size()
	}
	s := f.search
	if s == nil {
		b := f.engine.heap.alloc(size)
		if b == nil {
			return nil, errMemory
		}
		s = &searchPlanes{memory: b}
		for l := range count {
			s.levels = append(s.levels, b.plane(luma.smaller(l)))
		}
		s.half = b.halves(s.levels[0])
		f.search = s
	}
	s.coarse = coarse
	e := f.engine
	e.smooth([]halfPels{s.half}, []*frame{f}, coarse)
	for l := 1; l < count; l++ {
		e.rows(s.levels[l:l+1], func(_ int, y0, y1 C.int) {
			C.vd_halve(e.isa, s.levels[l], s.levels[l-1], y0, y1)
		})
		C.vd_pad(e.isa, s.levels[l])
	}
	return s, nil
}

// smooth sets the smoothed luma of frames, and the planes between its samples.
func (e *Engine) smooth(all []halfPels, frames []*frame, coarse bool) {
	kind := C.int(0)
	if coarse {
		kind = 1
	}
	planes := make([]C.vd_plane, len(all))
	for i, p := range all {
		planes[i] = p[0]
	}
	e.rows(planes, func(i int, y0, y1 C.int) {
		C.vd_smooth(e.isa, all[i][0], frames[i].planes[0], kind, y0, y1)
	})
	e.share(len(all), func(i int) { C.vd_pad(e.isa, all[i][0]) })
	e.interpolate(all)
}
