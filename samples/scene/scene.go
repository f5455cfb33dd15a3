// Package scene draws the pictures of the sample clips, of lab/quality and of tests. A picture is
// the same on every run and for any number of processors.
package scene

import (
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"vidfilter/pipeline"
)

// Colour is one of BT.709 in limited range, in 8-bit levels. A Y below 0 is transparent.
type Colour struct{ Y, Cb, Cr float64 }

var empty = Colour{Y: -1}

// rgb converts 0xRRGGBB.
func rgb(hex uint32) Colour {
	r, g, b := float64(hex>>16)/255, float64(hex>>8&255)/255, float64(hex&255)/255
	y := 0.2126*r + 0.7152*g + 0.0722*b
	return Colour{16 + 219*y, 128 + 224*(b-y)/1.8556, 128 + 224*(r-y)/1.5748}
}

// Scene is the colour at a place; x goes right and y down. Places between samples are defined.
type Scene func(x, y float64) Colour

// Flat has one colour everywhere.
func Flat(c Colour) Scene { return func(x, y float64) Colour { return c } }

// Moved returns the scene moved right and down.
func (s Scene) Moved(dx, dy float64) Scene {
	return func(x, y float64) Colour { return s(x-dx, y-dy) }
}

// turned returns the scene turned and magnified about a place.
func (s Scene) turned(cx, cy, angle, scale float64) Scene {
	sin, cos := math.Sincos(angle)
	sin, cos = sin/scale, cos/scale
	return func(x, y float64) Colour {
		x, y = x-cx, y-cy
		return s(cx+cos*x+sin*y, cy-sin*x+cos*y)
	}
}

// front returns scenes in front of each other, the nearest first.
func front(scenes ...Scene) Scene {
	return func(x, y float64) Colour {
		for _, s := range scenes {
			if c := s(x, y); c.Y >= 0 {
				return c
			}
		}
		return empty
	}
}

// over returns s in front of another scene.
func (s Scene) over(behind Scene) Scene { return front(s, behind) }

// inside returns s in a rectangle, transparent elsewhere.
func (s Scene) inside(x0, y0, x1, y1 float64) Scene {
	return func(x, y float64) Colour {
		if x < x0 || x >= x1 || y < y0 || y >= y1 {
			return empty
		}
		return s(x, y)
	}
}

// within returns s inside a convex polygon. Its corners x, y go clockwise on the screen.
func (s Scene) within(corners ...float64) Scene {
	return func(x, y float64) Colour {
		px, py := corners[len(corners)-2], corners[len(corners)-1]
		for i := 0; i < len(corners); i += 2 {
			qx, qy := corners[i], corners[i+1]
			if (qx-px)*(y-py) < (qy-py)*(x-px) {
				return empty
			}
			px, py = qx, qy
		}
		return s(x, y)
	}
}

// graded returns the scene with its contrast and colour times gain, about black, and lifted by
// levels of brightness.
func (s Scene) graded(gain, lift float64) Scene {
	return func(x, y float64) Colour {
		c := s(x, y)
		return Colour{16 + gain*(c.Y-16) + lift, 128 + gain*(c.Cb-128), 128 + gain*(c.Cr-128)}
	}
}

// mixed returns a part of s and the rest of another scene.
func (s Scene) mixed(other Scene, part float64) Scene {
	return func(x, y float64) Colour { return blend(s(x, y), other(x, y), part) }
}

// blend goes from a to b.
func blend(a, b Colour, part float64) Colour {
	return Colour{mix(a.Y, b.Y, part), mix(a.Cb, b.Cb, part), mix(a.Cr, b.Cr, part)}
}

// draw samples the scene in yuv420p, at side*side places of each sample of luma. Chroma is the mean
// of up to four samples of luma.
func (s Scene) draw(f *pipeline.Frame, side int) {
	_, chromaRows := f.PlaneSize(1)
	parallel(chromaRows, func(row int) {
		for x := 0; x < f.Width; x += 2 {
			var cb, cr, count float64
			for i := range 4 {
				px, py := x+i&1, 2*row+i>>1
				if px >= f.Width || py >= f.Height {
					continue
				}
				c := s.sample(float64(px), float64(py), side)
				f.Row(0, py)[px] = level(c.Y)
				cb, cr, count = cb+c.Cb, cr+c.Cr, count+1
			}
			f.Row(1, row)[x/2], f.Row(2, row)[x/2] = level(cb/count), level(cr/count)
		}
	})
}

// sample returns the mean over a sample's square.
func (s Scene) sample(x, y float64, side int) (mean Colour) {
	n := float64(side * side)
	for i := range side * side {
		c := s(x+(float64(i%side)+0.5)/float64(side), y+(float64(i/side)+0.5)/float64(side))
		mean.Y += min(max(c.Y, 0), 255) / n
		mean.Cb += min(max(c.Cb, 0), 255) / n
		mean.Cr += min(max(c.Cr, 0), 255) / n
	}
	return mean
}

func level(v float64) byte { return byte(min(max(v, 16), 240) + 0.5) }

// parallel calls do for each of n rows, on all processors.
func parallel(n int, do func(row int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for row := range n {
		g.Go(func() error { do(row); return nil })
	}
	_ = g.Wait()
}
