package gpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

func staalVariants() []kernels.Variant {
	return slices.DeleteFunc(kernels.Variants(), func(v kernels.Variant) bool { return v.Form != kernels.Staal })
}

// TestStaal holds the eight kernels of 004 to the reference with mirrored borders: by fields, with sigmas that leave nothing of the picture
// or all of it, with windows that all but cover it. So versions 3 and 4, too, smooth. Alpha stays.
func TestStaal(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	for _, c := range []struct {
		width, height, radius int
		interlaced            bool
		sigmaS, sigmaR        float64
	}{
		{70, 37, 4, false, 2, 25.5}, // the paper's sigmas
		{9, 18, 8, true, 3, 60},
		{16, 33, 15, false, 30, 300},
		{33, 13, 2, false, 1, 1e-9},
		{13, 29, 1, true, 1e-9, 1e12},
		{5, 2, 0, true, 1, 20},
	} {
		for i, v := range staalVariants() {
			rng := rand.New(rand.NewPCG(11, uint64(i)))
			src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: c.width, Height: c.height})
			src.Interlaced = c.interlaced
			kerneltest.Noise(src, rng)
			if i%2 == 0 {
				kerneltest.Scene(src, rng)
			}
			p := kernels.Params{Radius: c.radius, SigmaS: c.sigmaS, SigmaR: c.sigmaR, Range: kernels.Gaussian, Distance: kernels.Channel}
			got := kerneltest.Frame(src.Format)
			if err := b.RunKernel(context.Background(), v, p, got, src); err != nil {
				t.Fatal(err)
			}
			kerneltest.CheckCanaries(t, v.Name, got)
			if d := kerneltest.Compare(got, reference(t, src, p)); d.TooFar() {
				t.Errorf("%s, %+v: %s", v.Name, c, d)
			}
		}
	}
}

// TestStaalTimes: the time of a kernel is that of the paper's, without the launches that make floats and words, which a step has. By the
// test driver's clock launches of as many threads take as long.
func TestStaalTimes(t *testing.T) {
	if !onDriver(t, "devices=1") {
		return
	}
	b, ctx := open(t, Options{}), context.Background()
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 96, Height: 64})
	var kernel, step []time.Duration
	for _, name := range []string{"staal_v5_registers", "staal_v7_channels"} {
		v, err := kernels.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		p := v.Adapt(kernels.DefaultParams(1))
		times, err := b.TimeKernel(ctx, v, p, src, few)
		if err != nil {
			t.Fatal(err)
		}
		kernel = append(kernel, times[0])
		if times, err = b.TimeStep(ctx, v, p, src, Copies{Streams: 1}, few); err != nil {
			t.Fatal(err)
		}
		step = append(step, times[0])
	}
	if ratio := float64(kernel[1]) / float64(kernel[0]); ratio < 2.5 || ratio > 3.01 { // what goes with a run is in both
		t.Errorf("one launch takes %v, three %v", kernel[0], kernel[1])
	}
	for i := range step {
		if least := kernel[i] + 2*kernel[0]; step[i] < least {
			t.Errorf("a step takes %v, its launches alone %v", step[i], least)
		}
	}
}

// TestStaalMemory: where there is no memory for a picture of floats, an error says so, nothing is left, and the next run is right.
func TestStaalMemory(t *testing.T) {
	if !onDriver(t, "alloc=4") { // source, result, map, scratch
		return
	}
	b := open(t, Options{})
	v, err := kernels.Named("staal_v6_split")
	if err != nil {
		t.Fatal(err)
	}
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 40, Height: 30})
	kerneltest.Scene(src, rand.New(rand.NewPCG(1, 2)))
	p, got := v.Adapt(kernels.DefaultParams(2)), kerneltest.Frame(src.Format)
	if err := b.RunKernel(context.Background(), v, p, got, src); !isOutOfMemory(err) {
		t.Errorf("got %v", err)
	}
	if err := b.RunKernel(context.Background(), v, p, got, src); err != nil {
		t.Fatal(err)
	}
	if d := kerneltest.Compare(got, reference(t, src, p)); d.Largest > 1 {
		t.Error(d)
	}
}
