package kernels

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// moved returns a frame of another size with src's sample from(plane, x, y) at x, y of each plane.
func moved(src *pipeline.Frame, width, height int, from func(plane, x, y int) (int, int)) *pipeline.Frame {
	format := src.Format
	format.Width, format.Height = width, height
	out := kerneltest.Frame(format)
	info := src.Layout.Info()
	scene.EachSample(out, func(plane, x, y int) uint16 {
		x, y = from(plane, x, y)
		return uint16(kerneltest.Sample(info, src.Row(plane, y), x))
	})
	return out
}

// planeSize returns the size of a plane in samples.
func planeSize(f pipeline.Format, plane int) (int, int) {
	bytes, rows := f.PlaneSize(plane)
	return bytes / f.Layout.Info().SampleBytes(), rows
}

// turns are the ways to look at a picture. Each undoes itself.
var turns = map[string]func(f *pipeline.Frame) *pipeline.Frame{
	"left and right": func(f *pipeline.Frame) *pipeline.Frame {
		return moved(f, f.Width, f.Height, func(plane, x, y int) (int, int) {
			w, _ := planeSize(f.Format, plane)
			return w - 1 - x, y
		})
	},
	"top and bottom": func(f *pipeline.Frame) *pipeline.Frame {
		return moved(f, f.Width, f.Height, func(plane, x, y int) (int, int) {
			_, h := planeSize(f.Format, plane)
			return x, h - 1 - y
		})
	},
	"rows and columns": func(f *pipeline.Frame) *pipeline.Frame {
		return moved(f, f.Height, f.Width, func(plane, x, y int) (int, int) { return y, x })
	},
}

// metamorphicParams cover each range weight and border with small and large radii, or only small
// ones for the slow reference. The reach of the recursive filters is below TestCropped's margin.
func metamorphicParams(t *testing.T) (all []Planned) {
	radii := []int{1, 2, 3, 5, 6, 9, 12, 15}
	if strings.HasSuffix(t.Name(), "/reference") {
		radii = []int{1, 2, 1, 3, 1, 2, 1, 2}
	}
	for i, radius := range radii {
		p := DefaultBilateral(radius)
		p.Range, p.Border = RangeWeight(i%2), Border(i/2%2)
		all = append(all, p)
	}
	return append(all, Recursive{SigmaS: 2, SigmaR: 60, Iterations: 1},
		Recursive{SigmaS: 3, SigmaR: 60, Iterations: 3})
}

var metamorphicLayouts = []pipeline.Layout{
	pipeline.YUV420P, pipeline.YUV444P, pipeline.GRAY, pipeline.GBRP, pipeline.YUV420P.At(10), pipeline.YUV444P.At(16),
}

// TestTurned: a picture that is mirrored or transposed comes out mirrored or transposed: on the
// reference bit for bit; on others a sample in 1,000 may be rounded the other way, since sums are
// taken in another order. The recursive filter is not transposed, since it takes rows first.
func TestTurned(t *testing.T) {
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		total := kerneltest.Difference{}
		for i, l := range metamorphicLayouts {
			src := kerneltest.Frame(pipeline.Format{Layout: l, Width: 90, Height: 46, Matrix: pipeline.BT709})
			kerneltest.Scene(src, rand.New(rand.NewPCG(71, uint64(i))))
			for _, p := range metamorphicParams(t) {
				want := filter(src, p)
				for name, turn := range turns {
					if _, recursive := p.(Recursive); recursive && name == "rows and columns" {
						continue
					}
					d := kerneltest.Compare(turn(filter(turn(src), p)), want)
					if d.Largest > d.Bound() {
						t.Errorf("%s, %s, %T %+v: %s", name, l, p, p, d)
					}
					total.Merge(d)
				}
			}
		}
		if t.Log(total); total.Count*1000 > total.Samples || total.Count > 0 && strings.HasSuffix(t.Name(), "/reference") {
			t.Error("too many differ: ", total)
		}
	})
}

// TestCropped: away from its borders, a part of a picture comes out as in the whole. It begins
// elsewhere in tiles and vectors, which do not count.
func TestCropped(t *testing.T) {
	const margin = 32 // more than any filter of these tests reaches, and even
	eachPath(t, func(t *testing.T, filter func(*pipeline.Frame, Planned) *pipeline.Frame) {
		for i, l := range metamorphicLayouts {
			whole := kerneltest.Frame(pipeline.Format{Layout: l, Width: 115, Height: 95, Matrix: pipeline.BT709})
			kerneltest.Scene(whole, rand.New(rand.NewPCG(72, uint64(i))))
			info := l.Info()
			left, top := 6<<info.SubX+i%2<<info.SubX, 5<<info.SubY
			crop := func(f *pipeline.Frame, left, top, width, height int) *pipeline.Frame {
				return moved(f, width, height, func(plane, x, y int) (int, int) {
					if plane > 0 {
						return x + left>>info.SubX, y + top>>info.SubY
					}
					return x + left, y + top
				})
			}
			part := crop(whole, left, top, 87, 77)
			for _, p := range metamorphicParams(t) {
				got := crop(filter(part, p), margin, margin, 87-2*margin, 77-2*margin)
				want := crop(filter(whole, p), left+margin, top+margin, 87-2*margin, 77-2*margin)
				if d := kerneltest.Compare(got, want); d.Count > 0 {
					t.Errorf("%s, %T %+v: %s", l, p, p, d)
				}
			}
		}
	})
}

// TestFramesAlone: a frame comes out the same after any other: in a still, at a cut, at a flash.
func TestFramesAlone(t *testing.T) {
	for _, isa := range isa.Names() {
		cpu := newCPU(t, 2, isa)
		format := pipeline.Format{Layout: pipeline.YUV420P, Width: 90, Height: 46, Matrix: pipeline.BT709}
		still, flash, other := kerneltest.Frame(format), kerneltest.Frame(format), kerneltest.Frame(format)
		kerneltest.Scene(still, rand.New(rand.NewPCG(73, 1)))
		kerneltest.Noise(other, rand.New(rand.NewPCG(73, 2)))
		scene.EachSample(flash, func(plane, x, y int) byte { return byte(min(255, 90+int(still.Row(plane, y)[x]))) })
		for _, p := range metamorphicParams(t) {
			pool := pipeline.NewPool(cpu, 1)
			f, err := cpu.Filter(p, pool)
			e2e.Must(t, err)
			for i, in := range []*pipeline.Frame{still, still, flash, still, other, still, still} {
				want := kerneltest.Frame(format)
				cpuRun(t, newCPU(t, 1, isa), want, in, p)
				err := f.Process(context.Background(), in.Retain(), func(out *pipeline.Frame) error {
					if d := kerneltest.Compare(out, want); d.Count > 0 {
						t.Errorf("%s, %T %+v, frame %d: %s", isa, p, p, i, d)
					}
					out.Release()
					return nil
				})
				e2e.Must(t, err)
			}
			pool.Close()
		}
	}
}
