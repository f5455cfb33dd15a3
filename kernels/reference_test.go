package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// grey returns an RGBA frame whose R = G = B are the given rows; alpha counts up, for greyOf to
// check.
func grey(rows ...[]byte) *pipeline.Frame {
	f := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: len(rows[0]), Height: len(rows)})
	for y, row := range rows {
		for x, v := range row {
			copy(f.Row(0, y)[4*x:], []byte{v, v, v, byte(y*len(row) + x)})
		}
	}
	return f
}

// greyOf returns R of each pixel after checking G, B and alpha.
func greyOf(t *testing.T, f *pipeline.Frame) (rows [][]byte) {
	t.Helper()
	for y := range f.Height {
		row := make([]byte, f.Width)
		for x := range row {
			p := f.Row(0, y)[4*x:]
			if p[1] != p[0] || p[2] != p[0] || p[3] != byte(y*f.Width+x) {
				t.Fatalf("pixel %d, %d is %v: not grey, or alpha is not the input's", x, y, p[:4])
			}
			row[x] = p[0]
		}
		rows = append(rows, row)
	}
	return rows
}

func reference(t *testing.T, src *pipeline.Frame, p Planned) *pipeline.Frame {
	t.Helper()
	dst := kerneltest.Frame(src.Format)
	e2e.Must(t, Reference(dst, src, p))
	kerneltest.CheckCanaries(t, "output", dst)
	return dst
}

// With 2 sigma_s^2 = 1/ln 2, Gs is 2^-(dx^2+dy^2): 1 at the centre, 1/2 beside it, 1/4 at the
// corners. With 2 sigma_r^2 = 300, R of greys, whose three channels differ alike, is 1/(1+D^2/100):
// 1/2 for neighbours 10 levels apart, 1/5 for 20.
func handParams(b Border) Bilateral {
	return Bilateral{Radius: 1, SigmaS: math.Sqrt(1 / (2 * math.Ln2)), SigmaR: math.Sqrt(150), Border: b}
}

// TestHandWorked checks a 5x5 image worked out by hand, with every border. The image is 100 except
// for its top row and a point:
//
// 110 110 110 110 110
// 100 100 100 100 100
// 100 100 120 100 100
// 100 100 100 100 100
// 100 100 100 100 100
//
// Each expected value is sum(w I) / sum(w) with w = Gs R, as 100 + sum(w (I-100)) / sum(w).
func TestHandWorked(t *testing.T) {
	image := func() *pipeline.Frame {
		h := []byte{100, 100, 100, 100, 100}
		return grey([]byte{110, 110, 110, 110, 110}, h, []byte{100, 100, 120, 100, 100}, h, h)
	}
	tests := []struct {
		border Border
		x, y   int
		value  float64
	}{
		// The point, with any border: it keeps 120 with weight 1 against eight of 100: R = 1/5, Gs
		// sums to 4/2 + 4/4 = 3.
		{Reflect, 2, 2, 100 + 20*1/(1+3.0/5)},
		// Below the point, 2,3: 100s: 1 + 3/2 + 4/4 = 3.5; 120: Gs 1/2, R 1/5 = 0.1.
		{Reflect, 2, 3, 100 + 20*0.1/(3.5+0.1)},
		// Diagonal to the point, 1,3: 100s: 1 + 4/2 + 3/4 = 3.75; 120: 1/4 * 1/5 = 0.05.
		{Reflect, 1, 3, 100 + 20*0.05/(3.75+0.05)},
		// 0,1, on the left border, 110 above: reflect folds column 1 to -1. 100s: 1 + 3/2 + 2/4 =
		// 3; 110s: (1/2 + 2/4) R = 1/2 times 1 = 0.5.
		{Reflect, 0, 1, 100 + 10*0.5/(3+0.5)},
		// 2,0, on the top: reflect has 100 above and below: 110s: 1 + 2/2 = 2; 100s: (2/2 +
		// 4/4)/2 = 1.
		{Reflect, 2, 0, 100 + 10*2/(2+1.0)},
		// Clamp repeats the row of 110: 110s: 1 + 3/2 + 2/4 = 3; 100s: (1/2 + 2/4)/2 = 0.5.
		{Clamp, 2, 0, 100 + 10*3/(3+0.5)},
	}
	for _, test := range tests {
		rows := greyOf(t, reference(t, image(), handParams(test.border)))
		if want := byte(math.Round(test.value)); rows[test.y][test.x] != want {
			t.Errorf("%s at %d, %d: got %d, want %d (%.3f)", test.border, test.x, test.y, rows[test.y][test.x], want, test.value)
		}
	}
}

// TestDistance works out one pair of colours by hand: two pixels, one row, sigma_s so large that
// Gs is 1. Clamped, a pixel's window holds itself six times of nine and its neighbour three times.
func TestDistance(t *testing.T) {
	p := Bilateral{Radius: 1, SigmaS: 1e6, SigmaR: 20, Border: Clamp}
	for r, w0 := range map[RangeWeight]float64{ // weight of the neighbour
		Lorentzian: 1 / (1 + (40*40+30*30+30*30)/800.0),
		Gaussian:   math.Exp(-(40*40 + 30*30 + 30*30) / 800.0),
	} {
		src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 2, Height: 1})
		copy(src.Row(0, 0), []byte{100, 80, 60, 1, 140, 110, 90, 2})
		p.Range = r
		got := reference(t, src, p).Row(0, 0)
		want := math.Round((6*100 + 3*140*w0) / (6 + 3*w0))
		if float64(got[0]) != want {
			t.Errorf("%s: R is %d, want %g", r, got[0], want)
		}
	}
}

// TestReflect101 checks the fold, including pictures smaller than the radius.
func TestReflect101(t *testing.T) {
	for n, want := range map[int][]int{
		1: {0, 0, 0, 0, 0, 0, 0},
		2: {1, 0, 1, 0, 1, 0, 1}, // from -3
		3: {1, 2, 1, 0, 1, 2, 1},
		5: {3, 2, 1, 0, 1, 2, 3},
	} {
		for k, at := range want {
			if got := outside(k-3, n, Reflect); got != at {
				t.Errorf("%d of %d reflects to %d, want %d", k-3, n, got, at)
			}
		}
	}
}

// TestFlipsCommute: filtering a mirrored picture mirrors the result.
func TestFlipsCommute(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV444P, Width: 11, Height: 8, Matrix: pipeline.BT709}
	src := kerneltest.Frame(format)
	kerneltest.Scene(src, rand.New(rand.NewPCG(7, 8)))
	mirror := func(f *pipeline.Frame) *pipeline.Frame {
		out := kerneltest.Frame(format)
		scene.EachSample(out, func(plane, x, y int) byte { return f.Row(plane, format.Height-1-y)[format.Width-1-x] })
		return out
	}
	for b := range borderNames {
		p := DefaultBilateral(3)
		p.Border = Border(b)
		if d := kerneltest.Compare(reference(t, mirror(src), p), mirror(reference(t, src, p))); d.Largest > 0 {
			t.Errorf("%s: %s", p.Border, d)
		}
	}
}

// TestLargeSigmaIsBlur: with sigma_r beyond all differences the filter is a plain Gaussian blur.
func TestLargeSigmaIsBlur(t *testing.T) {
	black := make([]byte, 9)
	src := grey(black, black, black, black, []byte{0, 0, 0, 0, 255, 0, 0, 0, 0}, black, black, black, black)
	for rw := range rangeNames {
		p := Bilateral{Radius: 2, SigmaS: 1, SigmaR: 1e7, Range: RangeWeight(rw)}
		sum := 0.0
		for i := -2.0; i <= 2; i++ {
			sum += math.Exp(-i * i / 2)
		}
		rows := greyOf(t, reference(t, src, p))
		for y := range 9 {
			for x := range 9 {
				gs := math.Exp(-float64((x-4)*(x-4)+(y-4)*(y-4)) / 2)
				if x < 2 || y < 2 || x > 6 || y > 6 {
					gs = 0
				}
				if want := byte(math.Round(255 * gs / (sum * sum))); rows[y][x] != want {
					t.Errorf("%s at %d, %d: got %d, want %d", p.Range, x, y, rows[y][x], want)
				}
			}
		}
	}
}

// TestFields: filtering an interlaced frame equals filtering its two fields separately.
func TestFields(t *testing.T) {
	for _, size := range [][2]int{{8, 12}, {9, 7}, {4, 6}, {5, 2}, {3, 1}} {
		format := pipeline.Format{Layout: pipeline.YUV422P, Width: size[0], Height: size[1], Matrix: pipeline.BT709}
		src := kerneltest.Frame(format)
		kerneltest.Scene(src, rand.New(rand.NewPCG(9, 10)))
		src.Interlaced = true
		woven := reference(t, src, DefaultBilateral(2))
		for first := range min(2, size[1]) {
			half := format
			half.Height = (size[1] - first + 1) / 2
			alone := kerneltest.Frame(half)
			scene.EachSample(alone, func(plane, x, y int) byte { return src.Row(plane, 2*y+first)[x] })
			want := reference(t, alone, DefaultBilateral(2))
			got := kerneltest.Frame(half)
			scene.EachSample(got, func(plane, x, y int) byte { return woven.Row(plane, 2*y+first)[x] })
			if d := kerneltest.Compare(got, want); d.Count > 0 {
				t.Errorf("%v field %d: %s", size, first, d)
			}
		}
	}
}

func TestReferenceErrors(t *testing.T) {
	f := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV420P, Width: 4, Height: 4})
	if err := Reference(f, f, DefaultBilateral(1)); err == nil {
		t.Error("a frame without a matrix was filtered")
	}
	if err := Reference(f, f, DefaultBilateral(99)); err == nil {
		t.Error("radius 99 was taken")
	}
	g := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV420P, Width: 4, Height: 6, Matrix: pipeline.BT709})
	if err := Reference(f, g, DefaultBilateral(1)); err == nil {
		t.Error("frames of two sizes were taken")
	}
	g.Planes[2].Data = g.Planes[2].Data[:5]
	if err := Reference(g, g, DefaultBilateral(1)); err == nil {
		t.Error("a plane that is too short was taken")
	}
}
