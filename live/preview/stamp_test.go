package preview_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/live/preview"
	"vidfilter/pipeline"
)

func TestStamp(t *testing.T) {
	for _, width := range []int{8, 64, 66, 71, 72, 100, 576, 583, 1920} {
		for _, s := range []preview.Stamp{{}, {Time: 1.7e12 + 0.3, Seq: 65535}, {Time: (1<<40 - 1) / 10., Seq: 1}, {Time: 0x5555555555 / 10., Seq: 0xaaaa}} {
			pitch := width + 7
			luma := pipeline.Plane{Data: make([]byte, pitch*preview.StampHeight(width)), Pitch: pitch}
			for _, full := range []bool{false, true} {
				preview.DrawStamp(luma, width, full, s)
				got, ok := preview.ReadStamp(luma, width)
				if want := math.Mod(s.Time, (1<<40)/10.); !ok || got.Seq != s.Seq || math.Abs(got.Time-want) > 0.01 {
					t.Errorf("width %d: %+v becomes %+v, %v", width, s, got, ok)
				}
			}
		}
	}
}

// A stamp with an invalid time reads as time 0. Damaged stamps and noise are rejected.
func TestNoStamp(t *testing.T) {
	const width = 64
	luma := pipeline.Plane{Data: make([]byte, width*preview.StampHeight(width)), Pitch: width}
	for _, ms := range []float64{math.NaN(), math.Inf(1), -5} {
		preview.DrawStamp(luma, width, false, preview.Stamp{Time: ms, Seq: 3})
		if s, ok := preview.ReadStamp(luma, width); !ok || s.Time != 0 || s.Seq != 3 {
			t.Errorf("%g becomes %+v, %v", ms, s, ok)
		}
	}
	for x := range 8 {
		for y := range 8 {
			luma.Data[y*width+x] ^= 255 // one bit
		}
	}
	if s, ok := preview.ReadStamp(luma, width); ok {
		t.Errorf("a damaged stamp is %+v", s)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		for i := range luma.Data {
			luma.Data[i] = byte(rng.Uint32())
		}
		if s, ok := preview.ReadStamp(luma, width); ok {
			t.Errorf("noise is %+v", s)
		}
	}
	if _, ok := preview.ReadStamp(pipeline.Plane{Data: luma.Data[:100], Pitch: width}, width); ok {
		t.Error("a plane that is too small")
	}
	if _, ok := preview.ReadStamp(luma, 7); ok {
		t.Error("a plane that is too narrow")
	}
}

func TestStampIsAsSpecified(t *testing.T) {
	const width = 72 * 8
	luma := pipeline.Plane{Data: make([]byte, width*8), Pitch: width}
	preview.DrawStamp(luma, width, false, preview.Stamp{Time: 0x0102030405 / 10., Seq: 0x0607})
	want := []byte{0xa5, 1, 2, 3, 4, 5, 6, 7, 0xa5 ^ 1 ^ 2 ^ 3 ^ 4 ^ 5 ^ 6 ^ 7}
	for bit := range 72 {
		v := byte(16)
		if want[bit/8]>>(7-bit%8)&1 == 1 {
			v = 235
		}
		for _, at := range []int{bit * 8, 7*width + bit*8 + 7} {
			if luma.Data[at] != v {
				t.Fatalf("bit %d is %d, want %d", bit, luma.Data[at], v)
			}
		}
	}
}
