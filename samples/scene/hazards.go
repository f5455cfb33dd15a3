package scene

import "math"

// Hazards returns clips of objects that resemble dirt, because they appear at one position in a
// single frame.
func Hazards() []Clip { return ofSet("hazards", hazards) }

// things returns n things. Each extends at most reach from its position.
func things(n int, reach float64, each func(i int) (x, y float64, thing Scene)) Scene {
	xs, ys, all := make([]float64, n), make([]float64, n), make([]Scene, n)
	for i := range n {
		xs[i], ys[i], all[i] = each(i)
	}
	return func(x, y float64) Colour {
		for i, px := range xs {
			if dx, dy := x-px, y-ys[i]; math.Abs(dx) <= reach && math.Abs(dy) <= reach {
				if c := all[i](dx, dy); c.Y >= 0 {
					return c
				}
			}
		}
		return empty
	}
}

// scattered returns a random position for thing i in a picture.
func scattered(i int, v view, seed uint32) (x, y float64) {
	return v.w * lattice(i, 1, seed), v.h * lattice(i, 2, seed)
}

// seed returns a different seed for each frame.
func seed(base uint32, t float64) uint32 { return base + uint32(1000*t) }

var white = Colour{235, 128, 128}

var hazards = []Clip{
	{Name: "sparks", at: func(v view, t float64) Scene {
		sparks := things(40, 4, func(i int) (x, y float64, thing Scene) {
			x, y = scattered(i, view{v.w / 2, v.h / 2}, seed(301, t))
			return x, y, ball(0, 0, 1+2*lattice(i, 3, 5), Colour{220, 90, 160})
		})
		return sparks.Moved(v.w/4, v.h/4).over(town(302).graded(0.4, 0))
	}},
	{Name: "flying sparks", at: func(v view, t float64) Scene {
		sparks := things(24, 4, func(i int) (x, y float64, thing Scene) {
			angle, speed := 6.3*lattice(i, 1, 304), 4+12*lattice(i, 2, 304)
			age := math.Mod(t+6*lattice(i, 3, 304), 6)
			x, y = v.w/2+math.Cos(angle)*speed*age, v.h/2+math.Sin(angle)*speed*age+age*age
			return x, y, ball(0, 0, 1.5, Colour{230, 90, 150})
		})
		return sparks.over(land(305).graded(0.4, 0).Moved(0.7*t, 0))
	}},
	{Name: "rain", at: func(v view, t float64) Scene {
		drops := things(60, 20, func(i int) (x, y float64, thing Scene) {
			x, y = scattered(i, v, seed(306, t))
			return x, y, Flat(Colour{180, 128, 128}).inside(0, 0, 1.2, 12+8*lattice(i, 3, 7))
		})
		return drops.over(land(307).graded(0.7, 0))
	}},
	{Name: "snow", at: func(v view, t float64) Scene {
		flakes := things(40, 4, func(i int) (x, y float64, thing Scene) {
			x, y = scattered(i, v, 308)
			x, y = x+3*math.Sin(t+float64(i)), math.Mod(y+t*(3+6*lattice(i, 3, 308)), v.h)
			return x, y, ball(0, 0, 1+1.5*lattice(i, 4, 308), white)
		})
		return flakes.over(town(309).graded(0.6, 0))
	}},
	{Name: "flash", at: func(v view, t float64) Scene {
		s := land(310).Moved(t, 0.2*t)
		if int(t)%5 == 3 {
			return s.graded(0.8, 70)
		}
		return s
	}},
	{Name: "lamp", at: func(v view, t float64) Scene { // lights a part of the picture in single frames
		s := town(311).Moved(0.6*t, 0)
		lit := s.graded(1, 60)
		return func(x, y float64) Colour {
			if int(t)%4 == 2 && math.Hypot(x-v.w/2, y-v.h/2) < v.h/3 {
				return lit(x, y)
			}
			return s(x, y)
		}
	}},
	{Name: "table tennis", at: func(v view, t float64) Scene {
		x := v.w/2 + 0.9*v.w/2*math.Sin(0.2*t)
		return ball(x, v.h*(0.3+0.1*math.Cos(0.4*t)), 3, white).over(land(312).graded(0.5, 0))
	}},
	{Name: "ball", at: func(v view, t float64) Scene {
		return ball(22*t-60, v.h/2+2*t, 4, Colour{30, 128, 128}).over(sky(313, v.h*0.8))
	}},
	{Name: "passing stick", at: func(v view, t float64) Scene {
		y := math.Mod(17*t, v.h)
		stick := Flat(Colour{40, 120, 140}).within(v.w*0.2, y, v.w*0.7, y+6, v.w*0.7, y+9, v.w*0.2, y+3)
		return stick.over(land(314).graded(0.8, 30))
	}},
	{Name: "wheel", at: func(v view, t float64) Scene {
		var spokes []Scene
		for i := range 7 {
			spoke := Flat(Colour{200, 128, 128}).inside(0, -1, v.h/3, 1)
			spokes = append(spokes, spoke.turned(0, 0, 0.8*t+0.9*float64(i), 1))
		}
		return front(spokes...).Moved(v.w/2, v.h/2).over(town(315).graded(0.4, 0))
	}},
	{Name: "flickering text", at: func(v view, t float64) Scene {
		s := land(316).graded(0.5, 10)
		if int(t)%2 == 0 {
			return s
		}
		return letters(317, 2).inside(0, 0, 90, 30).Moved(v.w/3, v.h/2).over(s)
	}},
	{Name: "typed text", at: func(v view, t float64) Scene { // new letters in each frame
		return letters(seed(318, t), 2).inside(0, 0, 90, 30).Moved(v.w/3, v.h/2).over(land(319).graded(0.5, 10))
	}},
	{Name: "cuts", at: func(v view, t float64) Scene {
		return town(seed(320, math.Floor(t/2))).Moved(1.3*t, 0)
	}},
	{Name: "one frame of another scene", at: func(v view, t float64) Scene {
		if int(t)%6 == 4 {
			return town(322)
		}
		return land(321).Moved(0.8*t, 0)
	}},
	{Name: "glitter", at: func(v view, t float64) Scene {
		s := sky(323, v.h*0.3)
		glints := things(50, 4, func(i int) (x, y float64, thing Scene) {
			x, y = scattered(i, view{v.w, v.h / 2}, seed(324, t))
			return x, y, ball(0, 0, 1.2, white)
		})
		return glints.Moved(0, v.h/2).over(s)
	}},
	{Name: "birds", at: func(v view, t float64) Scene {
		birds := things(8, 5, func(i int) (x, y float64, thing Scene) {
			x, y = scattered(i, v, 325)
			wing := 1 + 3*math.Abs(math.Sin(1.7*t+float64(i)))
			bird := Flat(Colour{40, 128, 128}).inside(-4, -wing, 4, 1)
			return math.Mod(x+t*(14+10*lattice(i, 3, 325)), v.w), y / 2, bird
		})
		return birds.over(sky(326, v.h*0.8).Moved(0.5*t, 0))
	}},
}
