package gpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// recursiveCase is a picture and options for the recursive filter.
type recursiveCase struct {
	format     pipeline.Format
	interlaced bool
	draw       string
	p          kernels.Recursive
}

func (c recursiveCase) String() string {
	return fmt.Sprintf("%s %s %s full=%v interlaced=%v sigmas %g/%g, %d iterations", c.draw, c.format, c.format.Matrix, c.format.FullRange,
		c.interlaced, c.p.SigmaS, c.p.SigmaR, c.p.Iterations)
}

// drawings are pictures that are hard in different ways: edges of the highest contrast, one
// colour, one pixel, and slopes whose samples affect distant ones.
var drawings = map[string]func(*pipeline.Frame, *rand.Rand){
	"scene": kerneltest.Scene,
	"noise": kerneltest.Noise,
	"flat": func(f *pipeline.Frame, _ *rand.Rand) {
		scene.EachSample(f, func(plane, _, _ int) byte { return byte(90 + 20*plane) })
	},
	"edges": func(f *pipeline.Frame, _ *rand.Rand) {
		scene.EachSample(f, func(_, x, y int) byte { return byte(255 * ((x/37 + y/23) % 2)) })
	},
	"dot": func(f *pipeline.Frame, _ *rand.Rand) {
		scene.EachSample(f, func(_, x, y int) byte { return byte(20 + 200*(1-min(1, max(x, y)/4))) })
	},
	"slope": func(f *pipeline.Frame, _ *rand.Rand) {
		scene.EachSample(f, func(_, x, y int) byte { return byte(min(255, (x+y)/2)) })
	},
}

var drawingNames = []string{"scene", "noise", "flat", "edges", "dot", "slope"}

// recursiveCases combines all layouts, sizes and drawings. Other options vary in their own cycles.
func recursiveCases() (cases []recursiveCase) {
	sizes := [][2]int{{1, 1}, {2, 2}, {1, 40}, {40, 1}, {7, 5}, {63, 17}, {3, 131}, {141, 61}, {16, 16}, {17, 33}}
	sigmas := [][2]float64{{50, 50}, {200, 150}, {3, 20}, {0.3, 5}, {10, 3}, {1000, 10000}, {0.01, 0.01}, {100, 1}}
	matrices := []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020}
	i := 0
	for _, size := range sizes {
		for l := pipeline.YUV420P; l <= pipeline.RGBA; l++ {
			for _, name := range drawingNames {
				s := sigmas[(i+i/len(sigmas))%len(sigmas)]
				cases = append(cases, recursiveCase{
					format:     pipeline.Format{Layout: l, Width: size[0], Height: size[1], Matrix: matrices[i%3], FullRange: i/3%2 == 1},
					interlaced: i%5 == 4, draw: name,
					p: kernels.Recursive{SigmaS: s[0], SigmaR: s[1], Iterations: 1 + i/2%kernels.MaxIterations},
				})
				i++
			}
		}
	}
	return cases
}

func (c recursiveCase) source(rng *rand.Rand) *pipeline.Frame {
	src := kerneltest.Frame(c.format)
	src.Interlaced = c.interlaced
	drawings[c.draw](src, rng)
	return src
}

// TestRecursive compares the filter on a device with the reference: samples are off by at most
// 1 level, and 99 % of them are equal. Every fourth case has more bits and the bounds of
// kerneltest.
func TestRecursive(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(31, 32))
	totals := map[int]*kerneltest.Difference{}
	for i, c := range recursiveCases() {
		if i%4 == i/30%4 {
			c.format.Layout = deepLayouts[i/4%len(deepLayouts)]
		}
		src := c.source(rng)
		d := kerneltest.Compare(filterOne(t, b, src, c.p, i%2 == 0), reference(t, src, c.p))
		if d.Largest > d.Bound() {
			t.Errorf("%s: %s", c, d)
		}
		depth := c.format.Layout.Info().Depth
		if totals[depth] == nil {
			totals[depth] = new(kerneltest.Difference)
		}
		totals[depth].Merge(d)
	}
	for depth, d := range totals {
		t.Logf("%d bits: %s", depth, d)
		if d.TooMany() {
			t.Errorf("%d bits: too many differ: %s", depth, d)
		}
	}
}

// TestRecursiveVariants holds the variants that the filter does not choose here to the same
// limits: lines cut into pieces, as on devices with little shared memory, and variants that exist
// only for measurements.
func TestRecursiveVariants(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(33, 34))
	for _, v := range kernels.Variants() {
		if v.Form.Filter.Name != "recursive" {
			continue
		}
		for i, size := range [][2]int{{1100, 9}, {7, 2101}, {131, 67}} {
			c := recursiveCase{
				format: pipeline.Format{Layout: layoutFor(v, pipeline.NV12), Width: size[0], Height: size[1], Matrix: pipeline.BT709},
				draw:   drawingNames[i], p: kernels.Recursive{SigmaS: 300, SigmaR: 80, Iterations: 2}, interlaced: i == 1,
			}
			src, got := c.source(rng), kerneltest.Frame(c.format)
			e2e.Must(t, b.RunKernel(context.Background(), cramped(v, c.p), got, src))
			if d := kerneltest.Compare(got, reference(t, src, c.p)); d.TooFar() {
				t.Errorf("%s: %s: %s", v.Name, c, d)
			}
		}
	}
}

// cramped plans a variant for the device with the least shared memory that it is compiled for.
func cramped(v kernels.Variant, p kernels.Planned) kernels.Planner {
	return func(f pipeline.Format, l kernels.Limits) (*kernels.Plan, error) {
		l.SharedBlock = min(l.SharedBlock, map[int]int{61: 48 << 10, 80: 99 << 10, 90: 227 << 10}[v.Compute])
		return v.Planner(p)(f, l)
	}
}

// TestRecursiveStays filters enough long lines that each block processes several pairs of them,
// loading the next while it filters one.
func TestRecursiveStays(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(37, 38))
	c := recursiveCase{
		format: pipeline.Format{Layout: pipeline.NV12, Width: 2640, Height: 792, Matrix: pipeline.BT709},
		draw:   "noise", p: kernels.Recursive{SigmaS: 50, SigmaR: 50, Iterations: 1},
	}
	src := c.source(rng)
	if d := kerneltest.Compare(filterOne(t, b, src, c.p, false), reference(t, src, c.p)); d.TooFar() {
		t.Errorf("%s: %s", c, d)
	}
}

// TestRecursiveRefuses: a kernel supports only one of the two filters.
func TestRecursiveRefuses(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	for _, c := range []struct {
		name   string
		layout pipeline.Layout
		p      kernels.Planned
		want   string
	}{
		{"recursive_fast", pipeline.RGBA, kernels.DefaultBilateral(1), "does not do the bilateral filter"},
		{"tile_lorentzian_r1", pipeline.RGBA, kernels.DefaultRecursive(), "does not do the recursive filter"},
	} {
		v, err := kernels.Named(c.name)
		e2e.Must(t, err)
		f := pipeline.Format{Layout: c.layout, Width: 8, Height: 8, Matrix: pipeline.BT709}
		err = b.RunKernel(context.Background(), v.Planner(c.p), kerneltest.Frame(f), kerneltest.Frame(f))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.name, c.layout, err)
		}
	}
}
