package gpu

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
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
			if v.Form == kernels.Staal && min(size[0], size[1]/2) <= p.Radius {
				continue // it refuses these
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

// TestKernelByName: a kernel that is named does the job, on frames that are converted for it, whole and by fields, in the slots of several
// streams; the paper's, with its black around the picture, too.
func TestKernelByName(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{Streams: 2})
	for _, name := range []string{"paper", "thesis_1_naive_b16", "thesis_7_sliding_b16_f2", "thesis_2_constant_b16_lab"} {
		for _, interlaced := range []bool{false, true} {
			v, err := kernels.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			p := v.Adapt(kernels.DefaultParams(2))
			p.Kernel = name
			film := newFilm(t, b, smallFormat, 9)
			for _, s := range film.scenes {
				s.Interlaced = interlaced
			}
			film.interlaced = interlaced
			s := &screen{t: t, answers: film.answers(t, p)}
			if err := showInRGBA(t, b, film, s, p); err != nil || s.seen != 9 {
				t.Errorf("%s: %d frames, %v", name, s.seen, err)
			}
		}
	}
}

// showInRGBA is show by way of RGBA.
func showInRGBA(t *testing.T, b *Backend, f *film, s *screen, p kernels.Params) error {
	var pools [3]*pipeline.Pool
	for i, limit := range []int{1 + b.Held(), 1, 2} {
		pools[i] = pipeline.NewPool(b, limit)
		defer pools[i].Close()
	}
	inner, err := b.Filter(p, pools[0])
	if err != nil {
		t.Fatal(err)
	}
	filter := kernels.InRGBA(inner, p, pools[1], pools[2], nil)
	err = pipeline.Run(context.Background(), f, []pipeline.Filter{filter}, s, pipeline.Options{})
	for i, pool := range pools {
		if n := pool.InUse(); n != 0 {
			t.Errorf("%d frames of pool %d were never released", n, i)
		}
	}
	return err
}

// TestKernelByNameRefused: what a kernel does not do is an error that says what it does.
func TestKernelByNameRefused(t *testing.T) {
	if !onDriver(t, "compute=61") {
		return
	}
	b := open(t, Options{})
	for _, c := range []struct {
		name, says string
		change     func(*kernels.Params)
	}{
		{"thesis_1_naive_b16", "filters RGBA, not yuv420p", func(*kernels.Params) {}},
		{"thesis_1_naive_b16", "does radius 0 to 15, gaussian, channel, border skip", func(p *kernels.Params) { p.Border = kernels.Clamp }},
		{"tensor_lorentzian_r5", "needs compute capability 8.0", func(p *kernels.Params) { p.Radius = 5 }},
		{"nobody", `no kernel "nobody"`, func(*kernels.Params) {}},
	} {
		p := kernels.DefaultParams(2)
		if v, err := kernels.Named(c.name); err == nil {
			p = v.Adapt(p)
		}
		p.Kernel = c.name
		c.change(&p)
		err := b.Can(p)
		if err == nil {
			err = show(t, context.Background(), b, newFilm(t, b, smallFormat, 1), &screen{t: t}, p, 1+b.Held())
		}
		if err == nil || !errors.Is(err, ErrDevice) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
