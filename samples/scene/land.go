package scene

// stage is a frame's scene with everything placed: made once per frame, read by all threads.
type stage struct {
	w, h   int
	px     int // size of a pixel in 1/one
	aa     int // full/px << 16
	t      int // time in 1/second
	left   int // left edge of the view in 1/one; 0 is the middle
	pan    int // how far the camera has moved, for the foreground
	sun    point
	far    ridge
	woods  ridge
	bank   ridge
	things []thing // in front of the land, back to front
}

type point struct{ x, y int }

// thing is an object: a box in pixels and its contents. paint takes a place in the scene and
// returns the colour and the covered share of the pixel, 0 to full.
type thing struct {
	x0, y0, x1, y1 int
	paint          func(x, y int) (rgb, int)
}

// ridge is a line of hills: for each column, its height and full/px << 16 across its slope.
type ridge struct{ y, aa []int }

// cover returns how much of the pixel in column px at height y is hill.
func (r *ridge) cover(px, y int) int {
	return clamp(full/2+(y-r.y[px])*r.aa[px]>>16, 0, full)
}

func newStage(cfg Config, n int) *stage {
	s := &stage{w: cfg.Width, h: cfg.Height}
	s.px = max(viewH/s.h, 1)
	s.aa = full << 16 * s.h / viewH
	s.t = n * second * cfg.RateDen / cfg.RateNum
	s.left = -s.w * viewH / (2 * s.h)
	s.pan = swing(s.t, 20000, 0, 34*one)
	s.sun = point{6*one - s.pan/12, 168*one + swing(s.t, 60000, 0, 14*one)}
	s.far = s.newRidge(s.pan/8, farHeight)
	s.woods = s.newRidge(s.pan/4, woodsHeight)
	s.bank = s.newRidge(s.pan, func(x int) int { return bankHeight(x) - s.blades(x) })
	s.place(n)
	if !cfg.Bare {
		s.caption(n)
	}
	return s
}

func (s *stage) sceneX(x int) int { return (2*x + 1 - s.w) * viewH / (2 * s.h) }
func (s *stage) sceneY(y int) int { return (2*y + 1) * viewH / (2 * s.h) }

// cover returns how much of a pixel is inside an edge at distance d, where d > 0 is inside.
func (s *stage) cover(d int) int {
	return clamp(full/2+d*s.aa>>16, 0, full)
}

func (s *stage) newRidge(pan int, height func(x int) int) ridge {
	r := ridge{make([]int, s.w), make([]int, s.w)}
	for i := range r.y {
		x := s.sceneX(i) + pan
		a, b := height(x-s.px/2), height(x+s.px/2)
		r.y[i] = (a + b) / 2
		rise := (b - a) << 8 / s.px
		r.aa[i] = s.aa << 8 / isqrt(1<<16+rise*rise)
	}
	return r
}

func farHeight(x int) int {
	h := jagged(x*64/90+9<<16, 3)*46 + jagged(x*64/31, 7)*17 + jagged(x*64/11, 11)*6 + jagged(x*64/4, 12)*2
	return 208*one - h>>6
}

func woodsHeight(x int) int {
	y := 203*one - sin(x/5)*7>>4 - sin(x/2+9000)*3>>4
	// Firs: a tip in every cell, of its own height.
	const cell = 5 * one
	best := 0
	for i := floorDiv(x, cell) - 1; i <= floorDiv(x, cell)+1; i++ {
		tip := i*cell + pick(i, 21, cell)
		tall := 3*one + pick(i, 22, 8*one)
		best = max(best, tall-abs(x-tip)*5/2)
	}
	return y - best
}

func bankHeight(x int) int {
	return 262*one + x/9 + sin(x/9+14000)*9>>4 + sin(x/3)*2>>4
}

// blades returns how far grass rises above the bank; it leans with the wind.
func (s *stage) blades(x int) int {
	const cell = 2 * one
	wind := sin(s.t/2-x/4) * one >> q14
	best := 0
	for i := floorDiv(x, cell) - 1; i <= floorDiv(x, cell)+1; i++ {
		tall := one + pick(i, 31, 4*one)
		tip := i*cell + pick(i, 32, cell) + wind*tall/(4*one)
		best = max(best, tall-abs(x-tip)*3)
	}
	return best
}

// row draws one row of pixels.
func (s *stage) row(row []rgb, py int) {
	y := s.sceneY(py)
	if y < horizon+s.px {
		s.sky(row, y)
		s.hills(row, y)
	}
	if y > horizon-s.px {
		s.water(row, y)
	}
	s.grass(row, y)
	s.paint(row, py, y)
}

func (s *stage) paint(row []rgb, py, y int) {
	for i := range s.things {
		o := &s.things[i]
		if py < o.y0 || py >= o.y1 {
			continue
		}
		for px := o.x0; px < o.x1; px++ {
			if c, a := o.paint(s.sceneX(px), y); a > 0 {
				row[px] = mix(row[px], c, a)
			}
		}
	}
}

// skyStops is the colour of the sky from the top to the horizon.
var skyStops = []struct {
	y int
	c rgb
}{
	{0, hex(0x34508f)}, {70 * one, hex(0x6b7cb4)}, {120 * one, hex(0xb091b4)},
	{160 * one, hex(0xe2a294)}, {195 * one, hex(0xf7b878)}, {viewH, hex(0xfcc878)},
}

func skyAt(y int) rgb {
	for i := 1; i < len(skyStops); i++ {
		a, b := skyStops[i-1], skyStops[i]
		if y < b.y {
			return fine(a.c, b.c, (y-a.y)<<16/(b.y-a.y))
		}
	}
	return skyStops[len(skyStops)-1].c
}

var (
	glowColor  = hex(0xffe4a0)
	sunColor   = hex(0xfff6d0)
	cloudColor = hex(0xffd0b0)
	cloudShade = hex(0xc890a8)
)

func (s *stage) sky(row []rgb, y int) {
	base := skyAt(y)
	dy := (y - s.sun.y) * 3 / 2
	const reach = 72 * one
	// Clouds lie in a belt, and thin out towards its edges.
	belt := clamp(full-abs(y-112*one)*full/(66*one), 0, full)
	drift := s.t / 16
	for px := range row {
		x := s.sceneX(px)
		dx := x - s.sun.x
		d2 := dx*dx + dy*dy
		c := fine(base, glowColor, (reach*reach/16)<<16/((reach*reach+d2)/16))
		if belt > 0 {
			u, v := (x-s.pan/16)*64/104+drift, y*64/17
			n := (texture(u, v)*5 + texture(u*3+drift, v*2+71<<16)*2 + texture(u*7+drift, v*4)) / 8
			if a := (n - 31000) * belt >> 8; a > 0 {
				lit := clamp((texture(u, v+9000)-n)*4+32768, 0, 1<<16)
				c = fine(c, fine(cloudColor, cloudShade, lit), min(a*3, 52000))
			}
		}
		if d2 < 46*46*one*one {
			flat := dx*dx + dy*dy*4/9
			if a := s.cover(24*one - isqrt(flat)); a > 0 {
				c = mix(c, sunColor, a)
			}
		}
		row[px] = c
	}
}

func (s *stage) hills(row []rgb, y int) {
	haze := skyAt(190 * one)
	for px := range row {
		x := s.sceneX(px)
		if a := s.far.cover(px, y); a > 0 {
			u := x + s.pan/8
			lit := texture((u+y)*64/9, (y-u/3)*64/22)
			c := mix(hex(0x6a5c8e), hex(0x9a7898), lit>>8)
			c = mix(c, haze, clamp((y-158*one)*full/(80*one), 0, 200))
			row[px] = mix(row[px], c, a)
		}
		if a := s.woods.cover(px, y); a > 0 {
			u := x + s.pan/4
			lit := texture(u*64/2, y*64/4)
			c := mix(hex(0x2c3c4c), hex(0x54604e), lit>>8)
			c = mix(c, haze, clamp((y-186*one)*full/(90*one), 0, full))
			row[px] = mix(row[px], c, a)
		}
	}
}

// waves are the octaves of the water: cells per 64 units across, cells per depth, and speed.
var waves = [...]struct{ across, deep, speed, weight int }{
	{3, 1, second / 3, 3}, {7, 2, -second / 2, 1}, {16, 3, second, 1}, {42, 7, second * 2, 1},
}

func (s *stage) water(row []rgb, y int) {
	// Perspective: waves are longer towards the viewer.
	near := max(y-horizon, 0) + 8*one
	depth := func(near int) int { return 320 * one << 16 / near }
	v := depth(near)
	across := 36 * one << 8 / near // 1<<8 at 36 units from the horizon
	// Waves shorter than a pixel fade, since the far end of the lake would flicker.
	var weights [len(waves)]int
	for i, w := range waves {
		cells := max((v-depth(near+s.px))*w.deep, s.px*across>>8*w.across)
		weights[i] = clamp(full*3/2-cells*full>>16, 0, full) * w.weight
	}
	base := fine(hex(0xe8a888), hex(0x3c5c90), clamp((y-horizon)<<16/(70*one), 0, 1<<16))
	wide := 20*one + (y-horizon)/2
	for px := range row {
		if s.bank.cover(px, y) == full {
			continue
		}
		off := s.sceneX(px) - s.sun.x
		u := off * across >> 8
		wave := 0
		for i, w := range waves {
			if weights[i] > 0 {
				drift := s.t * w.speed / second
				wave += (texture(u*w.across+drift, v*w.deep+drift) - 32768) * weights[i]
			}
		}
		wave = 32768 + wave/(6*full)
		c := mix(base, hex(0x24406c), clamp((wave-34000)>>6, 0, 150))
		c = mix(c, hex(0xf4c4a4), clamp((27000-wave)>>6, 0, 170))
		path := clamp(full-abs(off)*full/(wide*2), 0, full)
		if glint := (wave - 33500 + path*24) * path >> 12; glint > 0 {
			c = mix(c, hex(0xfff0b8), min(glint, 240))
		}
		row[px] = c
	}
}

func (s *stage) grass(row []rgb, y int) {
	// Texture finer than a pixel would only twinkle.
	sharp := clamp((2*one-s.px)*full/one, 0, full)
	for px := range row {
		a := s.bank.cover(px, y)
		if a == 0 {
			continue
		}
		d := y - s.bank.y[px]
		x := s.sceneX(px) + s.pan
		// Blades lean this way and that.
		lean := x + texture(x*64/30, y*64/24)>>4 + (y-viewH)*sin(s.t/2-x/5)>>19
		blade := texture(lean*64/2, y*64/9)*2/3 + (texture(lean*64*5/4, y*64/4+77<<16)-32768)*sharp>>9
		patch := texture(x*64/60, y*64/20)
		c := mix(hex(0x2e4a2c), hex(0x8a8c3c), clamp(blade*3/2>>8, 0, full))
		c = mix(c, hex(0x5c6e2c), patch*100>>16)
		c = mix(c, hex(0xf0c870), clamp(110-d*110/(9*one), 0, 110))
		c = shade(c, full-clamp((y-300*one)*90/(60*one), 0, 90))
		if f, fa := s.flower(x, y); fa > 0 {
			c = mix(c, f, fa)
		}
		row[px] = mix(row[px], c, a)
	}
}

var flowerColors = [...]rgb{hex(0xe02818), hex(0xe83020), hex(0xf8f4e8), hex(0xf0c010), hex(0x7838c8)}

func (s *stage) flower(x, y int) (rgb, int) {
	const cw, ch = 13 * one, 9 * one
	i, j := floorDiv(x, cw), y/ch
	h := int(hash(uint64(int64(i)), uint64(j)+500) >> 32)
	if h&1 == 0 {
		return rgb{}, 0
	}
	size := one*5/4 + max(y-250*one, 0)/110
	cx := i*cw + 2*one + (h>>2&1023)*9 + swing(s.t, 2600, h&0xffff, one/2)
	cy := j*ch + 2*one + (h>>12&1023)*5
	d := isqrt((x-cx)*(x-cx) + (y-cy)*(y-cy)*2)
	if d > size+s.px {
		return rgb{}, 0
	}
	c := flowerColors[h>>23%len(flowerColors)]
	return mix(c, hex(0x402010), s.cover(size/3-s.px/3-d)), s.cover(size - d)
}
