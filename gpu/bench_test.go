package gpu

import (
	"context"
	"math/rand/v2"
	"testing"

	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// BenchmarkHost is what the host does for a frame, with a picture so small that the device does next to nothing:
//
//	LD_LIBRARY_PATH=$(scripts/testdriver.sh) go test ./gpu -run - -bench Host
func BenchmarkHost(b *testing.B) {
	backend, err := Open(Options{})
	if err != nil {
		b.Skip(err)
	}
	defer backend.Close()
	pool := pipeline.NewPool(backend, 1+backend.Held())
	defer pool.Close()
	inputs := pipeline.NewPool(backend, 1+backend.Held())
	defer inputs.Close()
	f, err := backend.Filter(kernels.DefaultParams(0), pool)
	if err != nil {
		b.Fatal(err)
	}
	format := pipeline.Format{Layout: pipeline.NV12, Width: 2, Height: 2, Matrix: pipeline.BT709}
	rng := rand.New(rand.NewPCG(1, 2))
	emit := func(out *pipeline.Frame) error { out.Release(); return nil }
	ctx := context.Background()
	for b.Loop() {
		in, err := inputs.NewFrame(ctx, format)
		if err != nil {
			b.Fatal(err)
		}
		kerneltest.Noise(in, rng)
		if err := f.Process(ctx, in, emit); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Flush(ctx, emit); err != nil {
		b.Fatal(err)
	}
}
