package denoise

import (
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Samples that the engine leaves unchanged keep their bits, and its changes come out at the
// original brightness, in every layout.
func TestSteadied(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.GRAY, pipeline.YUV422P.At(10), pipeline.YUV444P.At(16)} {
		for _, full := range []bool{false, true} {
			in := kerneltest.Frame(pipeline.Format{Layout: layout, Width: 34, Height: 18, FullRange: full})
			unit := 1 << (layout.Info().Depth - 8)
			scene.EachSample(in, func(p, x, y int) uint16 { return uint16((40 + 3*x + 2*y + 9*p) * unit) })
			for _, shade := range []noise.Shade{
				{Gains: [10]float64{0.8}},
				{Gains: [10]float64{1.2, 0.1, 0, 0, -0.15, 0, 0, 0.1}, Offset: 4},
			} {
				bright := steadied(in, &shade)
				for _, change := range []int{0, 3} {
					result := emptyPlanes(bright, changeDepth)
					eachComponent(bright, result, func(_ int, from, to plane.Component) {
						eachRow(from, func(y int, row, _ []uint16) {
							from.Read(row, 0, y)
							for x, v := range row {
								row[x] = uint16(scaleOf(from.Depth).up(v) + change<<8)
							}
							to.Write(row, y)
						})
					})
					unsteadied(result, in, &shade)
					out := emptyPlanes(in, layout.Info().Depth)
					addToPlanes(out, result)
					eachComponent(in, out, func(i int, from, to plane.Component) {
						was, is := make([]uint16, from.Width), make([]uint16, from.Width)
						for y := range from.Height {
							gains := shade.Row(noise.Place(y, from.Height))
							from.Read(was, 0, y)
							to.Read(is, 0, y)
							for x := range was {
								gain := gains.At(noise.Place(x, from.Width))
								want, got := float64(change)/gain, float64(int(is[x])-int(was[x]))/float64(unit)
								if change == 0 && got != 0 || math.Abs(got-want) > 2 {
									t.Fatalf("%v, gain %.2f, component %d: %d became %d, and not %.1f more", layout, gain, i, was[x], is[x], want)
								}
							}
						}
					})
				}
			}
		}
	}
}

// In a still scene that flickers, neighbours count as they do without flicker, and it flickers as
// before.
func TestFilterFlicker(t *testing.T) {
	left := func(lit bool) (square float64) {
		f := newFilm(t, options(Good))
		f.still, f.lit = true, lit
		const count, from = 14, 9
		for n := range count {
			in := f.frame(n, small)
			in.Context = n < from
			f.put(in)
		}
		f.end()
		for n, got := range f.got {
			light := f.light(rand.New(rand.NewPCG(7, uint64(n))))
			for i, v := range got[:small.Width*small.Height] {
				d := float64(v) - light*pattern(0, i%small.Width, i/small.Width)
				square += d * d / float64(small.Width*small.Height*len(f.got))
			}
		}
		return square
	}
	steady, flickers := left(false), left(true)
	t.Logf("left %.2f, with flicker %.2f, of 64", steady, flickers)
	if flickers > 1.2*steady {
		t.Errorf("flicker leaves %.2f, and not %.2f", flickers, steady)
	}
}
