package papers

import (
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/samples/scene"
)

// TestReferenceAgrees: with the semantics of kernels.Reference the result is the same.
func TestReferenceAgrees(t *testing.T) {
	for i, size := range [][2]int{{1, 1}, {9, 4}, {31, 17}} {
		p := kernels.DefaultBilateral(1 + 3*i)
		p.Range = kernels.RangeWeight(i % 2)
		src := kerneltest.Frame(rgbaOf(size[0], size[1]))
		src.Interlaced = i == 2
		kerneltest.Noise(src, rand.New(rand.NewPCG(51, 52)))
		got, want := kerneltest.Frame(src.Format), kerneltest.Frame(src.Format)
		e2e.Must(t, Reference(got, src, p, Semantics{RGB, Reflect}))
		e2e.Must(t, kernels.Reference(want, src, p))
		kerneltest.CheckCanaries(t, "output", got)
		if d := kerneltest.Compare(got, want); d.Count > 0 {
			t.Errorf("%s: %s", src.Format, d)
		}
	}
}

// TestReferenceByHand checks pixels of a 5x5 picture, worked out by hand as in kernels'
// TestHandWorked: Gs is 2^-(dx^2+dy^2), and R 1/(1+D^2/100) with the distance channel.
func TestReferenceByHand(t *testing.T) {
	src := kerneltest.Frame(rgbaOf(5, 5))
	scene.EachSample(src, func(_, x, y int) byte {
		switch {
		case x%4 == 3:
			return byte(x)
		case y == 0:
			return 110
		case x/4 == 2 && y == 2:
			return 120
		}
		return 100
	})
	p := kernels.Bilateral{Radius: 1, SigmaS: math.Sqrt(1 / (2 * math.Ln2)), SigmaR: math.Sqrt(50)}
	for _, test := range []struct {
		border Border
		x, y   int
		value  float64
	}{
		{Reflect, 2, 2, 100 + 20*1/(1+3.0/5)},
		{Reflect, 0, 1, 100 + 10*0.5/(3+0.5)},
		// 110s: 1 + 2/2 = 2; 100s below: 0.5; black above: Gs 1/2 + 2/4 = 1 with R =
		// 1/(1+110^2/100) = 1/122.
		{Zero, 2, 0, (110*2 + 100*0.5) / (2 + 0.5 + 1.0/122)},
		// The border stays unchanged, the interior does not.
		{Skip, 2, 0, 110},
		{Skip, 0, 1, 100},
		{Skip, 2, 1, 100 + (10*0.5+20*0.1)/(1+2*0.5+2*0.25+0.5+0.1)},
	} {
		got := kerneltest.Frame(src.Format)
		e2e.Must(t, Reference(got, src, p, Semantics{Channel, test.border}))
		at, want := got.Row(0, test.y)[4*test.x:], byte(math.Round(test.value))
		if at[0] != want || at[1] != want || at[2] != want || at[3] != byte(4*test.x+3) {
			t.Errorf("%v at %d, %d: %v, want %d (%.3f)", test.border, test.x, test.y, at[:4], want, test.value)
		}
	}
}

// TestDistances works out one pair of colours by hand, as kernels' TestDistance does. Mirrored, a
// pixel's window holds itself three times of nine and its neighbour six times.
func TestDistances(t *testing.T) {
	src := kerneltest.Frame(rgbaOf(2, 1))
	copy(src.Row(0, 0), []byte{100, 80, 60, 1, 140, 110, 90, 2})
	linear, xyz := labTables()
	a, b := cieLab(&xyz, linear[100], linear[80], linear[60]), cieLab(&xyz, linear[140], linear[110], linear[90])
	lab := 0.0
	for i := range a {
		lab += (a[i] - b[i]) * (a[i] - b[i])
	}
	for d, square := range map[Distance]float64{RGB: 40*40 + 30*30 + 30*30, Channel: 40 * 40, Lab: lab} {
		for r, weight := range map[kernels.RangeWeight]float64{kernels.Lorentzian: 1 / (1 + square/800), kernels.Gaussian: math.Exp(-square / 800)} {
			got := kerneltest.Frame(src.Format)
			e2e.Must(t, Reference(got, src, kernels.Bilateral{Radius: 1, SigmaS: 1e6, SigmaR: 20, Range: r}, Semantics{d, Reflect}))
			if want := math.Round((3*100 + 6*140*weight) / (3 + 6*weight)); float64(got.Row(0, 0)[0]) != want {
				t.Errorf("distance %d, %s: R is %d, want %g", d, r, got.Row(0, 0)[0], want)
			}
		}
	}
}

// TestCIELab compares with published values: sRGB red is L 53.24, a 80.09, b 67.20; blue 32.30,
// 79.19, -107.86.
func TestCIELab(t *testing.T) {
	linear, xyz := labTables()
	for word, want := range map[[3]byte][3]float64{
		{}: {0, 0, 0}, {255, 255, 255}: {100, 0, 0}, {255}: {53.24, 80.09, 67.20}, {0, 0, 255}: {32.30, 79.19, -107.86},
	} {
		for i, got := range cieLab(&xyz, linear[word[0]], linear[word[1]], linear[word[2]]) {
			if math.Abs(got-want[i]) > 0.02 {
				t.Errorf("%v: component %d is %.3f, want %.2f", word, i, got, want[i])
			}
		}
	}
}
