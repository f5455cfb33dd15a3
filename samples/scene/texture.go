package scene

import "math"

// hash scatters a place over 32 bits.
func hash(x, y int, seed uint32) uint32 {
	h := uint32(x)*0x9e3779b1 ^ uint32(y)*0x85ebca77 ^ seed*0xc2b2ae3d
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 12
	h *= 0x297a2d39
	return h ^ h>>15
}

func lattice(x, y int, seed uint32) float64 { return float64(hash(x, y, seed)) / (1 << 32) }

// smooth is value noise from 0 to 1: random at whole places, interpolated between.
func smooth(x, y float64, seed uint32) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	ix, iy := int(fx), int(fy)
	u, v := ease(x-fx), ease(y-fy)
	top := mix(lattice(ix, iy, seed), lattice(ix+1, iy, seed), u)
	bottom := mix(lattice(ix, iy+1, seed), lattice(ix+1, iy+1, seed), u)
	return mix(top, bottom, v)
}

// fractal sums value noise of several sizes, each half the one before, from 0 to 1.
func fractal(x, y float64, octaves int, seed uint32) float64 {
	sum, weight, total := 0.0, 1.0, 0.0
	for i := range octaves {
		sum += weight * smooth(x, y, seed+uint32(i))
		total += weight
		weight *= 0.6
		x, y = 2*x+17.3, 2*y+9.1
	}
	return sum / total
}

func ease(x float64) float64 { return x * x * (3 - 2*x) }

func mix(a, b, part float64) float64 { return a + (b-a)*part }

// step rises from 0 to 1 between two places.
func step(from, to, x float64) float64 { return ease(min(max((x-from)/(to-from), 0), 1)) }

// land is ground seen from above: fields of several colours, with detail of every size.
func land(seed uint32) Scene {
	return func(x, y float64) Colour {
		d := fractal(x/48, y/48, 6, seed)
		field := smooth(x/70, y/55, seed+90)
		return Colour{40 + 260*math.Pow(d, 1.3), 118 + 20*field, 138 - 24*field}
	}
}

// town is walls with windows: hard edges and repetition, slightly stained.
func town(seed uint32) Scene {
	return func(x, y float64) Colour {
		house := math.Floor(x / 66)
		base := 90 + 90*lattice(int(house), 3, seed)
		stain := 18 * (fractal(x/20, y/20, 4, seed+7) - 0.5)
		hx, hy := math.Mod(x-66*house, 22), math.Mod(y+4000, 30)
		c := Colour{base + stain, 120 + 12*lattice(int(house), 5, seed), 128 + 16*lattice(int(house), 6, seed)}
		switch {
		case hx > 6 && hx < 17 && hy > 7 && hy < 23:
			pane := lattice(int(math.Floor(x/22)), int(math.Floor(y/30)), seed+9)
			c = Colour{30 + 60*pane + 1.2*(hy-7), 134, 122}
			if hx > 11 && hx < 12 || hy > 14 && hy < 15 {
				c.Y = 190
			}
		case math.Mod(y+4000, 6) < 0.8:
			c.Y -= 14
		}
		return c
	}
}

// grass is fine upright blades.
func grass(seed uint32) Scene {
	return func(x, y float64) Colour {
		bend := 6 * fractal(x/30, y/30, 2, seed)
		blade := smooth((x+bend)/1.7, y/9, seed+3)
		under := smooth((x-bend)/2.3, y/7, seed+5)
		patch := fractal(x/60, y/60, 3, seed+11)
		return Colour{35 + 90*blade*blade + 45*under + 60*patch, 108 + 10*patch, 116 + 10*blade}
	}
}

// cloth is a fine weave in folds.
func cloth(seed uint32) Scene {
	return func(x, y float64) Colour {
		fold := fractal(x/80, y/110, 3, seed)
		weave := math.Sin(x*1.35+4*fold) * math.Sin(y*1.1-3*fold)
		stripe := step(-0.2, 0.2, math.Sin(x/9+6*fold))
		return Colour{60 + 130*fold + 14*weave + 22*stripe, 140 - 18*stripe, 118 + 22*stripe}
	}
}

// sky is a gradient with soft clouds over a dark ridge.
func sky(seed uint32, horizon float64) Scene {
	return func(x, y float64) Colour {
		ridge := horizon + 30*(fractal(x/90, 0.5, 4, seed+1)-0.5)
		if y > ridge {
			d := fractal(x/9, y/6, 4, seed+2)
			return Colour{26 + 34*d, 124, 128}
		}
		cloud := step(0.45, 0.8, fractal(x/120, y/45, 4, seed))
		return Colour{mix(120+70*y/horizon, 222, 0.7*cloud), mix(156-16*y/horizon, 130, cloud), mix(108+14*y/horizon, 128, cloud)}
	}
}

// letters is lines of text: each letter a few random strokes on a grid of 5 by 7.
func letters(seed uint32, size float64) Scene {
	return func(x, y float64) Colour {
		column, row := math.Floor(x/(6*size)), math.Floor(y/(11*size))
		gx, gy := int(math.Floor((x-6*size*column)/size)), int(math.Floor((y-11*size*row)/size))
		glyph := hash(int(column), int(row), seed)
		if gx > 4 || gy > 6 || glyph%6 == 0 {
			return empty
		}
		upright := gx == int(glyph>>4%3) || gx == 4 && glyph>>7&1 == 0
		across := gy == int(glyph>>8%4) || gy == 3+int(glyph>>11%4)
		if upright || across {
			return Colour{235, 128, 128}
		}
		return empty
	}
}

// ball is a sphere lit from the upper left, with a highlight, transparent outside.
func ball(cx, cy, r float64, c Colour) Scene {
	return func(x, y float64) Colour {
		dx, dy := (x-cx)/r, (y-cy)/(1.25*r)
		d := dx*dx + dy*dy
		if d >= 1 {
			return empty
		}
		nz := math.Sqrt(1 - d)
		light := max(0.1, -0.5*dx-0.45*dy+0.74*nz)
		shine := 40 * math.Pow(max(0, -0.32*dx-0.3*dy+0.9*nz), 24)
		return Colour{30 + (c.Y-30)*light + shine, mix(128, c.Cb, light), mix(128, c.Cr, light)}
	}
}

// face is a ball of skin with eyes, brows and a mouth, all soft.
func face(cx, cy, r float64, skin Colour, seed uint32) Scene {
	head := ball(cx, cy, r, skin)
	return func(x, y float64) Colour {
		c := head(x, y)
		if c.Y < 0 {
			return c
		}
		dx, dy := (x-cx)/r, (y-cy)/r
		ax := math.Abs(dx + 0.05)
		eye := math.Exp(-(sq((ax-0.36)/0.12) + sq((dy+0.2)/0.07)))
		brow := math.Exp(-(sq((ax-0.36)/0.2) + sq((dy+0.42-0.1*ax)/0.04)))
		mouth := math.Exp(-(sq(dx/0.3) + sq((dy-0.55)/0.06)))
		cheek := math.Exp(-(sq((ax-0.5)/0.25) + sq((dy-0.2)/0.25)))
		pores := fractal(x/2.5, y/2.5, 2, seed) - 0.5
		c.Y *= 1 - 0.7*eye - 0.5*brow - 0.35*mouth
		c.Y += 5 * pores
		c.Cr += 10*mouth + 6*cheek
		return c
	}
}

func sq(x float64) float64 { return x * x }
