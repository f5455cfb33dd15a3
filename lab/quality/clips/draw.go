package clips

import (
	"math"

	"vidfilter/pipeline"
)

// colour is Y, Cb and Cr. A Y below 0 shows what is behind.
type colour [3]float64

// scene is the colour of a place, in samples of luma.
type scene func(x, y float64) colour

// moved is the scene moved right and down.
func (s scene) moved(dx, dy float64) scene {
	return func(x, y float64) colour { return s(x-dx, y-dy) }
}

// turned is the scene turned and magnified about a place.
func (s scene) turned(cx, cy, angle, scale float64) scene {
	sin, cos := math.Sincos(angle)
	sin, cos = sin/scale, cos/scale
	return func(x, y float64) colour {
		x, y = x-cx, y-cy
		return s(cx+cos*x+sin*y, cy-sin*x+cos*y)
	}
}

// over shows s, and where it is empty what is behind.
func (s scene) over(behind scene) scene {
	return func(x, y float64) colour {
		if c := s(x, y); c[0] >= 0 {
			return c
		}
		return behind(x, y)
	}
}

// inside is s in a rectangle, and empty elsewhere.
func (s scene) inside(x0, y0, x1, y1 float64) scene {
	return func(x, y float64) colour {
		if x < x0 || x >= x1 || y < y0 || y >= y1 {
			return colour{-1}
		}
		return s(x, y)
	}
}

// graded is the scene with another contrast and brightness, about black, and less colour with
// less contrast.
func (s scene) graded(gain, lift float64) scene {
	return func(x, y float64) colour {
		c := s(x, y)
		return colour{16 + gain*(c[0]-16) + lift, 128 + gain*(c[1]-128), 128 + gain*(c[2]-128)}
	}
}

// mixed is a part of s and the rest of another.
func (s scene) mixed(other scene, part float64) scene {
	return func(x, y float64) colour {
		a, b := s(x, y), other(x, y)
		for i := range a {
			a[i] = mix(a[i], b[i], part)
		}
		return a
	}
}

// draw samples the scene: four places to a sample of luma, sixteen to one of chroma.
func (s scene) draw(f *pipeline.Frame) {
	for y := 0; y < f.Height; y += 2 {
		for x := 0; x < f.Width; x += 2 {
			var cb, cr float64
			for i := range 4 {
				px, py := x+i&1, y+i>>1
				c := s.sample(float64(px), float64(py))
				f.Row(0, py)[px] = level(c[0])
				cb, cr = cb+c[1]/4, cr+c[2]/4
			}
			f.Row(1, y/2)[x/2], f.Row(2, y/2)[x/2] = level(cb), level(cr)
		}
	}
}

// sample is the mean over the square of a sample.
func (s scene) sample(x, y float64) (mean colour) {
	for i := range 4 {
		c := s(x+0.25+0.5*float64(i&1), y+0.25+0.5*float64(i>>1))
		for k := range mean {
			mean[k] += min(max(c[k], 0), 255) / 4
		}
	}
	return mean
}

func level(v float64) byte { return byte(min(max(v, 16), 240) + 0.5) }
