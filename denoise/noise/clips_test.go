package noise

import (
	"math"
	"math/rand/v2"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// painter gives a sample of frame t in a plane, between 0 and 255, at a place in luma samples.
type painter func(c, t int, x, y float64) float64

// draw paints frames in 4:2:0, in 8 bits.
func draw(w, h, frames int, paint painter) []plane.Picture {
	clip := make([]plane.Picture, frames)
	for t := range clip {
		clip[t] = empty(w, h, 8)
		for c, p := range clip[t].Planes {
			scale := 1 + min(c, 1)
			for i := range p.Pix {
				x, y := i%p.Width*scale, i/p.Width*scale
				p.Pix[i] = round(paint(c, t, float64(x), float64(y)), p.Max())
			}
		}
	}
	return clip
}

func empty(w, h, depth int) plane.Picture {
	chroma := plane.New((w+1)/2, (h+1)/2, depth)
	return plane.Picture{
		Planes: []plane.Plane{plane.New(w, h, depth), chroma, chroma.Like()},
		ShiftX: 1, ShiftY: 1,
	}
}

func round(v float64, most int) uint16 {
	return uint16(min(max(math.Floor(v+0.5), 0), float64(most)))
}

// texture is a sum of smooth random values about 0, finer and weaker from octave to octave.
func texture(x, y, coarsest float64, n int) float64 {
	sum, amp := 0.0, 1.0
	for i := range n {
		sum += amp * lattice(x/coarsest, y/coarsest, uint64(i))
		coarsest /= 2
		amp *= 0.6
	}
	return sum
}

// lattice goes smoothly through random values in -1..1 at whole places.
func lattice(x, y float64, seed uint64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	s, t := smoothStep(x-fx), smoothStep(y-fy)
	at := func(i, j float64) float64 {
		h := uint64(int64(fx+i))*0x9e3779b97f4a7c15 ^ seed<<32
		h ^= uint64(int64(fy+j)) * 0xc2b2ae3d27d4eb4f
		h ^= h >> 29
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 32
		return float64(h%2001)/1000 - 1
	}
	return mix(mix(at(0, 0), at(1, 0), s), mix(at(0, 1), at(1, 1), s), t)
}

func smoothStep(x float64) float64 { return x * x * (3 - 2*x) }

// pan is a landscape of hills and textures that moves by dx, dy a frame, in no whole steps.
func pan(dx, dy float64) painter {
	return func(c, t int, x, y float64) float64 {
		return land(c, x+dx*float64(t), y+dy*float64(t))
	}
}

// zoom comes nearer to it.
func zoom(rate float64) painter {
	return func(c, t int, x, y float64) float64 {
		s := math.Pow(1-rate, float64(t))
		return land(c, 200+(x-200)*s, 120+(y-120)*s)
	}
}

func land(c int, x, y float64) float64 {
	if c > 0 {
		return 128 + 20*texture(x+900*float64(c), y, 120, 2)
	}
	v := 118 + 55*texture(x, y, 160, 2)
	rough := max(0, texture(x+5000, y, 200, 1)) // fine texture in some places only
	return v + 45*rough*texture(x, y+3000, 12, 3)
}

// detailed is land with fine texture everywhere.
func detailed(dx, dy float64) painter {
	return func(c, t int, x, y float64) float64 {
		x, y = x+dx*float64(t), y+dy*float64(t)
		return land(c, x, y) + 14*texture(x, y+700, 9, 3)
	}
}

// strength gives the sigma of noise in a plane, for a sample of a given value.
type strength func(c int, v float64) float64

// noisy returns a copy of a clip with noise of a sigma that depends on plane and sample.
func noisy(clip []plane.Picture, seed uint64, sigma strength) []plane.Picture {
	out := make([]plane.Picture, len(clip))
	for t, pic := range clip {
		r := rand.New(rand.NewPCG(seed, uint64(t)))
		out[t] = pic
		out[t].Planes = nil
		for c, p := range pic.Planes {
			q, unit := p.Like(), float64(p.Unit())
			for i, v := range p.Pix {
				s := sigma(c, float64(v)/unit) * unit
				q.Pix[i] = round(float64(v)+s*r.NormFloat64(), p.Max())
			}
			out[t].Planes = append(out[t].Planes, q)
		}
	}
	return out
}

func white(sigma float64) strength {
	return func(int, float64) float64 { return sigma }
}

// models measures a clip with windows of three frames before and after.
func models(clip []plane.Picture) []Model { return modelsOf(clip, 3, pipeline.Quantiser{}) }

func modelsOf(clip []plane.Picture, after int, q pipeline.Quantiser) []Model {
	m := NewMeter(after)
	var all []Model
	for t, pic := range clip {
		m.Put(pic.Views(), q)
		if t >= after {
			all = append(all, m.Model(t-after))
		}
	}
	for n := len(all); n < len(clip); n++ {
		all = append(all, m.Model(n))
	}
	return all
}

// deepened returns the same clip with more bits.
func deepened(clip []plane.Picture, depth int) (out []plane.Picture) {
	for _, pic := range clip {
		out = append(out, pic.Deeper(depth))
	}
	return out
}

// grain is noise that a Gaussian blur has passed over.
type grain struct {
	kernel []float64 // along one direction
	sigma  float64
}

func newGrain(blur, sigma float64) grain {
	g := grain{sigma: sigma}
	squares := 0.0
	for i := -4; i <= 4; i++ {
		v := math.Exp(-float64(i*i) / (2 * blur * blur))
		g.kernel = append(g.kernel, v)
		squares += v * v
	}
	for i := range g.kernel {
		g.kernel[i] /= math.Sqrt(squares)
	}
	return g
}

// add adds the grain to luma.
func (g grain) add(clip []plane.Picture) []plane.Picture {
	out := noisy(clip, 1, white(0))
	for t, pic := range out {
		p := pic.Planes[0]
		field := g.field(p.Width, p.Height, uint64(t))
		for i, v := range p.Pix {
			p.Pix[i] = round(float64(v)+g.sigma*field[i], p.Max())
		}
	}
	return out
}

// field returns the grain of a frame, of variance 1.
func (g grain) field(w, h int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(7, seed))
	n := len(g.kernel)
	raw := make([]float64, (w+n)*(h+n))
	for i := range raw {
		raw[i] = r.NormFloat64()
	}
	across := make([]float64, (w+n)*(h+n))
	for i := range across[:len(across)-n] {
		for j, k := range g.kernel {
			across[i] += k * raw[i+j]
		}
	}
	field := make([]float64, w*h)
	for i := range field {
		for j, k := range g.kernel {
			field[i] += k * across[(i/w+j)*(w+n)+i%w]
		}
	}
	return field
}

// spectrum returns the variances of an 8x8 DCT of the grain, from its correlation.
func (g grain) spectrum() (s shape) {
	var along [8]float64
	for u := range along {
		for i := range 8 {
			for j := range 8 {
				along[u] += cosine(u, i) * cosine(u, j) * g.correlation(i-j)
			}
		}
	}
	for k := range s {
		s[k] = g.sigma * g.sigma * along[k/8] * along[k%8]
	}
	return s
}

func cosine(u, i int) float64 {
	c := math.Cos(math.Pi*float64(u*(2*i+1))/16) / 2
	if u == 0 {
		c /= math.Sqrt2
	}
	return c
}

// correlation returns the correlation of samples at a distance along one direction.
func (g grain) correlation(distance int) (sum float64) {
	for i, k := range g.kernel {
		if j := i + distance; j >= 0 && j < len(g.kernel) {
			sum += k * g.kernel[j]
		}
	}
	return sum
}
