package scene

import "math"

// All arithmetic is in integers, so that a frame has the same bits on every machine. Lengths are
// in 1/one of a scene unit; a frame is always 360 units high, whatever its pixels.
const (
	one     = 1024      // a scene unit
	viewH   = 360 * one // the height of every frame
	horizon = 214 * one // where the water meets the hills
	turn    = 1 << 16   // a full angle
	q14     = 14        // fraction bits of sines
	full    = 256       // full coverage, full opacity, the end of a mix
	second  = 1 << 16   // the unit of time
	level   = 1 << 8    // a code value of an RGB channel
	white   = 255 * level
)

// sin returns the sine of an angle in 1/turn, scaled by 1<<q14. The polynomial is off by 1e-4 at
// most.
func sin(a int) int {
	z := a & (turn/4 - 1)
	quadrant := a >> 14 & 3
	if quadrant&1 != 0 {
		z = turn/4 - z
	}
	z2 := z * z >> q14
	v := z * (25736 - z2*(10512-z2*1160>>q14)>>q14) >> q14
	if quadrant&2 != 0 {
		return -v
	}
	return v
}

func cos(a int) int { return sin(a + turn/4) }

// swing returns amp times the sine that completes one cycle in periodMs.
func swing(t, periodMs, phase, amp int) int {
	return amp * sin(t*1000/periodMs+phase) >> q14
}

// angle returns the direction of (x, y) in 1/turn, within 0.3 degrees.
func angle(x, y int) int {
	ax, ay := abs(x), abs(y)
	lo, hi := min(ax, ay), max(ax, ay)
	if hi == 0 {
		return 0
	}
	q := lo << q14 / hi
	a := (q*8192 + q*(1<<q14-q)>>q14*2847) >> q14
	if ay > ax {
		a = turn/4 - a
	}
	if x < 0 {
		a = turn/2 - a
	}
	if y < 0 {
		a = -a
	}
	return a & (turn - 1)
}

// isqrt is exact below 1<<52: IEEE 754 asks for a correctly rounded square root.
func isqrt(n int) int { return int(math.Sqrt(float64(n))) }

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func clamp(n, lo, hi int) int { return max(lo, min(n, hi)) }

// floorDiv rounds towards minus infinity, so that patterns go on across zero.
func floorDiv(n, d int) int {
	q := n / d
	if n%d < 0 {
		q--
	}
	return q
}

// hash mixes its arguments into 64 even bits.
func hash(a, b uint64) uint64 {
	z := a*0x9e3779b97f4a7c15 + b + 0x7f4a7c159e3779b9
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// pick returns a number in 0..n-1 that depends only on a and b.
func pick(a, b, n int) int { return int(hash(uint64(a), uint64(b)) >> 33 % uint64(n)) }

// lattice is the random table behind texture.
var lattice = func() (l [256 * 256]uint8) {
	for i := range l {
		l[i] = uint8(hash(uint64(i), 0x5ce9e) >> 56)
	}
	return l
}()

// texture is smooth value noise in 0..65535; a cell of it is 1<<16 wide and high.
func texture(x, y int) int {
	ix, iy := x>>16&255, y>>16&255
	jx, jy := (ix+1)&255, (iy+1)&255
	fx, fy := x&0xffff, y&0xffff
	fx = fx * fx >> 16 * (3<<16 - 2*fx) >> 16
	fy = fy * fy >> 16 * (3<<16 - 2*fy) >> 16
	a, b := int(lattice[iy<<8|ix]), int(lattice[iy<<8|jx])
	c, d := int(lattice[jy<<8|ix]), int(lattice[jy<<8|jx])
	top := a<<16 + (b-a)*fx
	bottom := c<<16 + (d-c)*fx
	return (top + (bottom-top)*fy>>16) >> 8
}

// jagged is piecewise linear noise in 0..65535 along a line; its corners are 1<<16 apart.
func jagged(x, row int) int {
	i := x >> 16 & 255
	a, b := int(lattice[row<<8|i]), int(lattice[row<<8|(i+1)&255])
	return (a<<16 + (b-a)*(x&0xffff)) >> 8
}

// rgb is a colour; channels run from 0 to white.
type rgb struct{ r, g, b int32 }

// hex makes a colour of 0xRRGGBB.
func hex(v uint32) rgb {
	return rgb{int32(v>>16&255) * level, int32(v>>8&255) * level, int32(v&255) * level}
}

// mix goes from a at t = 0 to b at t = full.
func mix(a, b rgb, t int) rgb {
	k := int32(t)
	return rgb{a.r + (b.r-a.r)*k>>8, a.g + (b.g-a.g)*k>>8, a.b + (b.b-a.b)*k>>8}
}

// fine is mix with t in 0..65536, for gradients that would show steps.
func fine(a, b rgb, t int) rgb {
	return rgb{
		a.r + int32(int(b.r-a.r)*t>>16),
		a.g + int32(int(b.g-a.g)*t>>16),
		a.b + int32(int(b.b-a.b)*t>>16),
	}
}

// shade scales a colour by t/full; t may exceed full.
func shade(c rgb, t int) rgb {
	k := int32(t)
	return rgb{min(c.r*k>>8, white), min(c.g*k>>8, white), min(c.b*k>>8, white)}
}
