package bench

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"vidfilter/gpu"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

func TestStat(t *testing.T) {
	for _, c := range []struct {
		times  []time.Duration
		want   Stat
		spread float64
	}{
		{[]time.Duration{4e6}, Stat{Median: 4, Least: 4, Most: 4, N: 1}, 0},
		{[]time.Duration{9e6, 1e6, 2e6}, Stat{Median: 2, Least: 1, Most: 9, N: 3}, 2},
		{[]time.Duration{8e6, 1e6, 3e6, 5e6}, Stat{Median: 4, Least: 1, Most: 8, N: 4}, 0.875},
	} {
		if s := measure.StatOf(c.times); s != c.want || s.Spread() != c.spread {
			t.Errorf("%v: %+v, spread %g", c.times, s, s.Spread())
		}
	}
}

// TestFloor compares the floor with hand-computed figures for an H200.
func TestFloor(t *testing.T) {
	r := &run{}
	r.Machine.GPU = &GPU{Multiprocessors: 132, Clock: 1.98e9}
	for radius, want := range map[int]float64{1: 0.018, 2: 0.050, 3: 0.097, 5: 0.240, 7: 0.446, 10: 0.875, 15: 1.91} {
		if got := r.floor(measure.FormatOf(pipeline.RGBA, size4K), radius, 4300); math.Abs(got/want-1) > 0.02 {
			t.Errorf("radius %d: %g ms, want %g", radius, got, want)
		}
	}
	// At radius 0 the bytes are the bound, 66.4 million of them.
	if got := r.floor(measure.FormatOf(pipeline.RGBA, size4K), 0, 4300); math.Abs(got/0.01543-1) > 0.01 {
		t.Errorf("radius 0: %g ms", got)
	}
}

// TestSearchDifferences compares the search's part of the floor with hand-computed figures: six
// neighbours on five levels, and at best quality twelve that are refined.
func TestSearchDifferences(t *testing.T) {
	for quality, want := range map[kernels.Quality]float64{kernels.Fast: 256.4622e6, kernels.Best: 256.4622e6 + 895.7952e6} {
		p := kernels.DefaultDenoise()
		p.Quality = quality
		if got := searchDifferences(p, measure.FormatOf(pipeline.YUV420P, size1080)); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%v: %g instead of %g", quality, got, want)
		}
	}
}

// TestWrongFilter: a filter without effect is detected, and is a device error only on a device.
func TestWrongFilter(t *testing.T) {
	for _, onGPU := range []bool{false, true} {
		r := &run{seen: map[checked]Check{}}
		key := checked{"nothing", pipeline.YUV420P, kernels.DefaultBilateral(3)}
		reference := func(dst, src *pipeline.Frame) error { return kernels.Reference(dst, src, key.params.(kernels.Planned)) }
		_, err := r.check(key, onGPU, reference, func(dst, src *pipeline.Frame) error { dst.CopySamples(src); return nil })
		var wrong *WrongResult
		if !errors.As(err, &wrong) || wrong.Check.Largest < 2 || errors.Is(err, gpu.ErrDevice) != onGPU {
			t.Errorf("on a GPU %v: %v", onGPU, err)
		}
		if len(r.seen) > 0 {
			t.Error("a failed check counts as made")
		}
	}
}

func TestTooSlow(t *testing.T) {
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	r, f := &run{Backends: measure.Backends{CPU: cpu}}, measure.FormatOf(pipeline.YUV420P, Size{Width: 320, Height: 240})
	for frames, skipped := range map[int64]bool{1: false, 1 << 40: true} {
		why, err := r.tooSlow(context.Background(), kernels.DefaultBilateral(2), f, frames)
		if err != nil || (why != "") != skipped {
			t.Errorf("%d frames: %q, %v", frames, why, err)
		}
	}
}
