package cpu

// #include "cpu.h"
import "C"

import (
	"fmt"

	"vidfilter/denoise/plane"
)

// halved returns the picture of half the size, which is made once.
func (f *frame) halved() (*frame, error) {
	if f.half != nil {
		return f.half, nil
	}
	h := &frame{engine: f.engine, shiftX: f.shiftX, shiftY: f.shiftY}
	var shapes []shape
	size := 0
	for _, p := range f.planes {
		if p.at != nil {
			s := shape{int(p.width) / 2, int(p.height) / 2, plane.HalfDepth(int(p.depth))}
			shapes = append(shapes, s)
			size += s.size()
		}
	}
	if h.own = f.engine.heap.alloc(size); h.own == nil {
		return nil, errMemory
	}
	for i, s := range shapes {
		h.planes[i] = h.own.plane(s)
	}
	planes := h.planes[:len(shapes)]
	f.engine.rows(planes, func(i int, y0, y1 C.int) { C.vd_shrink(f.engine.isa, planes[i], f.planes[i], y0, y1) })
	f.engine.share(len(planes), func(i int) { C.vd_pad(f.engine.isa, planes[i]) })
	f.half = h
	return h, nil
}

func (f *frame) canHalve() error {
	for _, p := range f.planes {
		if p.at != nil && min(p.width, p.height) < plane.LeastHalved {
			return fmt.Errorf("denoise: a plane of %dx%d is too small to remove coarse noise", p.width, p.height)
		}
	}
	return nil
}

// runHalf filters the picture of half the size, if there is noise in it.
func (f *filter) runHalf() error {
	noise := f.noise.HalfOf(f.filtered)
	if noise == nil {
		return nil
	}
	h := &filter{Settings: f.Settings.Halved(noise), Engine: f.Engine, centre: f.centre}
	if err := f.frame.canHalve(); err != nil {
		return err
	}
	for _, w := range f.window {
		p, err := w.halved()
		if err != nil {
			return err
		}
		h.window = append(h.window, p)
	}
	h.frame = h.window[h.centre]
	h.depth = h.frame.depth()
	h.take(noise.Model)
	f.half = h
	return h.run()
}

// leave makes the frame the result.
func (f *filter) leave() {
	var to, from []C.vd_plane
	for c := range f.filtered.Each() {
		to, from = append(to, f.result[c]), append(from, f.frame.planes[c])
	}
	f.rows(to, func(i int, y0, y1 C.int) { C.vd_deepen(to[i], from[i], y0, y1) })
}

// replace has the result agree with the picture of half the size.
func (f *filter) replace() error {
	if f.half == nil {
		return nil
	}
	var of, halves []C.vd_plane
	var changes []C.vd_change
	for c := range f.filtered.Each() {
		share := C.int(f.noise.Half.ShareOf(c))
		if share == 0 {
			continue
		}
		half := f.half.result[c]
		size := C.sizeof_int32_t * int(half.pitch) * int(half.height)
		b, err := f.alloc(aligned(size))
		if err != nil {
			return err
		}
		of, halves = append(of, f.result[c]), append(halves, half)
		changes = append(changes, C.vd_change{
			at: (*C.int32_t)(b.take(size)), pitch: half.pitch,
			width: half.width, height: half.height, share: share,
		})
	}
	f.rows(halves, func(i int, y0, y1 C.int) { C.vd_difference(f.isa, changes[i], of[i], halves[i], y0, y1) })
	f.rows(of, func(i int, y0, y1 C.int) { C.vd_apply(f.isa, of[i], changes[i], y0, y1) })
	return nil
}
