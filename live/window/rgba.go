package window

// #cgo CFLAGS: -O3
// #include "rgba.h"
import "C"

import (
	"math"
	"slices"

	"vidfilter/pipeline"
)

// gain amplifies differences, with the initial value of the page.
const gain = 4

// toRGBA writes f into out, with 4 bytes a pixel and no padding, and returns it; out grows if it
// is too small.
func toRGBA(out []byte, f *pipeline.Frame) []byte {
	out = slices.Grow(out[:0], 4*f.Width*f.Height)[:4*f.Width*f.Height]
	if f.Layout == pipeline.RGBA {
		for y := range f.Height {
			copy(out[4*f.Width*y:], f.Row(0, y))
		}
		return out
	}
	c := coefficients(f.Format)
	y, u, v := f.Planes[0], f.Planes[1], f.Planes[2]
	c.step = 1
	if f.Layout == pipeline.NV12 {
		v = pipeline.Plane{Data: u.Data[1:], Pitch: u.Pitch}
		c.step = 2
	}
	c.pitch = [3]C.int{C.int(y.Pitch), C.int(u.Pitch), C.int(v.Pitch)}
	C.vf_rgba(octets(out), &c, octets(y.Data), octets(u.Data), octets(v.Data))
	return out
}

// coefficients returns those of a format's matrix and range.
func coefficients(f pipeline.Format) C.struct_vf_yuv {
	kr, kb := 0.299, 0.114
	switch f.Matrix {
	case pipeline.BT709:
		kr, kb = 0.2126, 0.0722
	case pipeline.BT2020:
		kr, kb = 0.2627, 0.0593
	}
	kg := 1 - kr - kb
	black, luma, chroma := 16, 255.0/219, 255.0/224
	if f.FullRange {
		black, luma, chroma = 0, 1, 1
	}
	fixed := func(x float64) C.int { return C.int(math.Round(x * (1 << 14))) }
	sx, sy := f.ChromaShift()
	return C.struct_vf_yuv{
		width: C.int(f.Width), rows: C.int(f.Height), sub_x: C.int(sx), sub_y: C.int(sy), black: C.int(black), y: fixed(luma),
		rv: fixed(2 * (1 - kr) * chroma), bu: fixed(2 * (1 - kb) * chroma),
		gu: fixed(2 * (1 - kb) * kb / kg * chroma), gv: fixed(2 * (1 - kr) * kr / kg * chroma),
	}
}

// difference writes |a-b|, amplified, into a. Both are RGBA, of the same size.
func difference(a, b []byte) {
	C.vf_difference(octets(a), octets(a), octets(b), C.int(len(a)/4), gain)
}

func octets(b []byte) *C.uint8_t { return (*C.uint8_t)(&b[0]) }
