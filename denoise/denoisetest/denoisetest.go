// Package denoisetest draws moving pictures and noise for the denoiser's tests.
package denoisetest

import (
	"math"
	"math/rand/v2"
	"sync"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Scene is the brightness at a place, in 8-bit levels, also between samples.
type Scene func(x, y float64) float64

// Flat has one level everywhere.
func Flat(level float64) Scene {
	return func(x, y float64) float64 { return level }
}

// Texture is detail of many sizes from four samples up, between 20 and 235. It does not repeat
// within a thousand samples.
func Texture(seed uint64) Scene {
	type wave struct{ kx, ky, phase, height float64 }
	var waves []wave
	r := rand.New(rand.NewPCG(seed, 1))
	const count = 16
	for i := range count {
		length := 4 * math.Pow(2, 4*float64(i)/count)
		k, angle, phase := 2*math.Pi/length, 2*math.Pi*r.Float64(), 2*math.Pi*r.Float64()
		waves = append(waves, wave{k * math.Cos(angle), k * math.Sin(angle), phase, 6 + length/6})
	}
	return func(x, y float64) float64 {
		sum := 0.0
		for _, w := range waves {
			sum += w.height * math.Cos(w.kx*x+w.ky*y+w.phase)
		}
		return 127.5 + 107.5*math.Tanh(sum/60)
	}
}

// Moved returns the scene moved right and down.
func (s Scene) Moved(dx, dy float64) Scene {
	return func(x, y float64) float64 { return s(x-dx, y-dy) }
}

// Left returns s left of a column and other from the column on.
func (s Scene) Left(column float64, other Scene) Scene {
	return func(x, y float64) float64 {
		if x < column {
			return s(x, y)
		}
		return other(x, y)
	}
}

// Plus returns the scene brighter by a number of levels.
func (s Scene) Plus(levels float64) Scene {
	return func(x, y float64) float64 { return s(x, y) + levels }
}

// Draw samples a scene every stepX places across and every stepY down.
func (s Scene) Draw(width, height, depth, stepX, stepY int) plane.Plane {
	p := plane.New(width, height, depth)
	for y := range height {
		for x, row := 0, p.Row(y); x < width; x++ {
			row[x] = sample(p, s(float64(x*stepX), float64(y*stepY)))
		}
	}
	return p
}

// Picture draws a scene as luma and two planes of chroma with less contrast.
func (s Scene) Picture(width, height, depth, shiftX, shiftY int) plane.Picture {
	cb := func(x, y float64) float64 { return 128 + (s(x, y)-128)/3 }
	cr := func(x, y float64) float64 { return 128 - (s(x, y)-128)/4 }
	w, h := (width+1<<shiftX-1)>>shiftX, (height+1<<shiftY-1)>>shiftY
	return plane.Picture{
		Planes: []plane.Plane{
			s.Draw(width, height, depth, 1, 1),
			Scene(cb).Draw(w, h, depth, 1<<shiftX, 1<<shiftY),
			Scene(cr).Draw(w, h, depth, 1<<shiftX, 1<<shiftY),
		},
		ShiftX: shiftX, ShiftY: shiftY,
	}
}

// Noisy adds white Gaussian noise, sigma in 8-bit levels, cut off at black and white.
func Noisy(p plane.Plane, sigma float64, seed uint64) plane.Plane {
	r := rand.New(rand.NewPCG(seed, 2))
	out := p.Like()
	for i, v := range p.Pix {
		out.Pix[i] = sample(p, float64(v)/float64(p.Unit())+sigma*r.NormFloat64())
	}
	return out
}

// Blotched is Noisy with noise blurred by a Gaussian of sigma blur, in samples.
func Blotched(p plane.Plane, sigma, blur float64, seed uint64) plane.Plane {
	reach := int(3 * blur)
	width, height := p.Width+2*reach, p.Height+2*reach
	var weights []float64
	squares := 0.0
	for i := -reach; i <= reach; i++ {
		w := math.Exp(-float64(i*i) / (2 * blur * blur))
		weights, squares = append(weights, w), squares+w*w
	}
	r := rand.New(rand.NewPCG(seed, 2))
	white, across := make([]float64, width*height), make([]float64, p.Width*height)
	for i := range white {
		white[i] = r.NormFloat64() * sigma / squares
	}
	for i := range across {
		for k, w := range weights {
			across[i] += w * white[i/p.Width*width+i%p.Width+k]
		}
	}
	out := p.Like()
	for i, v := range p.Pix {
		noise := 0.0
		for k, w := range weights {
			noise += w * across[i+k*p.Width]
		}
		out.Pix[i] = sample(p, float64(v)/float64(p.Unit())+noise)
	}
	return out
}

// NoisyPicture adds noise to each plane.
func NoisyPicture(pic plane.Picture, sigma float64, seed uint64) plane.Picture {
	out := pic
	out.Planes = nil
	for c, p := range pic.Planes {
		out.Planes = append(out.Planes, Noisy(p, sigma, seed*4+uint64(c)))
	}
	return out
}

// Deeper returns the plane with more bits, its samples shifted.
func Deeper(p plane.Plane, bits int) plane.Plane {
	return plane.Picture{Planes: []plane.Plane{p}}.Deeper(p.Depth + bits).Planes[0]
}

// MSE returns the mean squared difference of two planes of one size and any depths, in 8-bit
// levels. It ignores samples nearer to the edges than margin.
func MSE(a, b plane.Plane, margin int) float64 {
	sum, count := 0.0, 0
	for y := margin; y < a.Height-margin; y++ {
		for x := margin; x < a.Width-margin; x++ {
			d := float64(a.At(x, y))/float64(a.Unit()) - float64(b.At(x, y))/float64(b.Unit())
			sum += d * d
			count++
		}
	}
	return sum / float64(count)
}

// PSNR returns the PSNR of two planes, in dB.
func PSNR(a, b plane.Plane) float64 { return 10 * math.Log10(255*255/MSE(a, b, 0)) }

func sample(p plane.Plane, level float64) uint16 {
	v := math.Floor(level*float64(p.Unit()) + 0.5)
	return uint16(min(max(v, 0), float64(p.Max())))
}

// DrawFrame draws picture n of a noisy video, the same for all layouts with the same chroma. R, G
// and B get the values of Y, U and V. Some samples in two bytes exceed their depth.
func DrawFrame(f *pipeline.Frame, n int) {
	info := f.Layout.Info()
	pic := drawing(n, f.Width, f.Height, info.SubX, info.SubY)
	r := rand.New(rand.NewPCG(uint64(n), 4))
	scene.EachSample(f, func(p, x, y int) uint16 {
		c := p
		switch {
		case info.Samples > 1:
			c, x = min(x%info.Samples, 2), x/info.Samples
		case info.SemiPlanar && p == 1:
			c, x = 1+x%2, x/2
		}
		v := uint16(pic.Planes[c].At(x, y) >> (16 - info.Depth))
		if info.Depth > 8 && info.Shift == 0 && r.IntN(200) == 0 {
			v |= 0xffff << info.Depth
		}
		return v
	})
}

// drawing returns a picture of 16 bits. It draws each once.
func drawing(n, width, height, subX, subY int) plane.Picture {
	type key struct{ n, width, height, subX, subY int }
	draw, _ := drawings.LoadOrStore(key{n, width, height, subX, subY}, sync.OnceValue(func() plane.Picture {
		scene := Texture(1).Moved(1.5*float64(n), -0.5*float64(n)).Left(0.6*float64(width), Texture(2))
		return NoisyPicture(scene.Picture(width, height, 16, subX, subY), 10, uint64(n))
	}))
	return draw.(func() plane.Picture)()
}

var drawings sync.Map
