package gpu

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestNoChangeKeepsBits: if the filter changes no word, samples of all values come out
// unchanged, in each layout, matrix, range and field order, in pictures of whole vectors and
// others.
func TestNoChangeKeepsBits(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(41, 42))
	still := kernels.Recursive{SigmaS: kernels.RecursiveSigma[0], SigmaR: kernels.RecursiveSigma[0], Iterations: 1}
	i := 0
	for _, size := range [][2]int{{2, 2}, {64, 16}, {131, 33}} {
		for _, l := range append([]pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.RGBA}, deepLayouts...) {
			for _, m := range []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020} {
				p := kernels.DefaultBilateral(0)
				p.Border = kernels.Border(i % 2)
				for _, p := range []kernels.Planned{p, still} {
					src := kerneltest.Frame(pipeline.Format{Layout: l, Width: size[0], Height: size[1], Matrix: m, FullRange: i%2 == 1})
					src.Interlaced = i/2%2 == 1
					kerneltest.Noise(src, rng)
					if d := kerneltest.Compare(filterOne(t, b, src, p, i%3 > 0), src); d.Count > 0 {
						t.Errorf("%s %s full=%v interlaced=%v, %T %+v: %s", src.Format, m, src.FullRange, src.Interlaced, p, p, d)
					}
				}
				i++
			}
		}
	}
}

// TestBeyondSurvives: no kernel that takes YUV flattens different samples that map to the same
// word.
func TestBeyondSurvives(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(43, 44))
	names := slices.Sorted(maps.Keys(kerneltest.Beyond))
	for i, v := range kernels.Variants() {
		if v.GBR {
			continue
		}
		name := names[i%len(names)]
		stage, border, narrow := v.Adapt(kernels.DefaultBilateral(3)), kernels.Border(0), true
		if p, ok := stage.(kernels.Bilateral); ok {
			border, narrow = kernels.Border(i/3%2), p.Radius < 5
			p.Border, stage = border, p
		}
		format := pipeline.Format{Layout: layoutFor(v, pipeline.YUV420P+pipeline.Layout(i%4)), Width: 48 + i%7, Height: 11 + i%5, Matrix: pipeline.BT709}
		src, got := kerneltest.Frame(format), kerneltest.Frame(format)
		src.Interlaced = i%2 == 1 && narrow
		kerneltest.Beyond[name](src, rng)
		what := fmt.Sprintf("%s, %s: %s, border %s, interlaced=%v", v.Name, name, format, border, src.Interlaced)
		if err := b.RunKernel(context.Background(), v.Planner(stage), got, src); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if d := kerneltest.Compare(got, src); d.Count > 0 {
			t.Errorf("%s: %s", what, d)
		}
	}
}
