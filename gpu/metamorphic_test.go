package gpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// seen returns a frame with src's sample from(x, y) at x, y, in each plane.
func seen(src *pipeline.Frame, width, height int, from func(x, y int) (int, int)) *pipeline.Frame {
	format := src.Format
	format.Width, format.Height = width, height
	out := kerneltest.Frame(format)
	scene.EachSample(out, func(plane, x, y int) uint16 {
		x, y = from(x, y)
		return uint16(kerneltest.Sample(src.Layout.Info(), src.Row(plane, y), x))
	})
	return out
}

// TestSeenFromElsewhere holds the device to the properties of the reference that kernels' tests
// find: a mirrored picture comes out mirrored except for rounding, and a part of a picture, away
// from its edges, has the bits of the whole, wherever blocks begin. Tensor cores, for large radii,
// sum in an order that depends on the place in the block: there a sample in 100 may be rounded the
// other way.
func TestSeenFromElsewhere(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	const width, height, left, top, margin = 103, 85, 7, 5, 32
	b := open(t, Options{})
	small := kernels.DefaultRecursive()
	small.SigmaS, small.Iterations = 2, 1
	for i, l := range []pipeline.Layout{pipeline.YUV444P, pipeline.GRAY.At(10)} {
		src := kerneltest.Frame(yuv(l, width, height))
		kerneltest.Scene(src, rand.New(rand.NewPCG(91, uint64(i))))
		for _, p := range []kernels.Planned{kernels.DefaultBilateral(2), kernels.DefaultBilateral(9), small} {
			turned, cropped := 1000, math.MaxInt // at most 1 in this many differs
			if kernels.NumberOf(p, "radius") == 9 {
				turned, cropped = 100, 100
			}
			whole := filterOne(t, b, src, p, true)
			for name, turn := range map[string]func(x, y int) (int, int){
				"left and right": func(x, y int) (int, int) { return width - 1 - x, y },
				"top and bottom": func(x, y int) (int, int) { return x, height - 1 - y },
			} {
				got := seen(filterOne(t, b, seen(src, width, height, turn), p, true), width, height, turn)
				if d := kerneltest.Compare(got, whole); d.Largest > d.Bound() || d.Count > d.Samples/turned {
					t.Errorf("%s, %s, %T %+v: %s", name, l, p, p, d)
				}
			}
			part := seen(src, width-left, height-top, func(x, y int) (int, int) { return x + left, y + top })
			inner := func(f *pipeline.Frame, left, top int) *pipeline.Frame {
				return seen(f, width-7-2*margin, height-5-2*margin, func(x, y int) (int, int) { return x + left, y + top })
			}
			d := kerneltest.Compare(inner(filterOne(t, b, part, p, true), margin, margin), inner(whole, left+margin, top+margin))
			if d.Largest > d.Bound() || d.Count > d.Samples/cropped {
				t.Errorf("a part, %s, %T %+v: %s", l, p, p, d)
			}
		}
	}
}

// TestDenoiseSeenFromElsewhere: a frame that is mirrored comes out mirrored, if patches and cells
// lie as far from the left as from the right; see denoise's TestTurned.
func TestDenoiseSeenFromElsewhere(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b, format, o := open(t, Options{}), yuv(pipeline.GRAY, 112, 64), denoiseOptions(denoise.Good)
	o.Depth = 10 // without the pattern of 8 bits
	src := noisyClip{format, 1, false}.frame(0)
	denoised := func(in *pipeline.Frame) *pipeline.Frame {
		pool := pipeline.NewPool(b, 4)
		defer pool.Close()
		filter, out := denoising(b, pool, o), kerneltest.Frame(yuv(pipeline.GRAY.At(o.Depth), format.Width, format.Height))
		emit := func(f *pipeline.Frame) error { out.CopySamples(f); f.Release(); return nil }
		e2e.Must(t, filter.Process(t.Context(), in, emit))
		e2e.Must(t, filter.Flush(t.Context(), emit))
		return out
	}
	turn := func(f *pipeline.Frame) *pipeline.Frame {
		return seen(f, format.Width, format.Height, func(x, y int) (int, int) { return format.Width - 1 - x, y })
	}
	mirrored := turn(src)
	want := denoised(src.Retain())
	if d := kerneltest.Compare(turn(denoised(mirrored)), want); d.Largest > 1 || d.Count*1000 > d.Samples {
		t.Error(d)
	}
	deeper := kerneltest.Frame(want.Format)
	deeper.CopySamples(src)
	if bytes.Equal(want.Row(0, 9), deeper.Row(0, 9)) {
		t.Error("nothing was filtered")
	}
}
