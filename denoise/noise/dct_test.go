package noise

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTransform: the coefficients are the same bits as the plain DCT's at every depth, and blocks
// that are cut off or black are refused.
func TestTransform(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, unit := range []int{1, 2, 4, 16, 256} {
		ends := []int{0, unit, 254 * unit, 256*unit - 1}
		inner := []int{unit + 1, 254*unit - 1, 16*unit - 1, 16*unit + 1}
		for n := range 65 {
			var own, other samples
			var in, rest, block, diff block
			for i := range own {
				own[i], other[i] = uint16(inner[r.IntN(4)]), uint16(r.IntN(256*unit))
			}
			set := own
			for _, i := range r.Perm(64)[:n] {
				own[i], set[i] = uint16(ends[r.IntN(4)]), uint16(16*unit)
			}
			for i := range own {
				in[i] = float32(own[i]) / float32(unit)
				rest[i] = (in[i] - float32(other[i])/float32(unit)) * (math.Sqrt2 / 2)
			}
			in.dct()
			rest.dct()
			if !own.transform(&other, unit, n, 0, &block, &diff) || block != in || diff != rest {
				t.Fatalf("unit %d, %d samples at the ends:\n%v\n%v instead of\n%v\n%v", unit, n, block, diff, in, rest)
			}
			if !set.transform(nil, unit, 0, n, &block, nil) {
				t.Errorf("unit %d: %d black samples are too many", unit, n)
			}
			if n > 0 && (own.transform(nil, unit, n-1, 64, &block, nil) || set.transform(nil, unit, 64, n-1, &block, nil)) {
				t.Errorf("unit %d: %d samples are not too many", unit, n)
			}
		}
	}
}

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

// dct transforms a block in place, as vn_transform does: DCT-II, orthonormal.
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
