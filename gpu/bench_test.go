package gpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// BenchmarkHost measures the host's work per frame, with a picture so small that the device's
// work hardly matters:
//
//	LD_LIBRARY_PATH=$(scripts/testdriver.sh) go test ./gpu -run - -bench Host
func BenchmarkHost(b *testing.B) {
	backend, err := Open(Options{})
	if err != nil {
		b.Skip(err)
	}
	defer backend.Close()
	pool := pipeline.NewPool(backend, 1+backend.held())
	defer pool.Close()
	inputs := pipeline.NewPool(backend, 1+backend.held())
	defer inputs.Close()
	f, err := backend.Filter(kernels.DefaultBilateral(0), pool)
	e2e.Must(b, err)
	format := pipeline.Format{Layout: pipeline.NV12, Width: 2, Height: 2, Matrix: pipeline.BT709}
	rng := rand.New(rand.NewPCG(1, 2))
	emit := func(out *pipeline.Frame) error { out.Release(); return nil }
	ctx := context.Background()
	for b.Loop() {
		in, err := inputs.NewFrame(ctx, format)
		e2e.Must(b, err)
		kerneltest.Noise(in, rng)
		e2e.Must(b, f.Process(ctx, in, emit))
	}
	e2e.Must(b, f.Flush(ctx, emit))
}

// BenchmarkRecursive times the kernels of the recursive filter on frames in device memory, and
// compares their results with the reference. On a GPU:
//
//	cd gpu
//	VIDFILTER_TEST_GPU=1 ../bin/gpu.test -test.run - -test.bench Recursive -test.benchtime 1x
func BenchmarkRecursive(b *testing.B) {
	backend, err := Open(Options{})
	if err != nil {
		b.Skip(err)
	}
	defer backend.Close()
	rgba := pipeline.Format{Layout: pipeline.RGBA, Width: 2048, Height: 2048}
	formats := []pipeline.Format{rgba, {Layout: pipeline.NV12, Width: 1920, Height: 1080, Matrix: pipeline.BT709},
		{Layout: pipeline.NV12, Width: 3840, Height: 2160, Matrix: pipeline.BT709}}
	r := Repeat{Batches: 9, Runs: 200, Time: 200 * time.Millisecond}
	if os.Getenv(testdriver.RealDevice) != "1" { // the test driver is a hundred thousand times slower
		formats = []pipeline.Format{{Layout: pipeline.RGBA, Width: 64, Height: 48}}
		r = Repeat{Batches: 1, Runs: 1, Time: time.Millisecond}
	}
	for _, f := range formats {
		src, want := kerneltest.Frame(f), kerneltest.Frame(f)
		kerneltest.Scene(src, rand.New(rand.NewPCG(1, 2)))
		for _, sigmas := range [][2]float64{{50, 50}, {200, 150}} {
			p := kernels.DefaultRecursive()
			p.SigmaS, p.SigmaR = sigmas[0], sigmas[1]
			e2e.Must(b, kernels.Reference(want, src, p))
			for _, v := range kernels.Variants() {
				if v.Form.Filter == p.Filter() && v.TakesLayout(f.Layout) && v.Compute <= backend.Device().Compute {
					name := fmt.Sprintf("%s/%s-%dx%d/%g-%g", v.Name, f.Layout, f.Width, f.Height, p.SigmaS, p.SigmaR)
					b.Run(name, func(b *testing.B) { benchmarkKernel(b, backend, v, p, src, want, r) })
				}
			}
		}
	}
}

// benchmarkKernel reports a kernel's median time, its error, and the share of samples that differ
// from the reference.
func benchmarkKernel(b *testing.B, backend *Backend, v kernels.Variant, p kernels.Planned, src, want *pipeline.Frame, r Repeat) {
	got := kerneltest.Frame(src.Format)
	e2e.Must(b, backend.RunKernel(context.Background(), v.Planner(p), got, src))
	d := kerneltest.Compare(got, want)
	if d.TooFar() {
		b.Errorf("wrong: %s", d)
	}
	var all []time.Duration
	for b.Loop() {
		times, err := backend.TimeKernel(context.Background(), v.Planner(p), src, r)
		e2e.Must(b, err)
		all = append(all, times...)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2])/1e6, "ms/frame")
	b.ReportMetric(100*float64(d.Count)/float64(d.Samples), "%off")
	b.ReportMetric(0, "ns/op") // meaningless here
}
