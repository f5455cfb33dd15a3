package motion

import (
	"fmt"
	"math"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/plane"
)

func TestLevels(t *testing.T) {
	for _, c := range []struct{ width, height, want int }{
		{1, 1, 1}, {7, 5, 1}, {16, 16, 2}, {40, 31, 2}, {96, 64, 4}, {384, 216, 4}, {1280, 720, 4},
		{1920, 1080, 5}, {1080, 1920, 5}, {3840, 2160, 6}, {7680, 4320, 7},
	} {
		if got := Levels(c.width, c.height); got != c.want {
			t.Errorf("%d by %d: %d levels, want %d", c.width, c.height, got, c.want)
		}
	}
}

func TestPyramid(t *testing.T) {
	p := denoisetest.Texture(1).Draw(101, 67, 10, 1, 1)
	f := Prepare(p, false)
	for i, l := range f.Levels[1:] {
		below := f.Levels[i]
		if l.Width != below.Width/2 || l.Height != below.Height/2 || l.Depth != Depth {
			t.Fatalf("level %d is %d by %d of %d bits", i+1, l.Width, l.Height, l.Depth)
		}
		x, y := l.Width-1, l.Height-1
		sum := below.At(2*x, 2*y) + below.At(2*x+1, 2*y) + below.At(2*x, 2*y+1) + below.At(2*x+1, 2*y+1)
		if want := (sum + 2) / 4; l.At(x, y) != want {
			t.Errorf("level %d: %d, want %d", i+1, l.At(x, y), want)
		}
	}
}

// TestSmooth compares with the filter as section 4.1 writes it.
func TestSmooth(t *testing.T) {
	for _, level := range []float64{100, 250} { // at 250 many are as bright as can be
		for _, depth := range []int{8, 12} {
			checkSmooth(t, denoisetest.Noisy(denoisetest.Flat(level).Draw(19, 13, depth, 1, 1), 30, 1))
		}
	}
}

func checkSmooth(t *testing.T, p plane.Plane) {
	t.Helper()
	unit := float64(p.Unit())
	for _, coarse := range []bool{false, true} {
		a := 1.0 / 8
		if coarse {
			a = 1.0 / 4
		}
		got := Smooth(p, coarse)
		for y := range p.Height {
			for x := range p.Width {
				sum := 0.0
				for j, v := range []float64{a, 1 - 2*a, a} {
					for i, u := range []float64{a, 1 - 2*a, a} {
						sum += u * v * float64(p.At(x+i-1, y+j-1))
					}
				}
				if want := min(int(math.Floor(sum/unit+0.5)), 255); got.At(x, y) != want {
					t.Errorf("%d bits, coarse %v at %d,%d: %d, want %d", p.Depth, coarse, x, y, got.At(x, y), want)
				}
			}
		}
	}
}

// TestBetween samples a smooth scene between the samples. It is rounded twice.
func TestBetween(t *testing.T) {
	scene := denoisetest.Scene(func(x, y float64) float64 {
		return 128 + 50*math.Sin(x/3) + 50*math.Cos(y/4)
	})
	for _, depth := range []int{8, 10, 16} {
		half := Between(scene.Draw(40, 30, depth, 1, 1))
		for phase, p := range half {
			dx, dy := float64(phase&1)/2, float64(phase>>1)/2
			want := scene.Moved(-dx, -dy).Draw(40, 30, depth, 1, 1)
			for y := 4; y < 26; y++ {
				for x := 4; x < 36; x++ {
					if d := p.At(x, y) - want.At(x, y); max(d, -d) > p.Unit()+1 {
						t.Errorf("depth %d, phase %d at %d,%d: off by %d", depth, phase, x, y, d)
					}
				}
			}
		}
	}
}

func TestBetweenStaysInRange(t *testing.T) {
	p := plane.New(16, 16, 10)
	for i := range p.Pix {
		if i%16 >= 8 {
			p.Pix[i] = uint16(p.Max())
		}
	}
	for phase, h := range Between(p) {
		for i, v := range h.Pix {
			if int(v) > p.Max() {
				t.Fatalf("phase %d: sample %d is %d", phase, i, v)
			}
		}
	}
	flat := plane.New(5, 3, 8)
	for i := range flat.Pix {
		flat.Pix[i] = 255
	}
	for phase, h := range Between(flat) {
		for _, v := range h.Pix {
			if v != 255 {
				t.Fatalf("phase %d of a flat plane: %d", phase, v)
			}
		}
	}
}

// TestSAD compares with the definition, at and beyond the edges.
func TestSAD(t *testing.T) {
	a := denoisetest.Noisy(denoisetest.Texture(1).Draw(29, 23, 16, 1, 1), 20, 1)
	b := denoisetest.Noisy(denoisetest.Texture(2).Draw(29, 23, 16, 1, 1), 20, 2)
	for cy := range 3 {
		for cx := range 4 {
			w := cellWindow(a, 8, windowSide, cx, cy)
			for _, v := range []Vector{{0, 0}, {3, -2}, {-40, 5}, {7, 33}, {60, -60}} {
				sum, count := 0, 0
				for y := cy*8 - 4; y < cy*8+12; y++ {
					for x := cx*8 - 4; x < cx*8+12; x++ {
						if x < 0 || y < 0 || x >= a.Width || y >= a.Height {
							continue
						}
						d := a.At(x, y) - b.At(x+v.X, y+v.Y)
						sum += max(d, -d)
						count++
					}
				}
				if got, want := w.sad(a, b, v.X, v.Y), sum*256/count; got != want {
					t.Errorf("cell %d,%d, %v: %d, want %d", cx, cy, v, got, want)
				}
			}
		}
	}
}

func TestVectors(t *testing.T) {
	for _, c := range []struct{ luma, half, across Vector }{
		{Vector{0, 0}, Vector{0, 0}, Vector{0, 0}},
		{Vector{1, -1}, Vector{1, -1}, Vector{1, -1}},
		{Vector{2, -2}, Vector{1, -1}, Vector{1, -2}},
		{Vector{3, -3}, Vector{2, -2}, Vector{2, -3}},
		{Vector{-5, 6}, Vector{-3, 3}, Vector{-3, 6}},
	} {
		if got := c.luma.Scaled(1, 1); got != c.half {
			t.Errorf("4:2:0: %v of %v, want %v", got, c.luma, c.half)
		}
		if got := c.luma.Scaled(1, 0); got != c.across {
			t.Errorf("4:2:2: %v of %v, want %v", got, c.luma, c.across)
		}
		if got := c.luma.Scaled(0, 0); got != c.luma {
			t.Errorf("4:4:4: %v of %v", got, c.luma)
		}
	}
	phase, x, y := Vector{-3, 4}.Phase()
	if phase != 1 || x != -2 || y != 2 {
		t.Errorf("phase %d of -2+1/2, 2: %d, %d", phase, x, y)
	}
}

func TestExtend(t *testing.T) {
	f := Field{8, 3, 1, []Vector{{3, -6}, {1, -1}, {4, 5}}}
	for _, c := range []struct {
		from, to int
		want     []Vector
	}{
		{3, 4, []Vector{{4, -8}, {1, -1}, {5, 7}}},
		{3, 5, []Vector{{5, -10}, {2, -2}, {7, 8}}},
		{3, 6, []Vector{{6, -12}, {2, -2}, {8, 10}}},
		{-3, -6, []Vector{{6, -12}, {2, -2}, {8, 10}}},
		{-3, 3, []Vector{{-3, 6}, {-1, 1}, {-4, -5}}},
	} {
		if got := f.Extend(c.from, c.to); fmt.Sprint(got.Vectors) != fmt.Sprint(c.want) {
			t.Errorf("from %d to %d: %v, want %v", c.from, c.to, got.Vectors, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	f := Field{8, 2, 2, []Vector{{0, 0}, {1, 0}, {0, 1}, {1, 1}}}
	for _, c := range []struct {
		x, y int
		want Vector
	}{{0, 0, Vector{0, 0}}, {7, 8, Vector{0, 1}}, {15, 7, Vector{1, 0}}, {99, 99, Vector{1, 1}}} {
		if got := f.Of(c.x, c.y); got != c.want {
			t.Errorf("at %d,%d: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}
