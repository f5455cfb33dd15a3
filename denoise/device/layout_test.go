package device

import (
	"strings"
	"testing"
	"unsafe"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/internal/e2e"
	"vidfilter/kernels/kerneltest"
)

// TestLayout: 13 pictures of 4K fit in 1.5 GB per byte of a sample, and launches stay within the
// limits of every device.
func TestLayout(t *testing.T) {
	for i := range 6 {
		tier, depth := denoise.Fast+denoise.Tier(i/2), 8+2*(i%2)
		s := denoise.Default(tier)
		l, err := NewLayout(Shape{
			Planes: [3]Size{{3840, 2160}, {1920, 1080}, {1920, 1080}}, ShiftX: 1, ShiftY: 1, Depth: depth,
		})
		e2e.Must(t, err)
		if all := 13*l.Picture + l.Work; all > 1_500_000_000*l.bytes() {
			t.Errorf("tier %d, %d bits: %d bytes", tier, depth, all)
		}
		runs, err := l.Denoise(Job{Depth: depth, Window: make([]uint64, 13), Centre: 6, Noise: noise.Flat(10), Settings: s})
		e2e.Must(t, err)
		for _, r := range runs {
			if r.ArgsSize > 4096 || r.Shared > 48<<10 || r.Grid[0]*r.Grid[1] == 0 {
				t.Errorf("tier %d: %s has %+v", tier, r.Kernel.Name, r.Launch)
			}
		}
	}
}

// TestKernels: each kernel has a form for deeper samples, and a module.
func TestKernels(t *testing.T) {
	bytes, words := Kernels(8), Kernels(10)
	if len(bytes) == 0 || len(bytes) != len(words) {
		t.Fatalf("%d kernels, %d for deeper samples", len(bytes), len(words))
	}
	args := unsafe.Sizeof(Layout{}.args)
	for _, v := range Library.Variants() {
		text, err := v.PTX()
		e2e.Must(t, err)
		threads := finishThreads
		for name, n := range map[string]int{"first": 128, "second": 128, "finer": searchThreads, "finest": searchThreads, "refine": searchThreads, "coarsest": coarsestThreads} {
			if strings.HasPrefix(v.Name, "denoise_"+name) {
				threads = n
			}
		}
		kerneltest.CheckModule(t, v.Name, text, v.Compute, threads, args)
	}
}

// TestRefused: shapes and settings that the kernels do not support are refused.
func TestRefused(t *testing.T) {
	shape := Shape{Planes: [3]Size{{64, 48}, {32, 24}, {32, 24}}, ShiftX: 1, ShiftY: 1, Depth: 8}
	for _, change := range []func(*Shape){func(s *Shape) { s.Depth = 7 }, func(s *Shape) { s.Depth = 17 }} {
		s := shape
		change(&s)
		if _, err := NewLayout(s); err == nil {
			t.Errorf("%+v is not refused", s)
		}
	}
	l, err := NewLayout(shape)
	e2e.Must(t, err)
	for _, change := range []func(*denoise.Settings){
		func(s *denoise.Settings) { s.Far = 7 },
		func(s *denoise.Settings) { s.First.Stride = 3 },
		func(s *denoise.Settings) { s.Second.Stride = 4 },
	} {
		s := denoise.Default(denoise.Good)
		change(&s)
		if _, err := l.Denoise(Job{Window: make([]uint64, 1), Noise: noise.Flat(10), Settings: s}); err == nil {
			t.Errorf("%+v is not refused", s)
		}
	}
}
