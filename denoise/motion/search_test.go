package motion

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/plane"
)

const width, height = 96, 64

var constants = Constants{Penalty: 2, RefinePenalty: 0.6, CoarseFrom: 15}

func find(c Constants, sigma float64, from, to plane.Plane) Field {
	s := NewSearch(c, sigma)
	return s.Find(s.Prepare(from), s.Prepare(to))
}

// matchInside reports whether the other frame holds the match of a cell's window, with a margin for
// the interpolation.
func matchInside(p plane.Plane, cell, x, y int, v Vector) bool {
	w := cellWindow(p, cell, windowSide, x, y)
	const margin = 2
	return w.x0+v.X/2 >= margin && w.x1+v.X/2 <= p.Width-margin &&
		w.y0+v.Y/2 >= margin && w.y1+v.Y/2 <= p.Height-margin || v == Vector{}
}

func TestKnownMotion(t *testing.T) {
	scene := denoisetest.Texture(1)
	for _, depth := range []int{8, 10, 12, 16} {
		for _, v := range []Vector{
			{0, 0}, {2, 0}, {0, -2}, {6, 4}, {-14, 10}, {26, -16}, // whole pels
			{1, 0}, {0, 1}, {1, 1}, {-7, 3}, {5, -9}, {-1, -12}, // half-pels
		} {
			t.Run(fmt.Sprint(depth, v), func(t *testing.T) {
				from := scene.Draw(width, height, depth, 1, 1)
				to := scene.Moved(float64(v.X)/2, float64(v.Y)/2).Draw(width, height, depth, 1, 1)
				expect(t, find(constants, 1, from, to), from, func(x, y int) (Vector, bool) {
					return v, matchInside(from, Cell, x, y, v)
				})
			})
		}
	}
}

// expect checks the vectors of the cells for which want returns one.
func expect(t *testing.T, f Field, p plane.Plane, want func(x, y int) (Vector, bool)) {
	t.Helper()
	known := 0
	for y := range f.Height {
		for x := range f.Width {
			v, ok := want(x, y)
			if !ok {
				continue
			}
			known++
			if got := f.at(x, y); got != v {
				t.Errorf("cell %d,%d: %v, want %v", x, y, got, v)
			}
		}
	}
	if known < len(f.Vectors)/4 {
		t.Errorf("only %d of %d cells were compared", known, len(f.Vectors))
	}
}

func TestKnownMotionUnderNoise(t *testing.T) {
	scene, v := denoisetest.Texture(2), Vector{6, -4}
	from := scene.Draw(width, height, 8, 1, 1)
	to := scene.Moved(3, -2).Draw(width, height, 8, 1, 1)
	for _, sigma := range []float64{5, 10, 25} {
		f := find(constants, sigma, denoisetest.Noisy(from, sigma, 1), denoisetest.Noisy(to, sigma, 2))
		for y := range f.Height {
			for x := range f.Width {
				got := f.at(x, y)
				if matchInside(from, Cell, x, y, v) && got.plus(-v.X, -v.Y).Length() > 2 {
					t.Errorf("sigma %v, cell %d,%d: %v, want %v within a pel", sigma, x, y, got, v)
				}
			}
		}
	}
}

func TestTwoObjects(t *testing.T) {
	const width, height = 2 * width, 2 * height
	left, right := denoisetest.Texture(3), denoisetest.Texture(4)
	from := left.Left(width/2, right).Draw(width, height, 8, 1, 1)
	to := left.Moved(-3, 2).Left(width/2, right.Moved(4, -1)).Draw(width, height, 8, 1, 1)
	expect(t, find(constants, 1, from, to), from, func(x, y int) (Vector, bool) {
		v := Vector{-6, 4}
		if x*Cell >= width/2 {
			v = Vector{8, -2}
		}
		far := x < width/2/Cell-1 || x >= width/2/Cell+1 // from the line between the two
		return v, far && matchInside(from, Cell, x, y, v)
	})
}

// TestEdges moves the picture to the right: content at the left edge stays in the frame, content at
// the right edge leaves it. Cells at the edges have cut windows.
func TestEdges(t *testing.T) {
	scene, v := denoisetest.Texture(5), Vector{16, 0}
	const odd = width - 3
	from := scene.Draw(odd, height-5, 8, 1, 1)
	to := scene.Moved(8, 0).Draw(odd, height-5, 8, 1, 1)
	f := find(constants, 1, from, to)
	if f.Width != 6 || f.Height != 4 {
		t.Fatalf("%d by %d cells", f.Width, f.Height)
	}
	for y := range f.Height {
		for x := range f.Width - 1 {
			if got := f.at(x, y); got != v {
				t.Errorf("cell %d,%d: %v, want %v", x, y, got, v)
			}
		}
	}
}

func TestTinyPlanes(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 5}, {16, 16}, {17, 3}, {2, 40}} {
		p := denoisetest.Texture(6).Draw(size[0], size[1], 8, 1, 1)
		for _, v := range find(constants, 5, p, p).Vectors {
			if v != (Vector{}) {
				t.Errorf("%v: %v of a picture at rest", size, v)
			}
		}
	}
}

func TestSameOnAnyNumberOfCores(t *testing.T) {
	from := denoisetest.Noisy(denoisetest.Texture(7).Draw(width, height, 8, 1, 1), 10, 1)
	to := denoisetest.Noisy(denoisetest.Texture(7).Moved(2, 1).Draw(width, height, 8, 1, 1), 10, 2)
	want := find(constants, 10, from, to)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := find(constants, 10, from, to); !slices.Equal(got.Vectors, want.Vectors) {
		t.Error("other vectors on one core")
	}
}

func TestRefine(t *testing.T) {
	scene := denoisetest.Texture(8)
	pilot := scene.Draw(width, height, 8, 1, 1)
	for _, v := range []Vector{{4, -2}, {5, -2}, {3, 3}} {
		to := scene.Moved(float64(v.X)/2, float64(v.Y)/2).Draw(width, height, 8, 1, 1)
		s := NewSearch(constants, 1)
		for _, off := range []Vector{{0, 0}, {1, 0}, {0, -1}, {-1, 1}, {-1, -1}} {
			given := newField(pilot, RefinedCell).fill(func(x, y int) Vector { return v.plus(off.X, off.Y) })
			got := s.Refine(pilot, s.Prepare(to), given)
			expect(t, got, pilot, func(x, y int) (Vector, bool) {
				return v, matchInside(pilot, RefinedCell, x, y, v)
			})
		}
	}
}

// TestRefineNeighbours: where an object ends inside a cell, the smaller cells beyond its end take
// the vector of the cell beside.
func TestRefineNeighbours(t *testing.T) {
	const end = width/2 + RefinedCell
	left, right := denoisetest.Texture(3), denoisetest.Texture(4)
	pilot := left.Left(end, right).Draw(width, height, 8, 1, 1)
	to := left.Moved(-3, 2).Left(end, right.Moved(4, -1)).Draw(width, height, 8, 1, 1)
	vectors := []Vector{{-6, 4}, {8, -2}}
	given := newField(pilot, Cell).fill(func(x, y int) Vector { return vectors[x*Cell/end] })
	s := NewSearch(constants, 1)
	expect(t, s.Refine(pilot, s.Prepare(to), given), pilot, func(x, y int) (Vector, bool) {
		v := vectors[min(x*RefinedCell/end, 1)]
		near := x == end/RefinedCell-1 // its window is half on the other object
		return v, !near && matchInside(pilot, RefinedCell, x, y, v)
	})
}

// TestRefineKeepsWhatIsAsGood refines a flat picture, in which all vectors are equally good.
func TestRefineKeepsWhatIsAsGood(t *testing.T) {
	flat := denoisetest.Flat(90).Draw(width, height, 8, 1, 1)
	s := NewSearch(constants, 5)
	given := newField(flat, RefinedCell).fill(func(x, y int) Vector { return Vector{x, -y} })
	got := s.Refine(flat, s.Prepare(flat), given)
	if !slices.Equal(got.Vectors, given.Vectors) {
		t.Error("vectors were changed for nothing")
	}
}

func TestFits(t *testing.T) {
	scene := denoisetest.Texture(9)
	from := denoisetest.Noisy(scene.Draw(width, height, 8, 1, 1), 10, 1)
	for _, c := range []struct {
		name  string
		other denoisetest.Scene
		want  bool
	}{
		{"at rest", scene, true},
		{"moved", scene.Moved(5, 3), true},
		{"a little brighter", scene.Plus(6), true},
		{"flash", scene.Plus(70), false},
		{"another scene", denoisetest.Texture(10), false},
	} {
		for _, bits := range []int{0, 2} {
			to := denoisetest.Noisy(c.other.Draw(width, height, 8, 1, 1), 10, 2)
			s := NewSearch(constants, 10)
			a, b := s.Prepare(denoisetest.Deeper(from, bits)), s.Prepare(denoisetest.Deeper(to, bits))
			if got := s.Fits(a, b, s.Find(a, b)); got != c.want {
				t.Errorf("%s, %d bits: %v", c.name, 8+bits, got)
			}
		}
	}
}

func BenchmarkFind(b *testing.B) {
	scene := denoisetest.Texture(1)
	s := NewSearch(constants, 10)
	from := s.Prepare(scene.Draw(384, 216, 8, 1, 1))
	to := s.Prepare(scene.Moved(5, 2).Draw(384, 216, 8, 1, 1))
	for b.Loop() {
		s.Find(from, to)
	}
}
