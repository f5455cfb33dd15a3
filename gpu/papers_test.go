package gpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestPapersRadii holds the papers' kernels to the reference at other radii, at sizes less than a window, and by fields. The smallest radius
// of each and the largest come up, and the rest by turns.
func TestPapersRadii(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(7, 8))
	sizes := [][2]int{{1, 1}, {9, 33}, {70, 37}}
	for i, v := range kernels.Variants() {
		if !v.FromPaper() || testing.Short() && i%7 > 0 {
			continue
		}
		for j, size := range sizes {
			p := v.Adapt(kernels.DefaultParams([]int{0, 1, 3, 5, 7, 11, 15}[(i+3*j)%7]))
			if !v.TakesRadius(p.Radius) {
				continue
			}
			p.SigmaR = []float64{20, 3, 200}[i%3]
			src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: size[0], Height: size[1]})
			src.Interlaced = j == 1 && v.Margin(p) == 0
			kerneltest.Scene(src, rng)
			clearAlpha(src)
			got := kerneltest.Frame(src.Format)
			if err := b.RunKernel(context.Background(), v, p, got, src); err != nil {
				t.Fatal(err)
			}
			kerneltest.CheckCanaries(t, v.Name, got)
			if d := kerneltest.Compare(got, reference(t, src, p)); d.Largest > 1 || d.Count*20 > d.Samples {
				t.Errorf("%s, radius %d, %s: %s", v.Name, p.Radius, src.Format, d)
			}
		}
	}
}

// TestThesisAgrees: "there should be no differences between GPU solutions" (000, section 5.2), and there is none.
func TestThesisAgrees(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 67, Height: 45})
	kerneltest.Noise(src, rand.New(rand.NewPCG(9, 10)))
	var first []byte
	for _, v := range kernels.Variants() {
		p := v.Adapt(kernels.DefaultParams(3))
		if v.Form != kernels.Thesis || v.Distance != kernels.Channel || v.Weight != "" {
			continue
		}
		got := kerneltest.Frame(src.Format)
		if err := b.RunKernel(context.Background(), v, p, got, src); err != nil {
			t.Fatal(err)
		}
		var pixels []byte
		for y := range got.Height {
			pixels = append(pixels, got.Row(0, y)...)
		}
		if first == nil {
			first = pixels
		}
		if !bytes.Equal(pixels, first) {
			t.Errorf("%s: other pixels than version 1", v.Name)
		}
	}
}
