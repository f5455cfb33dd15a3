package kernels

import (
	"testing"

	"vidfilter/pipeline"
)

// TestChooseRecursive: every device has a kernel for the recursive filter, with as much shared memory as a block may have there.
func TestChooseRecursive(t *testing.T) {
	for compute, want := range map[int]string{
		61: "recursive_fast_sm61", 75: "recursive_fast_sm61", 80: "recursive_fast_sm80", 89: "recursive_fast_sm80",
		90: "recursive_fast", 100: "recursive_fast", 120: "recursive_fast_sm80",
	} {
		for l := pipeline.YUV420P; l <= pipeline.RGBA; l++ {
			v, err := Choose(DefaultRecursive(), pipeline.Format{Layout: l, Width: 640, Height: 360, Matrix: pipeline.BT709}, compute)
			if err != nil || v.Name != want {
				t.Errorf("compute capability %d, %s: %s (%v), want %s", compute, l, v.Name, err, want)
			}
		}
	}
	if v, err := Choose(DefaultRecursive(), pipeline.Format{}, 52); err == nil {
		t.Errorf("compute capability 5.2 got %s", v.Name)
	}
}

// TestCutLine: pieces cover a line without one to spare, and whole lines are kept whole where they fit.
func TestCutLine(t *testing.T) {
	for _, v := range recursiveFastVariants() {
		for _, length := range []int{1, 15, 16, 17, 640, 1080, 1920, 2048, 2160, 3840, 4320, 7680, 8192, 65536} {
			c := v.cutLine(length)
			if piece := c.runs * scanRun; c.pieces*piece < length || (c.pieces-1)*piece >= length {
				t.Errorf("%s: %d pieces of %d pixels for %d", v.Name, c.pieces, piece, length)
			}
			if c.threads < scanLines*c.runs || c.threads > scanThreads {
				t.Errorf("%s, %d pixels: %d threads for 2 x %d runs", v.Name, length, c.threads, c.runs)
			}
		}
	}
	for name, length := range map[string]int{"recursive_fast": 3840, "recursive_fast_sm80": 1920, "recursive_fast_sm61": 720} {
		v, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if c := v.cutLine(length); c.pieces != 1 {
			t.Errorf("%s: a line of %d in %d pieces", name, length, c.pieces)
		}
	}
}

// TestRecursivePasses: rows and columns by turns, the frame is read by the first and written by the last, and the scratch memory holds all.
func TestRecursivePasses(t *testing.T) {
	p := DefaultRecursive()
	for _, v := range Variants() {
		if v.Filter != Recursive {
			continue
		}
		f := pipeline.Format{Layout: pipeline.RGBA, Width: 4099, Height: 2049}
		plan, err := v.Plan(p, f)
		if err != nil {
			t.Fatal(err)
		}
		passes := plan.passes(f.Height)
		if v.Form == RecursiveFast { // ends with the planes
			end := passes[len(passes)-1]
			if across, down := end.grid[0]*packWidth*end.block[0], packHeight*end.grid[1]; across < f.Width || down < f.Height {
				t.Errorf("%s: planes of %dx%d", v.Name, across, down)
			}
			passes = passes[:len(passes)-1]
		}
		first, last := passes[0].recursion, passes[len(passes)-1].recursion
		if first.first == 0 || first.vertical != 0 || last.last == 0 || last.vertical == 0 {
			t.Errorf("%s: begins with %+v, ends with %+v", v.Name, first, last)
		}
		for _, pass := range passes {
			r := pass.recursion
			lines := f.Height
			if r.vertical != 0 {
				lines = f.Width
			}
			if n := int(r.pairs) * scanLines; v.Form == RecursiveFast && (n < lines || n-scanLines >= lines || int(r.blocks) != pass.grid[0]) {
				t.Errorf("%s: %d blocks of %d for %d pairs of %d lines", v.Name, pass.grid[0], r.blocks, r.pairs, lines)
			}
			if end := int(r.records[0]) + scanRecord*scanLines*blocks(lines, scanLines)*int(r.pieces); r.pieces > 0 && end > plan.Scratch() {
				t.Errorf("%s: records up to %d in a scratch of %d", v.Name, end, plan.Scratch())
			}
		}
		if plan.Scratch() < 8*f.Width*f.Height {
			t.Errorf("%s: a scratch of %d bytes", v.Name, plan.Scratch())
		}
	}
}
