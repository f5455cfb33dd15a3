package noise

import "math"

// block is an 8x8 block of samples or of coefficients, at [v*8+u].
type block [64]float32

// Of an orthonormal DCT of eight samples: half the cosines of k*pi/16.
var (
	cos1 = float32(math.Cos(1*math.Pi/16) / 2)
	cos2 = float32(math.Cos(2*math.Pi/16) / 2)
	cos3 = float32(math.Cos(3*math.Pi/16) / 2)
	cos4 = float32(math.Cos(4*math.Pi/16) / 2)
	cos5 = float32(math.Cos(5*math.Pi/16) / 2)
	cos6 = float32(math.Cos(6*math.Pi/16) / 2)
	cos7 = float32(math.Cos(7*math.Pi/16) / 2)
)

// dct transforms a block in place: DCT-II, orthonormal.
func (b *block) dct() {
	for i := 0; i < 64; i += 8 {
		r := (*[8]float32)(b[i:])
		r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7] =
			dct8(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])
	}
	for i := range 8 {
		c := (*[57]float32)(b[i:])
		c[0], c[8], c[16], c[24], c[32], c[40], c[48], c[56] =
			dct8(c[0], c[8], c[16], c[24], c[32], c[40], c[48], c[56])
	}
}

// dct8 folds the samples into even and odd halves, which need half the products. The conversions
// keep the compiler from fusing a product and a sum, which would give other bits on other machines.
func dct8(a, b, c, d, e, f, g, h float32) (t0, t1, t2, t3, t4, t5, t6, t7 float32) {
	s0, s1, s2, s3 := a+h, b+g, c+f, d+e
	d0, d1, d2, d3 := a-h, b-g, c-f, d-e
	p, q, r, s := s0+s3, s1+s2, s0-s3, s1-s2
	t0 = (p + q) * cos4
	t4 = (p - q) * cos4
	t2 = float32(r*cos2) + float32(s*cos6)
	t6 = float32(r*cos6) - float32(s*cos2)
	t1 = float32(d0*cos1) + float32(d1*cos3) + float32(d2*cos5) + float32(d3*cos7)
	t3 = float32(d0*cos3) - float32(d1*cos7) - float32(d2*cos1) - float32(d3*cos5)
	t5 = float32(d0*cos5) - float32(d1*cos1) + float32(d2*cos7) + float32(d3*cos3)
	t7 = float32(d0*cos7) - float32(d1*cos5) + float32(d2*cos3) - float32(d3*cos1)
	return
}
