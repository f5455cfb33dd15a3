package scene

import (
	"fmt"
	"math"
)

// The lake is drawn in units: a frame is viewHeight of them high, and x is 0 in its middle.
const (
	viewHeight = 360
	shore      = 214 // where the water meets the hills
)

// swing is a sine of time.
func swing(t, period, size float64) float64 { return size * math.Sin(2*math.Pi*t/period) }

// lake is a landscape at dusk: gradients, hard edges, saturated colours, fine and moving texture.
// The camera moves slowly to and fro, and near things move more.
func lake(t float64) Scene {
	pan := swing(t, 20, 34)
	const wide = 1 << 16
	ground := front(
		pinwheel(34, t).Moved(248-1.25*pan, 262),
		Flat(rgb(0x6c4420)).inside(246, 262, 250, viewHeight).Moved(-1.25*pan, 0),
		windmill(t).Moved(-206-pan, 262),
		cottage().Moved(-96-pan, 272),
	)
	air := front(
		balloon(38, rgb(0xe01c18), rgb(0xf8c810), rgb(0x1048c8), rgb(0xf4f0e8)).Moved(206-pan/3+swing(t, 27, 18), 92+swing(t, 7, 5)),
		balloon(19, rgb(0x9020b0), rgb(0xf06010), rgb(0xf8d020)).Moved(-66-pan/5+swing(t, 31, 16), 96+swing(t, 11, 5)),
		balloon(13, rgb(0x18a048), rgb(0xf4f0e0)).Moved(44-pan/5+swing(t, 23, 12), 118+swing(t, 9, 4)),
		banner("VIDFILTER", t).Moved(-190+20*t, 48),
	)
	return front(
		ground.inside(-360, 92, 360, viewHeight),
		meadow(t).Moved(-pan, 0).inside(-wide, 220, wide, viewHeight+1),
		air.inside(-wide, 20, wide, 180),
		boat().turned(0, 0, swing(t, 3.1, 0.06), 1).Moved(130-pan/3-3*t, 238),
		water(t).Moved(-pan/16, 0),
		hills(0x2c3c4c, 0x54604e, 201, 9, 11).Moved(-pan/4, 0),
		hills(0x6a5c8e, 0x9a7898, 208, 75, 80).Moved(-pan/8, 0),
		Flat(rgb(0xfff6d0)).disc(24).Moved(6-pan/12, 168),
		evening(t).Moved(-pan/16, 0),
	)
}

// disc returns s in a circle about 0, 0.
func (s Scene) disc(r float64) Scene {
	return func(x, y float64) Colour {
		if x*x+y*y >= r*r {
			return empty
		}
		return s(x, y)
	}
}

// evening is the sky, with a belt of clouds.
func evening(t float64) Scene {
	top, middle, low, cloud := rgb(0x34508f), rgb(0xb091b4), rgb(0xf7b878), rgb(0xffd0b0)
	return func(x, y float64) Colour {
		c := blend(top, middle, min(y/120, 1))
		if y > 120 {
			c = blend(middle, low, (y-120)/95)
		}
		belt := 1 - math.Abs(y-105)/75
		if belt <= 0 {
			return c
		}
		return blend(c, cloud, 0.8*belt*step(0.45, 0.8, fractal(x/104+t/16, y/17, 3, 1)))
	}
}

// hills rise to a height above a foot, in pieces of a length.
func hills(dark, light uint32, foot, height, length float64) Scene {
	a, b, haze := rgb(dark), rgb(light), rgb(0xf0b48c)
	return func(x, y float64) Colour {
		if y < foot-height || y < foot-height*fractal(x/length, foot, 5, 2) {
			return empty
		}
		c := blend(a, b, smooth((x+y)/9, (y-x/3)/22, 3))
		return blend(c, haze, 0.7*min(max((y-foot+height)/height/1.4, 0), 1))
	}
}

// water has waves that are longer towards the viewer, and the path of the sun.
func water(t float64) Scene {
	far, near, dark, glint := rgb(0xe8a888), rgb(0x3c5c90), rgb(0x24406c), rgb(0xfff0b8)
	return func(x, y float64) Colour {
		if y < shore {
			return empty
		}
		depth := y - shore + 8
		wave := fractal(3*x/depth+t/3, 640/depth+t/2, 4, 4)
		c := blend(blend(far, near, min((y-shore)/70, 1)), dark, 0.6*step(0.5, 0.8, wave))
		path := max(1-math.Abs(x-6)/(40+y-shore), 0)
		return blend(c, glint, 0.9*path*step(0.62-0.2*path, 0.75-0.2*path, wave))
	}
}

// meadow is blades of grass in the wind, with flowers.
func meadow(t float64) Scene {
	dark, light, edge := rgb(0x2e4a2c), rgb(0x8a8c3c), rgb(0xf0c870)
	flowers := []Colour{rgb(0xe02818), rgb(0xf8f4e8), rgb(0xf0c010), rgb(0x7838c8)}
	return func(x, y float64) Colour {
		bank := 262 + x/9 + 9*math.Sin(x/90)
		if y < bank-4 {
			return empty
		}
		wind := math.Sin(3*t-x/40) * (viewHeight - y) / 30
		blade := smooth((x+wind+6*smooth(x/30, y/24, 5))/2, y/9, 6)
		if y < bank-4*blade {
			return empty
		}
		i, j := math.Floor(x/13), math.Floor(y/9)
		h := hash(int(i), int(j), 7)
		dx, dy := x-13*i-3-float64(h>>8%8)-wind/4, y-9*j-3-float64(h>>12%4)
		if size := 1 + (y-240)/100; h%2 == 0 && dx*dx+2*dy*dy < size*size {
			return flowers[h>>4%4]
		}
		return blend(blend(dark, light, blade), edge, max(0.4-(y-bank)/25, 0))
	}
}

// bricks of a size, each with its own tint, lie between joints.
func bricks(w, h float64, dark, light, joint uint32) Scene {
	a, b, c := rgb(dark), rgb(light), rgb(joint)
	return func(x, y float64) Colour {
		j := math.Floor(y / h)
		x += w / 2 * math.Mod(j, 2)
		i := math.Floor(x / w)
		if x-i*w < 0.5 || y-j*h < 0.5 {
			return c
		}
		return blend(a, b, lattice(int(i), int(j), 8))
	}
}

func cottage() Scene {
	pane := bricks(5, 6, 0xffd850, 0xffe080, 0x3c6a50)
	return front(
		bricks(4, 3, 0xb83c1c, 0xe06c34, 0x6c2414).within(-26, -52, 26, -52, 37, -26, -37, -26),
		pane.inside(-26, -20, -12, -6), pane.inside(10, -20, 24, -6),
		Flat(rgb(0x5a3018)).inside(-7, -18, 3, 0),
		bricks(3, 3, 0xe8d0a8, 0xf4e0c0, 0xd8c098).inside(-32, -27, 32, 0),
		bricks(4, 2, 0x98503c, 0xb4684c, 0x503028).inside(14, -60, 22, -50),
	).inside(-37, -60, 37, 0)
}

// windmill has sails that turn once in nine seconds.
func windmill(t float64) Scene {
	sail := front(
		Flat(rgb(0xf4e8d0)).inside(1, -70, 14, -30),
		bricks(6, 6, 0x6c3c1c, 0x7c4c28, 0xe8d8b8).inside(-1.5, -70, 14, -14),
		Flat(rgb(0x6c3c1c)).inside(-1.5, -70, 1.5, 0),
	)
	sails := front(sail, sail.turned(0, 0, math.Pi/2, 1), sail.turned(0, 0, math.Pi, 1), sail.turned(0, 0, -math.Pi/2, 1))
	return front(
		front(Flat(rgb(0x502c14)).disc(5), sails.turned(0, 0, 2*math.Pi*t/9, 1)).disc(74).Moved(0, -95),
		Flat(rgb(0xffd050)).inside(-3, -50, 3, -42),
		Flat(rgb(0x5c3418)).inside(-6, -18, 6, 6),
		bricks(4, 3, 0x3c5878, 0x587898, 0x28384c).disc(16).inside(-16, -16, 16, 0).Moved(0, -92),
		bricks(7, 4, 0xc8a888, 0xe8d4b8, 0x8c7468).within(-14, -92, 14, -92, 26, 6, -26, 6),
	).inside(-74, -170, 74, 6)
}

// balloon is a ball in stripes above a basket.
func balloon(r float64, stripes ...Colour) Scene {
	rope := Flat(rgb(0x403028))
	basket := front(
		bricks(r/9, r/18, 0x8a5426, 0xb07838, 0x402410).inside(-r/5, 1.65*r, r/5, 1.95*r),
		rope.inside(-r/6, r, 2-r/6, 1.65*r), rope.inside(r/6-2, r, r/6, 1.65*r),
	)
	return Scene(func(x, y float64) Colour {
		half := math.Sqrt(max(1-sq(y/(1.25*r)), 0))
		if math.Abs(x) >= half*r {
			return basket(x, y)
		}
		gore := int(6 + 12/math.Pi*math.Asin(x/r/half))
		return ball(0, 0, r, stripes[gore%len(stripes)])(x, y)
	}).inside(-r, -1.25*r, r, 2*r)
}

// banner is cloth with a line of text, in waves.
func banner(text string, t float64) Scene {
	cloth := label(text, rgb(0xc81810), rgb(0xfff8e8))
	return Scene(func(x, y float64) Colour { return cloth(x, y+3*math.Sin(x/12-3*t)) }).inside(0, -3, 999, 30)
}

func boat() Scene {
	return front(
		Flat(rgb(0xe83018)).within(-1, -38, -1, -3, -15, -3),
		bricks(99, 12, 0xf0f0f0, 0xf8f8f8, 0x1858c0).within(1, -40, 19, -2, 1, -2),
		bricks(40, 4, 0x7a2a14, 0x8a3a20, 0xf4e8d0).within(-20, 0, 20, 0, 15, 5, -15, 5),
		Flat(rgb(0x4a2c1c)).inside(-1, -43, 1, 0),
	).inside(-20, -43, 20, 5)
}

// pinwheel has eight blades, each with a fold, and turns once in 3.6 seconds.
func pinwheel(r, t float64) Scene {
	hub, colours := rgb(0xfff8e0), []Colour{
		rgb(0xe81818), rgb(0xf88010), rgb(0xf8e010), rgb(0x20b030),
		rgb(0x10b8d0), rgb(0x1838d8), rgb(0x9018c0), rgb(0xf030a0),
	}
	return func(x, y float64) Colour {
		d := math.Sqrt(x*x + y*y)
		if d >= r {
			return empty
		}
		turn := math.Mod(8*(math.Atan2(y, x)/(2*math.Pi)+2-t/3.6)+8*math.Ceil(t), 8)
		blade := math.Floor(turn)
		switch c := colours[int(blade)]; {
		case d < 4:
			return hub
		case d > r*(1-(turn-blade)/2): // the rim steps back along a blade
			return empty
		case turn-blade < 0.4:
			return Colour{16 + 0.6*(c.Y-16), c.Cb, c.Cr}
		default:
			return c
		}
	}
}

// caption is the frame's number and time.
func caption(n int, t float64) Scene {
	ms := int(1000 * t)
	text := fmt.Sprintf("F%04d %02d:%02d.%03d", n%10000, ms/60000%100, ms/1000%60, ms%1000)
	return label(text, rgb(0xfff4d0), rgb(0x101830))
}
