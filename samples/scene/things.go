package scene

import "fmt"

// place puts the objects at their places at this time, back to front.
func (s *stage) place(n int) {
	s.things = append(s.things,
		s.boat(point{186*one + swing(s.t, 40000, turn/2, 30*one) - s.pan/3, 238 * one}),
		s.balloon(point{44*one + swing(s.t, 23000, 9000, 12*one) - s.pan/5, 118*one + swing(s.t, 9000, 0, 4*one)}, 13*one,
			[]rgb{hex(0x18a048), hex(0xf4f0e0)}, hex(0xe02020)),
		s.balloon(point{-66*one + swing(s.t, 31000, 4000, 16*one) - s.pan/5, 96*one + swing(s.t, 11000, 3000, 5*one)}, 19*one,
			[]rgb{hex(0x9020b0), hex(0xf06010), hex(0xf8d020)}, hex(0x2030c0)),
	)
	s.plane()
	s.things = append(s.things,
		s.balloon(point{206*one + swing(s.t, 27000, 20000, 18*one) - s.pan/3, 92*one + swing(s.t, 7000, 9000, 5*one)}, 38*one,
			[]rgb{hex(0xe01c18), hex(0xf8c810), hex(0x1048c8), hex(0xf4f0e8)}, hex(0x08a0a0)))
	s.cottage(point{-96*one - s.pan, 272 * one})
	s.windmill(point{-206*one - s.pan, 262 * one})
	s.pinwheel(point{248*one - s.pan*5/4, 262 * one}, 34*one)
	s.fence()
}

// box makes a thing of the scene's rectangle, cut to the frame.
func (s *stage) box(x0, y0, x1, y1 int, paint func(x, y int) (rgb, int)) thing {
	toX := func(x int) int { return clamp((x-s.left)*s.h/viewH, -1, s.w) }
	toY := func(y int) int { return clamp(y*s.h/viewH, -1, s.h) }
	return thing{max(toX(x0)-1, 0), max(toY(y0)-1, 0), min(toX(x1)+2, s.w), min(toY(y1)+2, s.h), paint}
}

// poly makes a convex polygon; corners go clockwise on the screen.
func (s *stage) poly(paint func(x, y int) rgb, corners ...point) thing {
	type edge struct{ x, y, nx, ny int }
	edges := make([]edge, len(corners))
	lo, hi := corners[0], corners[0]
	for i, p := range corners {
		q := corners[(i+1)%len(corners)]
		dx, dy := q.x-p.x, q.y-p.y
		n := max(isqrt(dx*dx+dy*dy), 1)
		edges[i] = edge{p.x, p.y, -dy << q14 / n, dx << q14 / n}
		lo = point{min(lo.x, p.x), min(lo.y, p.y)}
		hi = point{max(hi.x, p.x), max(hi.y, p.y)}
	}
	return s.box(lo.x, lo.y, hi.x, hi.y, func(x, y int) (rgb, int) {
		d := viewH
		for _, e := range edges {
			d = min(d, ((x-e.x)*e.nx+(y-e.y)*e.ny)>>q14)
		}
		a := s.cover(d)
		if a == 0 {
			return rgb{}, 0
		}
		return paint(x, y), a
	})
}

func flat(c rgb) func(x, y int) rgb { return func(int, int) rgb { return c } }

// line makes a straight stroke from p to q.
func (s *stage) line(c rgb, p, q point, wide int) thing {
	dx, dy := q.x-p.x, q.y-p.y
	n := max(isqrt(dx*dx+dy*dy), 1)
	ox, oy := -dy*wide/(2*n), dx*wide/(2*n)
	return s.poly(flat(c), point{p.x - ox, p.y - oy}, point{q.x - ox, q.y - oy}, point{q.x + ox, q.y + oy}, point{p.x + ox, p.y + oy})
}

// quad makes an upright trapezoid: half widths at its top and bottom around x.
func (s *stage) quad(paint func(x, y int) rgb, x, top, halfTop, bottom, halfBottom int) thing {
	return s.poly(paint, point{x - halfTop, top}, point{x + halfTop, top}, point{x + halfBottom, bottom}, point{x - halfBottom, bottom})
}

// masonry colours bricks of w by h, each with a tint of its own, between joints.
func (s *stage) masonry(x, y, w, h, joint int, brick, tint, mortar rgb) rgb {
	j := floorDiv(y, h)
	x += j & 1 * w / 2
	i := floorDiv(x, w)
	u, v := x-i*w, y-j*h
	edge := min(u, w-u, v, h-v)
	c := mix(brick, tint, pick(i, j+900, full))
	return mix(mortar, c, s.cover(edge-joint))
}

func (s *stage) balloon(at point, r int, stripes []rgb, band rgb) thing {
	basket := at.y + r*33/20
	const gores = 12
	envelope := func(x, y int) (c rgb, a int) {
		dx, dy := x-at.x, y-at.y
		var half, d int // half width at this height, distance to the edge
		if dy < r*35/100 {
			d = r - isqrt(dx*dx+dy*dy)
			half = isqrt(max(r*r-dy*dy, 0))
		} else {
			half = r*937/1000 - (dy-r*35/100)*78/100
			d = min((half-abs(dx))*79/100, r*130/100-dy)
		}
		if a = s.cover(d); a == 0 || half <= 0 {
			return c, 0
		}
		// Gores meet at equal angles around the balloon, so closer together at its sides.
		e := clamp(dx<<q14/half, -1<<q14, 1<<q14)
		k, gap := 0, one
		for k < gores-1 {
			gap = e - sin((k+1)*turn/2/gores-turn/4)
			if gap < 0 {
				break
			}
			k++
		}
		c = stripes[k%len(stripes)]
		if k < gores-1 {
			c = mix(c, stripes[(k+1)%len(stripes)], s.cover(gap*half>>q14))
		}
		if k > 0 {
			back := e - sin(k*turn/2/gores-turn/4)
			c = mix(stripes[(k-1)%len(stripes)], c, s.cover(back*half>>q14))
		}
		// A zigzag band around the middle.
		zig := abs((angleOf(e)*gores>>2)&0xffff-0x8000) * r >> 18
		c = mix(c, band, s.cover(r/8-abs(dy-r/6+zig-r/16)))
		light := 215 + e*70>>q14 - dy*36/r
		return shade(c, clamp(light, 120, 290)), a
	}
	return s.box(at.x-r, at.y-r, at.x+r, basket+r/3, func(x, y int) (rgb, int) {
		c, a := envelope(x, y)
		if a > 0 {
			return c, a
		}
		dx := abs(x - at.x)
		if y > basket {
			a := s.cover(min(r/5-dx, basket+r*3/10-y))
			return s.masonry(x-at.x, y-basket, r/9, r/18, r/90, hex(0x8a5426), hex(0xb07838), hex(0x402410)), a
		}
		if dy := y - at.y - r*13/10; dy > 0 {
			rope := min(abs(dx-r/5+dy/20), abs(dx-r/20))
			return hex(0x403028), s.cover(r/60 + s.px/6 - rope)
		}
		return c, 0
	})
}

// angleOf returns the arc sine of e, which is scaled by 1<<q14, in 1/turn. Good to a degree.
func angleOf(e int) int {
	return angle(isqrt(1<<(2*q14)-e*e), e) << 16 >> 16 & (turn - 1)
}

// plane is an aeroplane that tows a banner with waving letters.
func (s *stage) plane() {
	const (
		cell = 2 * one
		pad  = 4 * one
		rope = 16 * one
	)
	text := newLabel("VIDFILTER")
	long, tall := text.wide*cell+2*pad, capital*cell+2*pad
	lap := -2*s.left + long + 140*one
	at := point{s.left + (s.t*one*52/second-s.left-10*one)%lap, 57*one + swing(s.t, 5000, 0, 2*one)}
	tail := at.x - 18*one - rope
	wave := func(x int) int {
		return at.y + sin((x-at.x)/2-s.t*3/2)*(tail-x)>>19 - tall/2
	}
	red, dark := hex(0xc81810), hex(0x302838)
	s.things = append(s.things,
		s.line(dark, point{at.x - 16*one, at.y}, point{tail, wave(tail) + tall/2}, one*6/10),
		s.box(tail-long, at.y-tall, tail, at.y+tall, func(x, y int) (rgb, int) {
			v, u := y-wave(x), x-tail+long
			a := s.cover(min(v, tall-v, u, long-u))
			if a == 0 {
				return rgb{}, 0
			}
			slope := sin((x-at.x)/2-s.t*3/2+turn/4) * 30 >> q14
			c := mix(hex(0xfff8e8), red, text.cover(u-pad, v-pad, cell, s.px))
			return shade(c, 240+slope), a
		}),
		s.poly(flat(hex(0xf0b010)), // tail fin
			point{at.x - 19*one, at.y - 8*one}, point{at.x - 15*one, at.y - 8*one}, point{at.x - 9*one, at.y}, point{at.x - 17*one, at.y}),
		s.poly(flat(red), // body
			point{at.x - 18*one, at.y - one}, point{at.x + 6*one, at.y - 5*one}, point{at.x + 12*one, at.y - 4*one},
			point{at.x + 14*one, at.y}, point{at.x + 11*one, at.y + 4*one}, point{at.x, at.y + 4*one}, point{at.x - 18*one, at.y + one}),
		s.poly(flat(hex(0xa8d8f0)), // window
			point{at.x + 1*one, at.y - 4*one}, point{at.x + 5*one, at.y - 5*one}, point{at.x + 5*one, at.y - 2*one}, point{at.x + 1*one, at.y - 2*one}),
		s.poly(flat(hex(0xf0b010)), // wing
			point{at.x - 5*one, at.y + one}, point{at.x + 7*one, at.y + one}, point{at.x + 5*one, at.y + 3*one}, point{at.x - 7*one, at.y + 3*one}))
	blade := swing(s.t, 130, 0, 7*one)
	s.things = append(s.things, s.line(dark, point{at.x + 14*one, at.y - blade}, point{at.x + 14*one, at.y + blade}, one))
}

func (s *stage) boat(at point) thing {
	roll := swing(s.t, 3100, 0, 900) // sine of the angle, in 1<<q14
	return s.box(at.x-26*one, at.y-46*one, at.x+26*one, at.y+34*one, func(x, y int) (rgb, int) {
		dx, dy := x-at.x, y-at.y
		fade := full
		if dy > 4*one { // the mirror image, broken by waves
			dy = 8*one - dy*3/2
			dx += (texture(x*64/6+s.t, y*64/2+s.t*2) - 32768) >> 4
			fade = 120
		}
		dx += dy * roll >> q14
		// Mast, two sails, hull; each a distance to its edge.
		hull := min(dy, 5*one-dy, (20*one-dy-abs(dx))*7/10)
		mast := min(one*7/10-abs(dx), dy+43*one, -dy)
		main := min(dx-one, -2*one-dy, (dy+40*one-dx*2)*4/9)
		jib := min(-one-dx, -3*one-dy, (dy+38*one+dx*5/2)*3/8)
		switch best := max(hull, mast, main, jib); best {
		case hull:
			return mix(hex(0x7a2a14), hex(0xf4e8d0), s.cover(one*3/2-dy)), s.cover(hull) * fade >> 8
		case main:
			return mix(hex(0xf0f0f0), hex(0x1858c0), s.cover(one*2-abs(dy+14*one))), s.cover(main) * fade >> 8
		case jib:
			return hex(0xe83018), s.cover(jib) * fade >> 8
		default:
			return hex(0x4a2c1c), s.cover(mast) * fade >> 8
		}
	})
}

func (s *stage) cottage(at point) {
	eaves, ridgeY := at.y-26*one, at.y-52*one
	wall := func(x, y int) rgb {
		plaster := texture((x-at.x)*64/3, (y-at.y)*64/3) * 40 >> 16
		return shade(hex(0xf0d8b0), 205+plaster+(x-at.x)/one)
	}
	tiles := func(x, y int) rgb {
		c := s.masonry(x-at.x, y-at.y, 4*one, 3*one, one*4/10, hex(0xb83c1c), hex(0xe06c34), hex(0x6c2414))
		return shade(c, 210+(eaves-y)/one)
	}
	s.things = append(s.things,
		s.quad(func(x, y int) rgb {
			return s.masonry(x-at.x, y-at.y, 4*one, 2*one, one*3/10, hex(0x98503c), hex(0xb4684c), hex(0x503028))
		}, at.x+18*one, ridgeY-8*one, 4*one, eaves, 4*one),
		s.quad(wall, at.x, eaves-one, 32*one, at.y, 32*one),
		s.quad(tiles, at.x, ridgeY, 26*one, eaves, 37*one),
		s.quad(flat(hex(0x5a3018)), at.x-2*one, at.y-18*one, 5*one, at.y, 5*one))
	for _, dx := range []int{-19, 17} {
		w := point{at.x + dx*one, at.y - 13*one}
		s.things = append(s.things, s.box(w.x-7*one, w.y-7*one, w.x+7*one, w.y+7*one, func(x, y int) (rgb, int) {
			u, v := abs(x-w.x), abs(y-w.y)
			pane := min(6*one-max(u, v), min(u, v)-one*6/10)
			return mix(hex(0x3c6a50), hex(0xffd850), s.cover(pane)), s.cover(7*one - max(u, v))
		}))
	}
}

func (s *stage) windmill(at point) {
	top := at.y - 92*one
	bricks := func(x, y int) rgb {
		c := s.masonry(x-at.x, y-at.y, 7*one, 4*one, one*4/10, hex(0xc8a888), hex(0xe8d4b8), hex(0x8c7468))
		return shade(c, clamp(215+(x-at.x)*3/one, 150, 275))
	}
	s.things = append(s.things,
		s.quad(bricks, at.x, top, 14*one, at.y+6*one, 26*one),
		s.quad(flat(hex(0x5c3418)), at.x, at.y-18*one, 6*one, at.y+6*one, 6*one),
		s.quad(flat(hex(0xffd050)), at.x, at.y-50*one, 3*one, at.y-42*one, 3*one),
		s.quad(flat(hex(0x704020)), at.x, top-2*one, 18*one, top+2*one, 18*one),
		s.box(at.x-16*one, top-18*one, at.x+16*one, top, func(x, y int) (rgb, int) {
			dx, dy := x-at.x, y-top
			d := min(16*one-isqrt(dx*dx+dy*dy), -dy)
			c := s.masonry(dx, dy, 4*one, 3*one, one*4/10, hex(0x3c5878), hex(0x587898), hex(0x28384c))
			return shade(c, clamp(230+dx*3/one, 180, 290)), s.cover(d)
		}))
	hub := point{at.x, top - 3*one}
	s.things = append(s.things, s.box(hub.x-74*one, hub.y-74*one, hub.x+74*one, hub.y+74*one, s.sails(hub)))
}

// sails are four lattices with cloth that turn once in nine seconds.
func (s *stage) sails(hub point) func(x, y int) (rgb, int) {
	a := s.t * 1000 / 9000
	c, sn := cos(a), sin(a)
	const reach, step = 72 * one, 6 * one
	return func(x, y int) (rgb, int) {
		dx, dy := x-hub.x, y-hub.y
		if dx*dx+dy*dy > (reach+2*one)*(reach+2*one) {
			return rgb{}, 0
		}
		u, v := (dx*c+dy*sn)>>q14, (dy*c-dx*sn)>>q14
		// Turn by quarters to the arm that this place belongs to.
		for range 3 {
			if u > abs(v) {
				break
			}
			u, v = v, -u
		}
		if d := 5*one - isqrt(dx*dx+dy*dy); d > -s.px {
			return hex(0x502c14), s.cover(d)
		}
		wood := min(one*3/2-abs(v), 70*one-u)
		frame := min(v+one, 15*one-v, u-14*one, 70*one-u)
		du := (u-14*one)%step - step/2
		lath := one*6/10 - min(step/2-abs(du), abs(abs(v-7*one)-7*one), abs(v-7*one))
		lattice := min(frame, lath)
		d := max(wood, lattice)
		if a := s.cover(d); a > 0 {
			return mix(hex(0xe8d8b8), hex(0x6c3c1c), a), max(a, s.cover(frame)*210>>8)
		}
		if u > 30*one { // cloth covers the outer part
			return shade(hex(0xf4e8d0), 235+sn*c>>24), s.cover(frame) * 225 >> 8
		}
		return rgb{}, 0
	}
}

var pinwheelColors = [8]rgb{
	hex(0xe81818), hex(0xf88010), hex(0xf8e010), hex(0x20b030),
	hex(0x10b8d0), hex(0x1838d8), hex(0x9018c0), hex(0xf030a0),
}

func (s *stage) pinwheel(at point, r int) {
	const n = len(pinwheelColors)
	spin := s.t * 1000 / 3600
	s.things = append(s.things,
		s.line(hex(0x6c4420), at, point{at.x, viewH + 10*one}, 3*one),
		s.box(at.x-r, at.y-r, at.x+r, at.y+r, func(x, y int) (rgb, int) {
			dx, dy := x-at.x, y-at.y
			d := isqrt(dx*dx + dy*dy)
			if d > r+s.px {
				return rgb{}, 0
			}
			a := (angle(dx, dy) - spin) & (turn - 1)
			k, f := a*n>>16, a*n&0xffff
			arc := d * 6434 / n >> 10 // length of a blade's arc: 2 pi d/n
			edge := r - r*f>>17       // the rim steps back along the blade
			c := pinwheelColors[k]
			// The fold: the back of the paper is lighter.
			c = mix(shade(c, 165), c, s.cover((f-24000)*arc>>16))
			// Both sides of the edge between two blades are mixed.
			ahead, behind := pinwheelColors[(k+1)%n], pinwheelColors[(k+n-1)%n]
			c = mix(shade(ahead, 165), c, s.cover((1<<16-f)*arc>>16))
			c = mix(behind, c, s.cover(f*arc>>16))
			c = mix(c, hex(0xfff8e0), s.cover(4*one-d))
			return c, s.cover(edge - d)
		}))
}

// fence runs along the whole foreground, with pennants on a line.
func (s *stage) fence() {
	const (
		span = 46 * one
		top  = 308 * one
	)
	pan := s.pan * 3 / 2
	colors := [...]rgb{hex(0xe01818), hex(0xf8d010), hex(0x1040d0), hex(0x10a040), hex(0xf07010), hex(0xc018a0)}
	wood := func(u, v, lit int) rgb {
		grain := texture(u*64/14, v*64) * 70 >> 16
		return shade(hex(0xa47c58), 150+grain+lit)
	}
	s.things = append(s.things, s.box(s.left, top-8*one, -s.left, viewH, func(x, y int) (rgb, int) {
		x += pan
		i := floorDiv(x+span/2, span)
		u, v := x-i*span, y-top // u is measured from the nearest post
		if d := min(4*one-abs(u), v+5*one-abs(u)*5/4); d > -s.px/2 {
			return wood(v, u+i*9000, u*12/one), s.cover(d)
		}
		// Pennants hang from a line with some slack.
		w := u
		if u < 0 {
			w += span
		}
		sag := w * (span - w) / span * 2 / 5
		j := w * 5 / span
		p := w - (2*j+1)*span/10
		flutter := swing(s.t, 1300, j*9000+i*4000, one*2)
		drop := v - sag + span/24 - 2*one
		tip := p - flutter*drop/(12*one)
		if d := min(drop, (12*one-drop-abs(tip)*3)*3/10); d > -s.px/2 {
			k := (floorDiv(x, span)*5 + j) % len(colors)
			return shade(colors[(k+len(colors))%len(colors)], 235+flutter*20/one), s.cover(d)
		}
		if d := one*4/10 - abs(drop); d > -s.px/2 {
			return hex(0xf0e8d8), s.cover(d)
		}
		for _, rail := range [...]int{17 * one, 35 * one} {
			if d := 3*one - abs(v-rail); d > -s.px/2 {
				return wood(x, v, (rail-v)*14/one), s.cover(d)
			}
		}
		return rgb{}, 0
	}))
}

// caption writes the frame number and the time into the upper left corner.
func (s *stage) caption(n int) {
	const cell = 2 * one
	ms := s.t * 1000 / second
	text := newLabel(fmt.Sprintf("F%04d %02d:%02d.%03d", n%10000, ms/60000%100, ms/1000%60, ms%1000))
	x0, y0 := s.left+16*one, 16*one
	x1, y1 := x0+text.wide*cell, y0+capital*cell
	const pad = 6 * one
	s.things = append(s.things, s.box(x0-pad, y0-pad, x1+pad, y1+pad, func(x, y int) (rgb, int) {
		ink := text.cover(x-x0, y-y0, cell, s.px)
		d := min(x-x0, x1-x, y-y0, y1-y) + pad
		return mix(hex(0x101830), hex(0xfff4d0), ink), max(ink, s.cover(d)*130>>8)
	}))
}
