package kernels

import (
	"fmt"
	"math"

	"vidfilter/pipeline"
)

// transform is a frame's colour matrix, range and depth. It maps between samples and R, G, B, both
// in levels of the depth: 0 to most, which is 255 at 8 bits.
//
// E = kr R + kg G + kb B           Y = E/yGain + yOff
// U = (B-E) / uGain + middle       V = (R-E) / vGain + middle
//
// Source: ITU-R BT.601-7, BT.709-6, BT.2020-2 (kr, kb); ITU-T H.273, 8.3 (quantisation at any
// depth). The transfer function takes no part: PQ and HLG are filtered on their code values.
type transform struct {
	kr, kg, kb   float64
	yGain, yOff  float64
	uGain, vGain float64 // B-E and R-E of one level of U and V
	most, middle float64 // the largest sample; the value of U and V in gray
}

// newTransform returns the transform of a format. RGB carries no matrix and gets the luma of
// BT.709.
func newTransform(f pipeline.Format) (transform, error) {
	m := f.Matrix
	if f.Layout.Info().RGB {
		m = pipeline.BT709
	}
	var t transform
	switch m {
	case pipeline.BT601:
		t.kr, t.kb = 0.299, 0.114
	case pipeline.BT709:
		t.kr, t.kb = 0.2126, 0.0722
	case pipeline.BT2020:
		t.kr, t.kb = 0.2627, 0.0593
	default:
		return t, fmt.Errorf("kernels: %s has no colour matrix (%s)", f, m)
	}
	t.kg = 1 - t.kr - t.kb
	depth := f.Layout.Info().Depth
	unit := math.Ldexp(1, depth-8)
	t.most, t.middle = mostOf(depth), 128*unit
	chroma := 1.0
	t.yGain = 1
	if !f.FullRange {
		t.yGain, t.yOff, chroma = t.most/(219*unit), 16*unit, t.most/(224*unit)
	}
	t.uGain, t.vGain = 2*(1-t.kb)*chroma, 2*(1-t.kr)*chroma
	return t, nil
}

// mostOf returns the largest sample of a depth.
func mostOf(depth int) float64 { return float64(int(1)<<depth - 1) }

// rgb returns the colour of one sample of each plane, unrounded and unclamped.
func (t transform) rgb(y, u, v float64) (r, g, b float64) {
	e := t.yGain * (y - t.yOff)
	r = e + t.vGain*(v-t.middle)
	b = e + t.uGain*(u-t.middle)
	return r, (e - t.kr*r - t.kb*b) / t.kg, b
}

// yuv is the inverse of rgb.
func (t transform) yuv(r, g, b float64) (y, u, v float64) {
	e := t.luma(r, g, b)
	return e/t.yGain + t.yOff, (b-e)/t.uGain + t.middle, (r-e)/t.vGain + t.middle
}

// luma returns E, 0 to most.
func (t transform) luma(r, g, b float64) float64 { return t.kr*r + t.kg*g + t.kb*b }

// toWords is rgb in single precision, with colours of 0 to 1. With a narrow sigma_r one level of a
// word moves weights by a third, so all devices have the same words, to the bit: by these numbers,
// in this order, each product and its sum rounded once.
type toWords struct {
	gain, rv, gu, gv, bu, r0, g0, b0 float32
	most                             float32
}

// toWords derives the map by feeding the transform zero and the unit vectors.
func (t transform) toWords() toWords {
	r0, g0, b0 := t.rgb(0, 0, 0)
	_, gu, bu := t.rgb(0, 1, 0)
	rv, gv, _ := t.rgb(0, 0, 1)
	part := func(x float64) float32 { return float32(x / t.most) }
	return toWords{part(t.yGain), part(rv - r0), part(gu - g0), part(gv - g0), part(bu - b0), part(r0), part(g0), part(b0), float32(t.most)}
}

// of returns the word of one sample of each plane. Ties round to even.
func (m *toWords) of(y, u, v uint16) word {
	level := func(chroma float32) uint16 {
		colour := min(max(fused(m.gain, float32(y), chroma), 0), 1)
		return uint16(math.RoundToEven(float64(colour) * float64(m.most)))
	}
	return word{
		level(fused(m.rv, float32(v), m.r0)),
		level(fused(m.gu, float32(u), fused(m.gv, float32(v), m.g0))),
		level(fused(m.bu, float32(u), m.b0)),
		uint16(m.most),
	}
}

// fused returns a b + c, rounded once: the product of two floats is exact in float64, and so is the
// sum for maps of samples.
func fused(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

// level rounds to nearest and clamps to the depth.
func (t transform) level(x float64) uint16 { return uint16(min(max(nearest(x), 0), t.most)) }

// takes reports whether the filters of this package take a layout.
func takes(l pipeline.Layout) bool { return l.Valid() }

// checkFrame rejects frames with an unknown layout, no pixels, or planes shorter than the format
// requires.
func checkFrame(f *pipeline.Frame) error {
	if !takes(f.Layout) {
		return fmt.Errorf("kernels: no filter for layout %s", f.Layout)
	}
	if f.Width < 1 || f.Height < 1 {
		return fmt.Errorf("kernels: %s has no pixels", f.Format)
	}
	for i := range f.NumPlanes() {
		w, rows := f.PlaneSize(i)
		p := f.Planes[i]
		if p.Pitch < w || len(p.Data) < p.Pitch*(rows-1)+w {
			return fmt.Errorf("kernels: plane %d of %s: %d bytes at pitch %d are too few", i, f.Format, len(p.Data), p.Pitch)
		}
	}
	return nil
}

// checkPair checks both frames of a call and that their formats match.
func checkPair(dst, src *pipeline.Frame) error {
	if err := checkFrame(src); err != nil {
		return err
	}
	if dst.Format != src.Format {
		return fmt.Errorf("kernels: output is %s, input %s", dst.Format, src.Format)
	}
	return checkFrame(dst)
}
