package grain

import (
	"math"
	"math/rand/v2"

	"vidfilter/pipeline"
)

const (
	noiseSigma = 32.0 // of the noise in templates, in 8-bit levels
	mostSigma  = 36.0 // of grain in a template, which ends at 127
	faintest   = 0.2  // sigma of grain that is not worth it, in 8-bit levels
)

// Grain describes the noise removed so far; nil if it was negligible.
func (m *Measure) Grain() *pipeline.FilmGrain {
	if !(math.Sqrt(m.luma.at(0, 0)) >= faintest) {
		return nil
	}
	var all [3][]float64
	luma, left := m.luma.weights()
	all[0] = luma
	for c := range m.chroma {
		w, own := m.chroma[c].weights()
		if own > 0 && left > 0 {
			w[taps] *= math.Sqrt(left / own) // in units of the templates
		}
		all[c+1] = w
	}
	g := &pipeline.FilmGrain{Lag: lag, Overlap: true, ClipLimited: !m.full}
	sigmas := setWeights(g, all)
	for g.NoiseShift < 3 && sigmas[0]/float64(int(1)<<g.NoiseShift) > mostSigma {
		g.NoiseShift++
	}
	for i := range sigmas {
		sigmas[i] /= float64(int(1) << g.NoiseShift)
	}
	m.scale(g, sigmas)
	return g
}

// setWeights rounds the weights to bytes of one shift, and returns the sigma of the templates that
// they make. Weights that do not settle are made smaller.
func setWeights(g *pipeline.FilmGrain, all [3][]float64) (sigmas [3]float64) {
	const most, wildest, shrink = 127, 8 * noiseSigma, 0.95
	for range 100 {
		largest := 0.0
		for _, w := range all {
			for _, v := range w {
				largest = max(largest, math.Abs(v))
			}
		}
		for g.WeightShift = 9; g.WeightShift > 6 && largest*float64(int(1)<<g.WeightShift) > most; g.WeightShift-- {
		}
		var bytes [3][]int8
		for i, w := range all {
			bytes[i] = make([]int8, len(w))
			for k, v := range w {
				v = math.Round(v * float64(int(1)<<g.WeightShift))
				bytes[i][k] = int8(min(max(v, -most), most))
			}
		}
		g.LumaWeights, g.ChromaWeights = bytes[0], [2][]int8{bytes[1], bytes[2]}
		sigmas = templates(g)
		if max(sigmas[0], sigmas[1], sigmas[2]) <= wildest {
			break
		}
		for _, w := range all {
			for k := range w {
				w[k] *= shrink
			}
		}
	}
	return sigmas
}

// templates returns the sigma of grain that the weights make of noise.
func templates(g *pipeline.FilmGrain) (sigmas [3]float64) {
	const size, half = 192, 96
	random := rand.New(rand.NewPCG(1, 2))
	luma := newTemplate(random, size)
	luma.filter(g.LumaWeights, g.WeightShift, nil)
	sigmas[0] = luma.sigma()
	for c, w := range g.ChromaWeights {
		t := newTemplate(random, half)
		t.filter(w, g.WeightShift, luma)
		sigmas[c+1] = t.sigma()
	}
	return sigmas
}

// template is a square of grain.
type template [][]float64

func newTemplate(random *rand.Rand, size int) template {
	t := make(template, size)
	for y := range t {
		t[y] = make([]float64, size)
		for x := range t[y] {
			t[y][x] = noiseSigma * random.NormFloat64()
		}
	}
	return t
}

// filter adds to each sample the weighted sum of those before it and, in chroma, of luma.
func (t template) filter(weights []int8, shift int, luma template) {
	unit := 1 / float64(int(1)<<shift)
	for y := lag; y < len(t); y++ {
		for x := lag; x < len(t)-lag; x++ {
			sum := 0.0
			for i, n := range neighbours {
				sum += float64(weights[i]) * t[y+n.y][x+n.x]
			}
			if luma != nil {
				a, b := luma[2*y], luma[2*y+1]
				sum += float64(weights[taps]) * (a[2*x] + a[2*x+1] + b[2*x] + b[2*x+1]) / 4
			}
			t[y][x] += unit * sum
		}
	}
}

// sigma leaves out the edges, which have fewer neighbours.
func (t template) sigma() float64 {
	const edge = 8
	sum, n := 0.0, 0.0
	for _, row := range t[edge:] {
		for _, v := range row[edge : len(row)-edge] {
			sum, n = sum+v*v, n+1
		}
	}
	return math.Sqrt(sum / n)
}

// scale sets the points by the sigmas of the templates.
func (m *Measure) scale(g *pipeline.FilmGrain, templates [3]float64) {
	var luma [numBins]float64
	curve := m.curve()
	most := 0.0
	for i, v := range curve {
		luma[i] = math.Sqrt(v) / templates[0]
		most = max(most, luma[i])
	}
	var chroma [2]float64
	for c := range m.chroma {
		if sigma := math.Sqrt(m.chroma[c].own.at(0, 0)); sigma >= faintest {
			chroma[c] = sigma / templates[c+1]
			most = max(most, chroma[c])
		}
	}
	for g.ScalingShift = 11; g.ScalingShift > 8 && most*float64(int(1)<<g.ScalingShift) > 255; g.ScalingShift-- {
	}
	scaled := func(v float64) uint8 { return uint8(min(math.Round(v*float64(int(1)<<g.ScalingShift)), 255)) }
	for i, v := range luma {
		g.Luma = append(g.Luma, pipeline.GrainPoint{Value: uint8(min(binMiddle(i), 255)), Scale: scaled(v)})
	}
	for c, v := range chroma {
		if v > 0 {
			g.Chroma[c] = []pipeline.GrainPoint{{Value: 128, Scale: scaled(v)}}
		}
	}
}

func binMiddle(i int) float64 { return binWidth*float64(i) + binWidth/2 }

// curve returns the variance at each brightness: the measured one, drawn to a line the more the
// fewer blocks there were. A line fits noise of photons and of electronics. One that falls is level
// beyond the brightness that was seen, for it has other reasons.
func (m *Measure) curve() (variances [numBins]float64) {
	const trusted = 16.0 // blocks that weigh as much as the line
	var sw, sx, sy, sxx, sxy float64
	from, to := math.Inf(1), math.Inf(-1)
	for i, b := range m.bins {
		if b.n == 0 {
			continue
		}
		x, y, w := binMiddle(i), b.sum/b.n, b.blocks
		from, to = min(from, x), max(to, x)
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*y, sxx+w*x*x, sxy+w*x*y
	}
	slope := 0.0
	if d := sw*sxx - sx*sx; d > 1e-6*sw*sw {
		slope = (sw*sxy - sx*sy) / d
	}
	if slope > 0 {
		from, to = 0, 256
	}
	base := (sy - slope*sx) / sw
	for i, b := range m.bins {
		line := max(base+slope*min(max(binMiddle(i), from), to), 0.05*sy/sw)
		variances[i] = (b.sum/max(b.n, 1)*b.blocks + line*trusted) / (b.blocks + trusted)
	}
	return variances
}
