package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"vidfilter/denoise/plane"
	"vidfilter/interlace"
)

// The net learns in units of 64 levels for sums of two samples and of 32 levels for its result, all
// less the mean of the samples above and below. product undoes both.
const unit = 64

const (
	gapRows = 6 // of a field: two above, the gap's own two and two below, as in interlace
	reach   = 4 // columns each way: three of a unit and one of the pooling
)

// example is a missing sample with the field's samples around it.
type example struct {
	rows   [gapRows][2*reach + 1]uint8
	want   float32 // less the mean of the samples above and below, in levels
	weight float32
}

// sources are the kinds of examples: noise, and a vertical blur of 1:m:1 as of interlaced cameras.
var sources = []struct {
	sigma  float64
	blur   int // m; 0 for none
	weight float64
}{{0, 0, 1}, {3, 0, 0.5}, {8, 0, 0.3}, {0, 2, 0.5}, {3, 2, 0.25}, {0, 6, 0.25}}

// examples returns a share of the missing samples. The weights of a clip's examples from one source
// are equal and sum to the source's weight over their mean squared target.
func examples(clips []*clip, share float64) (all []example) {
	for s, source := range sources {
		random := rand.New(rand.NewPCG(uint64(s), 1))
		for _, c := range clips {
			from, energy := len(all), 0.0
			for n := range frames {
				field := blurred(noisy(c.truth[n], source.sigma, uint64(n)), source.blur)
				truth := blurred(c.truth[n], source.blur)
				c.missing(n, func(x, y int) {
					if random.Float64() >= share {
						return
					}
					var e example
					for i := range e.rows {
						for j := range e.rows[i] {
							e.rows[i][j] = uint8(field.At(x+j-reach, y-5+2*i))
						}
					}
					e.want = float32(truth.At(x, y)) - float32(field.At(x, y-1)+field.At(x, y+1))/2
					energy += float64(e.want) * float64(e.want)
					all = append(all, e)
				})
			}
			weight := source.weight * float64(len(all)-from) / (energy / (unit / 2 * unit / 2))
			for i := from; i < len(all); i++ {
				all[i].weight = float32(weight)
			}
		}
	}
	return all
}

// blurred returns rows weighted 1:m:1 with their neighbours.
func blurred(p plane.Plane, m int) plane.Plane {
	if m == 0 {
		return p
	}
	out := p.Like()
	for y := range p.Height {
		for x := range p.Width {
			out.Row(y)[x] = uint16((p.At(x, y-1) + m*p.At(x, y) + p.At(x, y+1) + (m+2)/2) / (m + 2))
		}
	}
	return out
}

// trainer holds the net in training units and what a step computes.
type trainer struct {
	net, slope interlace.Net
	middle     int // of the sums: the samples above and below
}

const (
	batch = 1024
	steps = 20_000
	rate  = 0.004
)

// learnNet minimises the weighted squared error with Adam (Kingma and Ba, "Adam: a method for
// stochastic optimization").
func learnNet(clips []*clip) interlace.Net {
	const least = 2_000_000 // examples
	samples := 0
	for _, c := range clips {
		samples += len(sources) * frames * c.truth[0].Width * c.truth[0].Height / 2
	}
	all := examples(clips, min(1, least/float64(samples)))
	t := &trainer{middle: len(interlace.Net{}.Pair[0]) / 2}
	random := rand.New(rand.NewPCG(1, 2))
	t.begin(random)
	values, slopes := numbers(&t.net), numbers(&t.slope)
	mean, square := make([]float64, len(values)), make([]float64, len(values))
	loss := 0.0
	for step := 1; step <= steps; step++ {
		t.slope = interlace.Net{}
		for range batch {
			loss += t.learn(&all[random.IntN(len(all))], random.IntN(4))
		}
		speed := rate / 2 * (1 + math.Cos(math.Pi*float64(step)/steps)) * min(1, float64(step)/100)
		for i, v := range values {
			g := float64(*slopes[i]) / batch
			mean[i] = 0.9*mean[i] + 0.1*g
			square[i] = 0.999*square[i] + 0.001*g*g
			m, s := mean[i]/(1-math.Pow(0.9, float64(step))), square[i]/(1-math.Pow(0.999, float64(step)))
			*v -= float32(speed * m / (math.Sqrt(s) + 1e-8))
		}
		if step%(steps/4) == 0 {
			fmt.Printf("net: step %d, loss %.4f\n", step, loss/(batch*steps/4))
			loss = 0
		}
	}
	return t.product()
}

// numbers returns the numbers of a net that are learned. Mean, which sets the gates' scale, is not.
func numbers(n *interlace.Net) (all []*float32) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if v.Kind() == reflect.Array {
			for i := range v.Len() {
				walk(v.Index(i))
			}
			return
		}
		all = append(all, v.Addr().Interface().(*float32))
	}
	v := reflect.ValueOf(n).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name != "Mean" {
			walk(v.Field(i))
		}
	}
	return all
}

// begin sets random weights.
func (t *trainer) begin(random *rand.Rand) {
	n, normal := &t.net, func(s float64) float32 { return float32(s * random.NormFloat64()) }
	n.Mean = 0.02
	for i := range n.Flat {
		for j := range n.Flat[i] {
			n.Flat[i][j] = normal(0.4)
		}
	}
	for i := range n.Pair {
		for j := range n.Pair[i] {
			n.Pair[i][j] = normal(0.6)
		}
		n.Centre[i] = [2]float32{0.4, 0.05}
		n.Outer[i] = [3]float32{0.02, 0.02, 0.02}
	}
	for i := range n.Gate {
		n.GateBias[i] = 0.1
		for j := range n.Gate[i] {
			n.Gate[i][j] = (1 + normal(0.8)) / float32(len(n.Gate[i]))
		}
		for j := range n.Filter[i] {
			n.Filter[i][j] = normal(0.1)
		}
	}
}

// learn adds an example's slopes and returns its loss. turn mirrors the example: 1 turns it by 180
// degrees, 2 negates it.
func (t *trainer) learn(e *example, turn int) float64 {
	n, d := &t.net, &t.slope
	scale := float32(1.0 / unit)
	if turn&2 != 0 {
		scale = -scale
	}
	at := func(x, row int) float32 { // as gap.at in interlace, row 0 above the gap
		row, x = row+2, x+reach
		if turn&1 != 0 {
			row, x = gapRows-1-row, 2*reach-x
		}
		return scale * float32(e.rows[row][x])
	}
	want := scale * 2 * e.want
	width := len(n.Pair[0])
	var x [len(n.Flat[0])]float32
	base := at(0, 0) + at(0, 1)
	for j := range width {
		x[j] = at(j-width/2, 0) + at(width/2-j, 1) - base
		x[width+j] = at(j-width/2, -1) + at(width/2-j, 2) - base
	}
	for j := range 3 {
		x[2*width+j] = at(j-1, -2) + at(1-j, 3) - base
	}

	// pooled is a unit of a pair of rows in one place, with its weight and the weight's slope.
	type pooled struct {
		further, column int
		weight, slope   *float32
	}
	places := func(i int) [9]pooled {
		c, o, dc, do := &n.Centre[i], &n.Outer[i], &d.Centre[i], &d.Outer[i]
		return [9]pooled{
			{0, 0, &c[0], &dc[0]}, {0, -1, &c[1], &dc[1]}, {0, 1, &c[1], &dc[1]},
			{-1, -1, &o[0], &do[0]}, {-1, 0, &o[1], &do[1]}, {-1, 1, &o[2], &do[2]},
			{1, 1, &o[0], &do[0]}, {1, 0, &o[1], &do[1]}, {1, -1, &o[2], &do[2]},
		}
	}
	var sign [len(n.Flat)]float32
	var pair [len(n.Pair)][9]float32
	var units, du [len(n.Flat) + len(n.Pair)]float32
	for i := range n.Flat {
		sum := n.FlatBias[i]
		for j, w := range n.Flat[i] {
			sum += w * x[j]
		}
		sign[i] = sign32(sum)
		units[i] = sum * sign[i]
	}
	for i := range n.Pair {
		for k, p := range places(i) {
			sum := float32(0)
			for j, w := range n.Pair[i] {
				sum += w * (at(p.column+j-width/2, p.further) - at(p.column-j+width/2, p.further+1))
			}
			pair[i][k] = sum
			units[len(n.Flat)+i] += *p.weight * sum * sign32(sum)
		}
	}
	var gate, filtered [len(n.Gate)]float32
	weights, total := n.Mean, float32(0)
	for i := range n.Gate {
		sum := n.GateBias[i]
		for j, w := range n.Gate[i] {
			sum += w * units[j]
		}
		gate[i] = max(sum, 0)
		for j, w := range n.Filter[i] {
			filtered[i] += w * x[j]
		}
		weights += gate[i]
		total += gate[i] * filtered[i]
	}
	got := total / weights
	off := got + n.Bias - want
	slope := e.weight * off
	d.Bias += slope
	for i := range n.Gate {
		for j := range d.Filter[i] {
			d.Filter[i][j] += slope * gate[i] / weights * x[j]
		}
		if gate[i] == 0 {
			continue
		}
		s := slope * (filtered[i] - got) / weights
		d.GateBias[i] += s
		for j, u := range units {
			d.Gate[i][j] += s * u
			du[j] += s * n.Gate[i][j]
		}
	}
	for i := range n.Flat {
		s := du[i] * sign[i]
		d.FlatBias[i] += s
		for j := range x {
			d.Flat[i][j] += s * x[j]
		}
	}
	for i := range n.Pair {
		for k, p := range places(i) {
			s := du[len(n.Flat)+i] * sign32(pair[i][k])
			*p.slope += s * pair[i][k]
			s *= *p.weight
			for j := range d.Pair[i] {
				d.Pair[i][j] += s * (at(p.column+j-width/2, p.further) - at(p.column-j+width/2, p.further+1))
			}
		}
	}
	return float64(e.weight * off * off)
}

func sign32(v float32) float32 {
	if v < 0 {
		return -1
	}
	return 1
}

// product returns the net in levels, for sums with their mean.
func (t *trainer) product() interlace.Net {
	n := t.net
	centre := func(w []float32, sum float32) { // w gives the sum where all samples are equal to 1/2
		for j, v := range w {
			if j != t.middle {
				sum -= v
			}
		}
		w[t.middle] = sum
	}
	for i := range n.Flat {
		centre(n.Flat[i][:], 0)
		n.FlatBias[i] *= unit
	}
	for i := range n.Gate {
		for j := range n.Gate[i] {
			n.Gate[i][j] /= unit
		}
		for j := range n.Filter[i] {
			n.Filter[i][j] /= 2
		}
		centre(n.Filter[i][:], 0.5)
	}
	n.Bias *= unit / 2
	return n
}
