package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/interlace"
)

func picture() plane.Plane {
	random, p := rand.New(rand.NewPCG(3, 4)), plane.New(40, 40, 8)
	for i := range p.Pix {
		x, y := i%p.Width, i/p.Width
		p.Pix[i] = uint16(100 + 60*math.Sin(float64(3*x+y)/9) + 20*random.Float64())
	}
	return p
}

func stripes() *clip {
	c := &clip{name: "stripes"}
	for range frames {
		c.truth = append(c.truth, picture())
	}
	return c
}

// TestSlopes compares the slopes with half the differences of the loss.
func TestSlopes(t *testing.T) {
	all := examples([]*clip{stripes()}, 0.01)
	large := 0
	for turn := range 4 {
		r := &trainer{middle: 3}
		r.begin(rand.New(rand.NewPCG(uint64(turn), 0)))
		values, slopes := numbers(&r.net), numbers(&r.slope)
		e := &all[turn*17%len(all)]
		r.learn(e, turn)
		for i, v := range values {
			const step = 1e-2
			was, slope := *v, float64(*slopes[i])
			*v = was + step
			above := r.learn(e, turn)
			*v = was - step
			below := r.learn(e, turn)
			*v = was
			if want := (above - below) / (4 * step); math.Abs(slope-want) > 0.01+0.05*math.Abs(want) {
				t.Errorf("turn %d, number %d: slope %g, want %g", turn, i, slope, want)
			}
			if math.Abs(slope) > 0.1 {
				large++
			}
			r.slope = interlace.Net{}
			r.learn(e, turn)
		}
	}
	if large < 50 {
		t.Errorf("only %d slopes are large enough to be compared", large)
	}
}

// TestProduct: the net in levels matches the trainer's net.
func TestProduct(t *testing.T) {
	r := &trainer{middle: 3}
	r.begin(rand.New(rand.NewPCG(5, 0)))
	r.net.FlatBias[0], r.net.Bias = 0.1, 0.02
	tables := &interlace.Tables{Net: r.product()}
	c := stripes()
	got := interlace.Estimate(window([]*interlace.Lines{interlace.LumaLines(c.truth[0], false, tables)}, 0), 0)
	for _, e := range []struct{ x, y int }{{9, 9}, {20, 15}, {30, 29}} {
		x := example{weight: 1}
		for i := range x.rows {
			for j := range x.rows[i] {
				x.rows[i][j] = uint8(c.truth[0].At(e.x+j-reach, e.y-5+2*i))
			}
		}
		base := float64(c.truth[0].At(e.x, e.y-1)+c.truth[0].At(e.x, e.y+1)) / 2
		want := base + unit/2*math.Sqrt(r.learn(&x, 0)) // the loss where 0 is wanted
		other := 2*base - want
		if v := float64(got.At(e.x, e.y)); math.Abs(v-want) > 0.51 && math.Abs(v-other) > 0.51 {
			t.Errorf("at %d,%d: %g, want %g or %g", e.x, e.y, v, want, other)
		}
	}
}

func TestSolve(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var want code
	for i := range want {
		want[i] = random.NormFloat64() / 4
	}
	var e equations
	for range 5000 {
		s, sum := interlace.Sample{Base: 200}, 0.0
		for i := range s.Around {
			s.Around[i] = random.IntN(400) - 200
			sum += want[i] * float64(s.Around[i])
		}
		e.observe(s, 100+int(math.Round(sum/2)), 1)
	}
	got := e.solve()
	for i := range got {
		if math.Abs(got[i]-want[i]) > 0.01 {
			t.Errorf("weight %d: %g, want %g", i, got[i], want[i])
		}
	}
	if c := e.cost(&got) + e.energy; c > 0.01*e.energy {
		t.Errorf("%g of the energy %g is left", c, e.energy)
	}
}

// TestLearnPass: tables learned from a clip complete it better than weights of 0.
func TestLearnPass(t *testing.T) {
	c := stripes()
	tables := &interlace.Tables{Net: interlace.Learned().Net}
	learnPass(tables, 0, []*clip{c})
	fields := c.fields(0, tables)
	before := c.mse(5, interlace.Estimate(window(fields, 5), 0))
	after := c.mse(5, interlace.Estimate(window(fields, 5), 1))
	if after >= before || tables.Code[0] == interlace.Learned().Code[0] {
		t.Errorf("mean squared error %.2f after the pass, %.2f before", after, before)
	}
}
