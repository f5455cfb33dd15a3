package fusion

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise/plane"
)

func randomBlock(n int) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]float32, n*n)
	for i := range b {
		b[i] = 255 * r.Float32()
	}
	return b
}

// TestDCT compares with the definition, in double precision.
func TestDCT(t *testing.T) {
	for _, d := range []*transform{dct8, dct16} {
		n := d.n
		in, out := randomBlock(n), make([]float32, n*n)
		d.forward(out, in)
		for v := range n {
			for u := range n {
				sum := 0.0
				for y := range n {
					for x := range n {
						sum += float64(in[y*n+x]) * cosine(n, u, x) * cosine(n, v, y)
					}
				}
				if math.Abs(sum-float64(out[v*n+u])) > 1e-3 {
					t.Errorf("%d: coefficient %d,%d is %v, want %v", n, u, v, out[v*n+u], sum)
				}
			}
		}
	}
}

func cosine(n, k, i int) float64 {
	c := math.Sqrt(2 / float64(n))
	if k == 0 {
		c = math.Sqrt(1 / float64(n))
	}
	return c * math.Cos(math.Pi*(float64(i)+0.5)*float64(k)/float64(n))
}

func TestDCTIsOrthonormal(t *testing.T) {
	for _, d := range []*transform{dct8, dct16} {
		in := randomBlock(d.n)
		out, back := make([]float32, len(in)), make([]float32, len(in))
		d.forward(out, in)
		d.inverse(back, out)
		var before, after float64
		for i := range in {
			before += float64(in[i]) * float64(in[i])
			after += float64(out[i]) * float64(out[i])
			if math.Abs(float64(in[i]-back[i])) > 1e-3 {
				t.Errorf("%d: sample %d comes back as %v, was %v", d.n, i, back[i], in[i])
			}
		}
		if math.Abs(after/before-1) > 1e-6 {
			t.Errorf("%d: the energy is %v, was %v", d.n, after, before)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		size, n, stride int
		want            string
	}{
		{8, 8, 4, "[0]"}, {16, 8, 4, "[0 4 8]"}, {17, 8, 4, "[0 4 8 9]"}, {20, 8, 5, "[0 5 10 12]"},
		{16, 16, 6, "[0]"}, {40, 16, 6, "[0 6 12 18 24]"}, {41, 16, 6, "[0 6 12 18 24 25]"},
	} {
		if got := fmt.Sprint(Places(c.size, c.n, c.stride)); got != c.want {
			t.Errorf("%d: %s, want %s", c.size, got, c.want)
		}
	}
}

func TestVariances(t *testing.T) {
	n := whiteNoise(1)
	for k := range n.Spectrum {
		n.Spectrum[k] = float32(k + 1)
	}
	small, large := n.Variances(8), n.Variances(16)
	for v := range 16 {
		for u := range 16 {
			if want := small[v/2*8+u/2]; large[v*16+u] != want || want != float32(v/2*8+u/2+1) {
				t.Errorf("frequency %d,%d: %v, want %v", u, v, large[v*16+u], want)
			}
		}
	}
}

func TestNoiseByBrightness(t *testing.T) {
	n := whiteNoise(10)
	n.Curve[100], n.Curve[0], n.Curve[255] = 2, 3, 4
	for _, c := range []struct {
		mean float32
		clip bool
		want float32
	}{
		{100.9, false, 2}, {100, true, 2}, {-3, false, 3}, {300, false, 4}, {50, true, 1},
		{235, true, 1}, {251, true, 0.34}, {243, true, 0.67}, {243, false, 1}, {255, true, 4 * 0.34},
	} {
		if got := n.Factor(c.mean, c.clip); math.Abs(float64(got-c.want)) > 1e-5 {
			t.Errorf("mean %v, clip curve %v: %v, want %v", c.mean, c.clip, got, c.want)
		}
	}
}

func TestNoNoise(t *testing.T) {
	var n Noise
	if got := n.Factor(255, true); got != 0 {
		t.Errorf("the factor without noise is %v", got)
	}
	for k, v := range n.Variances(8) {
		if !(1/v < 1e6) {
			t.Errorf("coefficient %d: %v", k, v)
		}
	}
}

func TestPools(t *testing.T) {
	in := make([]float32, 64)
	for i := range in {
		in[i] = float32(i)
	}
	out := make([]float32, 64)
	poolAround(out, in, 8)
	for k, want := range map[int]float32{0: 4.5, 9: 9, 7: 10.5, 3: 7} {
		if out[k] != want {
			t.Errorf("around %d: %v, want %v", k, out[k], want)
		}
	}
	poolGroups(out, in, 8)
	if want := float32(13.5); out[0] != want || out[27] != want || out[63] != want+36 {
		t.Errorf("groups: %v %v %v", out[0], out[27], out[63])
	}
	gateDC(out, []float32{99, 40, 0, 0, 0, 0, 0, 0, 20}, 8)
	if out[0] != 99 || out[1] != 20 || out[8] != 13.5 {
		t.Errorf("gate: %v %v %v", out[0], out[1], out[8])
	}
}

func TestAroundWithoutDC(t *testing.T) {
	e := make([]float32, 64)
	for i := range e {
		e[i] = 1
	}
	e[0] = 0
	for k := 1; k < 64; k++ {
		if got := aroundWithoutDC(e, 8, k); got != 1 {
			t.Errorf("coefficient %d: %v", k, got)
		}
	}
}

func TestThreshold(t *testing.T) {
	energy := func(e float32) []float32 {
		all := make([]float32, 63)
		for i := range all {
			all[i] = e
		}
		return all
	}
	for _, c := range []struct{ energy, want float32 }{
		{0, 1.2}, {1, 1.2}, {2, 1.05}, {4, 1}, {1e6, 1},
	} {
		if got := firstPass.threshold(energy(c.energy)); math.Abs(float64(got-c.want)) > 1e-6 {
			t.Errorf("energy %v: %v, want %v", c.energy, got, c.want)
		}
	}
}

func TestSums(t *testing.T) {
	s := newSums(plane.New(2, 1, 8))
	s.add(0, 0, 3, 100)
	s.add(0, 0, 1, 200)
	s.add(1, 0, 5, -40)
	if got := s.Mean(0, 0); got != 125 {
		t.Errorf("mean %v of 3 times 100 and 200", got)
	}
	if got := s.Plane(8).Pix; got[0] != 125 || got[1] != 0 {
		t.Errorf("8 bits: %v", got)
	}
	if got := s.Plane(10).Pix; got[0] != 500 || got[1] != 0 {
		t.Errorf("10 bits: %v", got)
	}
}

func TestSample(t *testing.T) {
	for _, c := range []struct {
		value float32
		depth int
		want  uint16
	}{
		{1.49, 8, 1}, {1.5, 8, 2}, {1.5, 10, 6}, {-9, 8, 0},
		{255.4, 8, 255}, {255.6, 8, 255}, {255.99, 10, 1023}, {300, 16, 65535},
	} {
		if got := Sample(c.value, 0.5, plane.New(1, 1, c.depth)); got != c.want {
			t.Errorf("%v at %d bits: %d, want %d", c.value, c.depth, got, c.want)
		}
	}
}
