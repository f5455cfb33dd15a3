package kernels

import (
	"testing"

	"vidfilter/pipeline"
)

// TestChooseRecursive: every device has a kernel for the recursive filter.
func TestChooseRecursive(t *testing.T) {
	for compute, want := range map[int]string{
		61: "recursive_fast_sm61", 75: "recursive_fast_sm61", 80: "recursive_fast_sm80", 89: "recursive_fast_sm80",
		90: "recursive_fast", 100: "recursive_fast", 120: "recursive_fast",
	} {
		for l := pipeline.YUV420P; l <= pipeline.RGBA; l++ {
			v, err := Choose(DefaultRecursive(), pipeline.Format{Layout: l, Width: 640, Height: 360, Matrix: pipeline.BT709}, limitsOf(compute))
			if err != nil || v.Name != want {
				t.Errorf("compute capability %d, %s: %s (%v), want %s", compute, l, v.Name, err, want)
			}
		}
	}
	if v, err := Choose(DefaultRecursive(), pipeline.Format{}, limitsOf(52)); err == nil {
		t.Errorf("compute capability 5.2 got %s", v.Name)
	}
}

// TestCutLine: pieces cover a line without one to spare and fit a block; lines that fit stay
// whole.
func TestCutLine(t *testing.T) {
	for _, compute := range []int{61, 80, 90, 120} {
		limits := limitsOf(compute)
		for _, length := range []int{1, 15, 16, 17, 640, 1080, 1920, 2048, 2160, 3840, 4320, 7680, 8192, 65536} {
			c := cutLine(length, limits)
			if piece := c.runs * scanRun; c.pieces*piece < length || (c.pieces-1)*piece >= length {
				t.Errorf("compute capability %d: %d pieces of %d pixels for %d", compute, c.pieces, piece, length)
			}
			if c.threads < scanLines*c.runs || c.threads > scanThreads || c.shared > limits.SharedBlock {
				t.Errorf("compute capability %d, %d pixels: %+v", compute, length, c)
			}
		}
	}
	for compute, length := range map[int]int{90: 3840, 80: 1920, 61: 720} {
		if c := cutLine(length, limitsOf(compute)); c.pieces != 1 {
			t.Errorf("compute capability %d: a line of %d in %d pieces", compute, length, c.pieces)
		}
	}
}

// TestResidents: the number of resident blocks follows the device's multiprocessors.
func TestResidents(t *testing.T) {
	h200 := Limits{Compute: 90, Multiprocessors: 132, SharedBlock: 227 << 10, SharedMultiprocessor: 228 << 10}
	small := Limits{Compute: 86, Multiprocessors: 20, SharedBlock: 99 << 10, SharedMultiprocessor: 100 << 10}
	for _, c := range []struct {
		limits      Limits
		length, all int
	}{{h200, 3840, 132}, {h200, 640, 5 * 132}, {small, 1920, 20}, {small, 640, 2 * 20}} {
		if n := cutLine(c.length, c.limits).residents(c.limits); n != c.all {
			t.Errorf("%+v, lines of %d: %d blocks, want %d", c.limits, c.length, n, c.all)
		}
	}
}

// TestRecursivePasses: rows and columns alternate, the first pass reads the frame and the last
// writes it, and the scratch memory is large enough.
func TestRecursivePasses(t *testing.T) {
	f := pipeline.Format{Layout: pipeline.RGBA, Width: 4099, Height: 2049}
	for _, compute := range []int{61, 80, 90} {
		limits := limitsOf(compute)
		passes, scratch := recursivePasses(DefaultRecursive(), f.Width, f.Height, limits), recursiveScratch(f, limits)
		end := passes[len(passes)-1] // makes planes
		if across, down := end.grid[0]*packWidth*end.block[0], packHeight*end.grid[1]; across < f.Width || down < f.Height {
			t.Errorf("compute capability %d: planes of %dx%d", compute, across, down)
		}
		passes = passes[:len(passes)-1]
		first, last := passes[0].recursion, passes[len(passes)-1].recursion
		if first.first == 0 || first.vertical != 0 || last.last == 0 || last.vertical == 0 {
			t.Errorf("compute capability %d: begins with %+v, ends with %+v", compute, first, last)
		}
		for _, pass := range passes {
			r := pass.recursion
			lines := f.Height
			if r.vertical != 0 {
				lines = f.Width
			}
			if n := int(r.pairs) * scanLines; n < lines || n-scanLines >= lines || int(r.blocks) != pass.grid[0] {
				t.Errorf("compute capability %d: %d blocks of %d for %d pairs of %d lines", compute, pass.grid[0], r.blocks, r.pairs, lines)
			}
			if end := int(r.records) + scanRecord*scanLines*Blocks(lines, scanLines)*int(r.pieces); end > scratch {
				t.Errorf("compute capability %d: records up to %d in a scratch of %d", compute, end, scratch)
			}
		}
		if scratch < 8*f.Width*f.Height {
			t.Errorf("compute capability %d: a scratch of %d bytes", compute, scratch)
		}
	}
}
