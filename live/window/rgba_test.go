package window

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"vidfilter/pipeline"
)

// Every pixel is within one level of the standards' matrix, also next to others, beyond the gamut,
// and in wide rows.
func TestRGBA(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var out []byte
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.YUV422P, pipeline.YUV444P} {
		for _, matrix := range []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020} {
			for _, full := range []bool{false, true} {
				f := frame(pipeline.Format{Layout: layout, Width: 2051, Height: 7, Matrix: matrix, FullRange: full}, [4]rgb{}, new(atomic.Int32))
				for i := range f.NumPlanes() {
					for j := range f.Planes[i].Data {
						f.Planes[i].Data[j] = byte(r.Uint32())
					}
				}
				out = toRGBA(out, f)
				checkRGBA(t, f, out)
			}
		}
	}
}

func checkRGBA(t *testing.T, f *pipeline.Frame, out []byte) {
	t.Helper()
	sx, sy := f.ChromaShift()
	for y := range f.Height {
		for x := range f.Width {
			u, v := 0, 0
			if f.Layout == pipeline.NV12 {
				u, v = int(f.Row(1, y>>sy)[x>>sx*2]), int(f.Row(1, y>>sy)[x>>sx*2+1])
			} else {
				u, v = int(f.Row(1, y>>sy)[x>>sx]), int(f.Row(2, y>>sy)[x>>sx])
			}
			p := out[4*(y*f.Width+x):][:4]
			want := back(f.Format, float64(f.Row(0, y)[x]), float64(u), float64(v))
			for i, w := range want {
				if math.Abs(float64(p[i])-w) > 1 {
					t.Fatalf("%v %v full %v: at %d, %d channel %d is %d, want %.1f", f.Format, f.Matrix, f.FullRange, x, y, i, p[i], w)
				}
			}
			if p[3] != 255 {
				t.Fatalf("alpha %d", p[3])
			}
		}
	}
}

// back inverts yuv, which is linear, and clamps.
func back(f pipeline.Format, y, u, v float64) (c rgb) {
	if !f.FullRange {
		y, u, v = (y-16)*255/219, (u-128)*255/224+128, (v-128)*255/224+128
	}
	full := f
	full.FullRange = true
	unit := yuv(full, rgb{1, 0, 0})
	kr := unit[0]
	kb := yuv(full, rgb{0, 0, 1})[0]
	c[0] = y + (v-128)*(2-2*kr)
	c[2] = y + (u-128)*(2-2*kb)
	c[1] = (y - kr*c[0] - kb*c[2]) / (1 - kr - kb)
	for i := range c {
		c[i] = min(255, max(0, c[i]))
	}
	return c
}

func BenchmarkRGBA(b *testing.B) {
	for _, layout := range []pipeline.Layout{pipeline.YUV422P, pipeline.YUV444P} {
		f := frame(pipeline.Format{Layout: layout, Width: 1920, Height: 1080, Matrix: pipeline.BT601, FullRange: true}, before, new(atomic.Int32))
		b.Run(layout.String(), func(b *testing.B) {
			var out []byte
			for b.Loop() {
				out = toRGBA(out, f)
			}
			b.SetBytes(int64(len(out)))
		})
	}
}
