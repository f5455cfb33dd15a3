package device

import (
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
)

// TestLayout: 13 pictures of 4K fit 1.5 GB, and launches what every device has.
func TestLayout(t *testing.T) {
	for tier := denoise.Fast; tier <= denoise.Best; tier++ {
		s := denoise.Default(tier)
		l, err := NewLayout(Shape{
			Planes: [3]Size{{3840, 2160}, {1920, 1080}, {1920, 1080}}, ShiftX: 1, ShiftY: 1, Depth: 8, Cell: s.Motion.Cell,
		})
		if err != nil {
			t.Fatal(err)
		}
		if all := 13*l.Picture + l.Work; all > 1_500_000_000 {
			t.Errorf("tier %d: %d bytes", tier, all)
		}
		runs, err := l.Denoise(Job{Window: make([]uint64, 13), Centre: 6, Noise: noise.Flat(10), Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if r.ArgsSize > 4096 || r.Shared > 48<<10 || r.Grid[0]*r.Grid[1] == 0 {
				t.Errorf("tier %d: %s has %+v", tier, r.Kernel.Name, r.Launch)
			}
		}
	}
}

// TestRefused: what the kernels cannot do is refused.
func TestRefused(t *testing.T) {
	shape := Shape{Planes: [3]Size{{64, 48}, {32, 24}, {32, 24}}, ShiftX: 1, ShiftY: 1, Depth: 8, Cell: 8}
	for _, change := range []func(*Shape){func(s *Shape) { s.Depth = 10 }, func(s *Shape) { s.Cell = 12 }} {
		s := shape
		change(&s)
		if _, err := NewLayout(s); err == nil {
			t.Errorf("%+v is not refused", s)
		}
	}
	l, err := NewLayout(shape)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*denoise.Settings){
		func(s *denoise.Settings) { s.Far = 7 },
		func(s *denoise.Settings) { s.First.Stride = 3 },
		func(s *denoise.Settings) { s.Second.Stride = 4 },
		func(s *denoise.Settings) { s.Motion.Cell = 16 },
	} {
		s := denoise.Default(denoise.Good)
		change(&s)
		if _, err := l.Denoise(Job{Window: make([]uint64, 1), Noise: noise.Flat(10), Settings: s}); err == nil {
			t.Errorf("%+v is not refused", s)
		}
	}
}
