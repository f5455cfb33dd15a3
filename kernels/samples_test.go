package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// eachPath calls do with every path of the filter on this machine: the reference and each
// instruction set.
func eachPath(t *testing.T, do func(t *testing.T, filter func(src *pipeline.Frame, p Planned) *pipeline.Frame)) {
	t.Run("reference", func(t *testing.T) {
		do(t, func(src *pipeline.Frame, p Planned) *pipeline.Frame { return reference(t, src, p) })
	})
	for _, isa := range isa.Names() {
		t.Run(isa, func(t *testing.T) {
			cpu := newCPU(t, 2, isa)
			do(t, func(src *pipeline.Frame, p Planned) *pipeline.Frame {
				dst := kerneltest.Frame(src.Format)
				cpuRun(t, cpu, dst, src, p)
				return dst
			})
		})
	}
}

// idleParams returns filters that change no word: radius 0, and sigmas too small for a difference
// of one level of 16 bits.
func idleParams() (all []Planned) {
	for b := range borderNames {
		p := DefaultBilateral(0)
		p.Border = Border(b)
		all = append(all, p)
	}
	fine := DefaultBilateral(3)
	fine.SigmaR, fine.Range = 0.01/257, Gaussian
	still := DefaultRecursive()
	still.SigmaS, still.SigmaR = RecursiveSigma[0], RecursiveSigma[0]
	return append(all, fine, still)
}

// TestNoChangeKeepsBits: samples of any value come out bit-identical where no word changes.
func TestNoChangeKeepsBits(t *testing.T) {
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		rng := rand.New(rand.NewPCG(5, 6))
		for i, size := range [][2]int{{1, 1}, {2, 2}, {7, 5}, {64, 16}, {131, 33}} {
			for _, l := range append(deepLayouts[i:][:5:5], testLayouts...) {
				for _, m := range testMatrices {
					for _, full := range []bool{false, true} {
						src := kerneltest.Frame(pipeline.Format{Layout: l, Width: size[0], Height: size[1], Matrix: m, FullRange: full})
						src.Interlaced = (i+int(m))%2 == 1
						kerneltest.Noise(src, rng)
						for _, p := range idleParams() {
							if d := kerneltest.Compare(filter(src, p), src); d.Count > 0 {
								t.Errorf("%s %s full=%v interlaced=%v %T %+v: %s", src.Format, m, full, src.Interlaced, p, p, d)
							}
						}
					}
				}
			}
		}
	})
}

// TestBeyondSurvives: differences between samples that map to the same word survive any options.
func TestBeyondSurvives(t *testing.T) {
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		rng := rand.New(rand.NewPCG(7, 8))
		for name, draw := range kerneltest.Beyond {
			for i, l := range append(deepLayouts[:4:4], testLayouts[:4]...) {
				for k, m := range testMatrices {
					src := kerneltest.Frame(pipeline.Format{Layout: l, Width: 37, Height: 19, Matrix: m})
					src.Interlaced = i%2 == 1
					draw(src, rng)
					p := DefaultBilateral(1 + 2*(i%4) + k)
					p.Range, p.Border = RangeWeight(i%2), Border(k%2)
					for _, p := range []Planned{p, DefaultRecursive()} {
						if d := kerneltest.Compare(filter(src, p), src); d.Count > 0 {
							t.Errorf("%s: %s %s %T %+v: %s", name, src.Format, m, p, p, d)
						}
					}
				}
			}
		}
	})
}

// TestPlanarRGB: planes of R, G and B come out as RGBA does.
func TestPlanarRGB(t *testing.T) {
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		packed := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 75, Height: 33})
		kerneltest.Scene(packed, rand.New(rand.NewPCG(61, 62)))
		planes := kerneltest.Frame(pipeline.Format{Layout: pipeline.GBRP, Width: 75, Height: 33})
		channels := func(plane, x, y int) byte { return packed.Row(0, y)[4*x+(plane+1)%3] }
		scene.EachSample(planes, channels)
		for i := range 4 {
			p := DefaultBilateral(2 + i%3)
			p.Range = RangeWeight(i % 2)
			for _, p := range []Planned{p, DefaultRecursive()} {
				want, got := filter(packed, p), filter(planes, p)
				for plane, y := range got.Rows() {
					for x, v := range got.Row(plane, y) {
						if w := want.Row(0, y)[4*x+(plane+1)%3]; v != w {
							t.Fatalf("%s: plane %d at %d, %d is %d, not %d", p.Filter(), plane, x, y, v, w)
						}
					}
				}
			}
		}
	})
}

// TestDepths: options mean the same at every depth. A picture with samples of 8 bits, shifted,
// comes out as in 8 bits, except for rounding.
func TestDepths(t *testing.T) {
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		for i, l := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV444P, pipeline.NV12} {
			plain := kerneltest.Frame(pipeline.Format{Layout: l, Width: 75, Height: 33, Matrix: pipeline.BT709})
			kerneltest.Scene(plain, rand.New(rand.NewPCG(51, 52)))
			p, r := DefaultBilateral(1+i), DefaultRecursive()
			p.Range = RangeWeight(i % 2)
			for _, p := range []Planned{p, r} {
				want := filter(plain, p)
				for _, depth := range []int{10, 12, 16} {
					format := plain.Format
					format.Layout = l.At(depth)
					deep, unit := kerneltest.Frame(format), 1<<(depth-8)
					scene.EachSample(deep, func(plane, x, y int) uint16 { return uint16(unit * int(plain.Row(plane, y)[x])) })
					got := filter(deep, p)
					rounded := kerneltest.Frame(plain.Format)
					scene.EachSample(rounded, func(plane, x, y int) byte {
						return byte(min(255, (kerneltest.Sample(format.Layout.Info(), got.Row(plane, y), x)+unit/2)/unit))
					})
					if diff := kerneltest.Compare(rounded, want); diff.Largest > 1 {
						t.Errorf("%s, %s: %s", format, p.Filter(), diff)
					}
				}
			}
		}
	})
}

// TestRamp: a ramp of luma from 0 to 255 keeps both ends, which words cannot distinguish, and is
// smoothed between them.
func TestRamp(t *testing.T) {
	const r = 2
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		src := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV420P, Width: 256, Height: 8, Matrix: pipeline.BT709})
		scene.EachSample(src, func(plane, x, y int) byte {
			if plane > 0 {
				return 128
			}
			return byte(min(max(x+3*(y%2), 0), 255))
		})
		out := filter(src, DefaultBilateral(r))
		changed := 0
		for y := range src.Height {
			for x, v := range out.Row(0, y) {
				in := src.Row(0, y)[x]
				if (x+r+3 <= 16 || x-r >= 235) && v != in {
					t.Errorf("luma %d at %d, %d came out as %d", in, x, y, v)
				}
				if v != in {
					changed++
				}
			}
		}
		if changed < 1000 {
			t.Errorf("%d samples changed: nothing was filtered", changed)
		}
	})
}

// TestAddsDifference works out one picture by hand: 4:2:0, two pixels, one of them whiter than
// white. Words are 255 and, for Y 226 and the same chroma, (226 - 16) 255/219 = 244.5, rounded up
// to 245. Clamped, a window of radius 1 holds the own pixel six times of nine: with weights of 1,
// 255 becomes 251.67, rounded to 252, and 245 becomes 248.33, rounded to 248: changes of -3 and 3
// levels of grey. They are -2.58 and 2.58 of luma and 0 of chroma.
func TestAddsDifference(t *testing.T) {
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		src := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV420P, Width: 2, Height: 1, Matrix: pipeline.BT601})
		copy(src.Row(0, 0), []byte{250, 226})
		src.Row(1, 0)[0], src.Row(2, 0)[0] = 128, 128
		out := filter(src, Bilateral{Radius: 1, SigmaS: 1e6, SigmaR: 1e6, Border: Clamp})
		got := fmt.Sprint(out.Row(0, 0), out.Row(1, 0), out.Row(2, 0))
		if got != "[247 229] [128] [128]" {
			t.Errorf("got %s", got)
		}
	})
}
