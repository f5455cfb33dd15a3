package repair

// #cgo CFLAGS: -std=c11 -O3 -Wall
// #include "repair.h"
import "C"

import (
	"context"

	"vidfilter/denoise"
	"vidfilter/denoise/cpu"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// fast is the implementation in C.
type fast struct {
	isa    C.int
	engine *cpu.Engine
	each   each
	luma   *pipeline.Frame // input buffer of the engine
}

func newFast(set isa.ISA, run each) *fast {
	return &fast{isa: C.int(set), each: run, engine: cpu.New(set, func(ctx context.Context, n int, do func(int)) {
		run(n, func(i int) {
			if ctx.Err() == nil {
				do(i)
			}
		})
	})}
}

func (f *fast) prepare(ctx context.Context, luma plane.Plane) (searched, error) {
	format := pipeline.Format{Layout: pipeline.GRAY.At(luma.Depth), Width: luma.Width, Height: luma.Height}
	if f.luma == nil || f.luma.Format != format {
		f.luma = pipeline.Blank(format)
	}
	c := plane.ComponentOf(f.luma, plane.Whole, 0)
	f.each(strips(luma.Height), func(k int) {
		for y := k * stripRows; y < min((k+1)*stripRows, luma.Height); y++ {
			c.Write(luma.Row(y), y)
		}
	})
	return f.engine.Prepare(ctx, f.luma, plane.Whole) // copies f.luma
}

func (f *fast) idle() {
	f.engine.Idle()
	f.luma = nil
}

func (f *fast) find(ctx context.Context, from, before, after searched) (fields [2]motion.Field, err error) {
	found, err := f.engine.Find(ctx, search, searchSigma, from.(denoise.Picture), before.(denoise.Picture), after.(denoise.Picture))
	if err != nil {
		return fields, err
	}
	return [2]motion.Field(found), nil
}

func (f *fast) compensate(out, in plane.Plane, v motion.Field, shiftX, shiftY, y0, y1 int) {
	cellX, cellY := cellSide>>shiftX, cellSide>>shiftY
	width := (in.Width + cellX - 1) / cellX
	vectors := make([]C.int16_t, 0, 2*width*((y1+cellY-1)/cellY-y0/cellY))
	for y := y0; y < y1; y += cellY {
		for x := range width {
			m := v.Of(x*cellSide, y<<shiftY).Scaled(shiftX, shiftY)
			vectors = append(vectors, C.int16_t(m.X), C.int16_t(m.Y))
		}
	}
	size := sizeOf(in)
	C.vr_compensate(f.isa, first(out.Pix), first(in.Pix), size, &vectors[0], C.int(width), C.int(cellX), C.int(cellY), C.int(y0), C.int(y1))
}

func (f *fast) compare(out cells, now, before, after plane.Plane, y0, y1 int) {
	C.vr_compare(f.isa, first(out.peak), first(out.split), (*C.uint32_t)(&out.sum[0]), first(now.Pix), first(before.Pix), first(after.Pix),
		sizeOf(now), C.int(mostSplit*now.Unit()), C.int(y0), C.int(y1))
}

func sizeOf(p plane.Plane) C.vr_size {
	return C.vr_size{width: C.int(p.Width), height: C.int(p.Height), most: C.int(p.Max())}
}

func first(p []uint16) *C.uint16_t { return (*C.uint16_t)(&p[0]) }
