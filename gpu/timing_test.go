package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// few is small enough for the test driver, whose kernels run on the CPU.
var few = Repeat{Batches: 3, Runs: 2, Time: time.Hour}

// paramsOf returns options that the variant supports.
func paramsOf(v kernels.Variant) kernels.Planned {
	return v.Adapt(kernels.DefaultBilateral(2))
}

// testedLayouts are one without and one with subsampled chroma.
func testedLayouts(v kernels.Variant) []pipeline.Layout {
	if v.GBR {
		return []pipeline.Layout{pipeline.GBRP.At(max(v.Depths[1], 8))}
	}
	if v.Depths[0] > 8 {
		return []pipeline.Layout{pipeline.YUV444P.At(v.Depths[1]), pipeline.NV12.At(10)}
	}
	return []pipeline.Layout{pipeline.RGBA, pipeline.NV12}
}

// layoutFor returns a layout as it is or at 10 bits, as a variant takes it.
func layoutFor(v kernels.Variant, l pipeline.Layout) pipeline.Layout {
	if v.GBR {
		l = pipeline.GBRP
	}
	if v.Depths[0] > 8 {
		return l.At(10)
	}
	return l
}

// TestEachVariant compares every variant with the reference, including those never chosen.
func TestEachVariant(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(5, 6))
	for i, v := range kernels.Variants() {
		for j, l := range testedLayouts(v) {
			if slow && i%2 != j {
				continue
			}
			f := pipeline.Format{Layout: l, Width: 75, Height: 41, Matrix: pipeline.BT709}
			if slow && v.Radii[0] > 6 {
				f.Width, f.Height = 43, 21
			}
			src := kerneltest.Frame(f)
			kerneltest.Scene(src, rng)
			p := paramsOf(v)
			got := kerneltest.Frame(src.Format)
			e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
			kerneltest.CheckCanaries(t, v.Name, got)
			if d := kerneltest.Compare(got, reference(t, src, p)); d.Largest > d.Bound() || d.TooMany() && d.Count*50 > d.Samples {
				t.Errorf("%s, %s: %s", v.Name, l, d)
			}
		}
	}
}

// TestTimes: times are positive, one per batch, and by the test driver's clock the kernel's grow
// with the frame.
func TestTimes(t *testing.T) {
	if !onDriver(t, "devices=1") {
		return
	}
	b, ctx := open(t, Options{}), context.Background()
	v, err := kernels.Named("tile_lorentzian_r2")
	e2e.Must(t, err)
	small, large := kerneltest.Frame(smallFormat), kerneltest.Frame(pipeline.Format{Layout: pipeline.NV12, Width: 240, Height: 80, Matrix: pipeline.BT601})
	var times [6][]time.Duration
	for i, measure := range []func() ([]time.Duration, error){
		func() ([]time.Duration, error) { return b.TimeKernel(ctx, v.Planner(paramsOf(v)), small, few) },
		func() ([]time.Duration, error) { return b.TimeKernel(ctx, v.Planner(paramsOf(v)), large, few) },
		func() ([]time.Duration, error) {
			return b.TimeStep(ctx, v.Planner(paramsOf(v)), large, Copies{Streams: 2}, few)
		},
		func() ([]time.Duration, error) {
			return b.TimeStep(ctx, v.Planner(paramsOf(v)), large, Copies{Streams: 2, Pageable: true}, few)
		},
		func() ([]time.Duration, error) { return b.TimeDeviceCopy(ctx, 100000, few) },
		func() ([]time.Duration, error) { return b.TimeBus(ctx, 100000, few) },
	} {
		if times[i], err = measure(); err != nil || len(times[i]) != few.Batches {
			t.Fatalf("measurement %d: %v, %v", i, times[i], err)
		}
		for _, d := range times[i] {
			if d <= 0 {
				t.Errorf("measurement %d: %v", i, times[i])
			}
		}
	}
	if times[1][0] <= times[0][0] {
		t.Errorf("the larger frame took %v, the smaller %v", times[1][0], times[0][0])
	}
	if once, err := b.TimeKernel(ctx, v.Planner(paramsOf(v)), small, Repeat{Batches: 9, Runs: 9, Time: 1}); err != nil || len(once) != 1 {
		t.Errorf("with no time for more than one: %v, %v", once, err)
	}
}

// TestTimesRefused: an impossible run returns a device error, a cancelled one the context's.
func TestTimesRefused(t *testing.T) {
	if !onDriver(t, "compute=61") {
		return
	}
	b, src := open(t, Options{}), kerneltest.Frame(smallFormat)
	tensor, err := kernels.Named("tensor_lorentzian_r5")
	e2e.Must(t, err)
	if _, err := b.TimeKernel(context.Background(), tensor.Planner(paramsOf(tensor)), src, few); !errors.Is(err, ErrDevice) {
		t.Errorf("a kernel for newer devices: %v", err)
	}
	tile, err := kernels.Named("tile_lorentzian_r1")
	e2e.Must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := b.TimeKernel(ctx, tile.Planner(paramsOf(tile)), src, few); err != why {
		t.Errorf("cancelled: %v", err)
	}
}

// TestLimits: the test driver has 16 multiprocessors at 1.5 GHz.
func TestLimits(t *testing.T) {
	if !onDriver(t, "devices=1") {
		return
	}
	l, err := open(t, Options{}).Device().Limits()
	if err != nil || l.Multiprocessors != 16 || l.Clock != 1.5e9 {
		t.Errorf("%+v, %v", l, err)
	}
}
