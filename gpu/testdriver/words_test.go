package testdriver

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// words runs one operation of testdata/words.cu on each triple.
func (c *caller) words(what, count int, in [][3]uint32) []uint32 {
	c.t.Helper()
	r := run{kernel: "words", threads: 64, compute: 80, grid: [2]int{2, (len(in) + 127) / 128}, block: [2]int{32, 2}, what: what, count: count}
	r.out = 128 * r.grid[1]
	for i := range r.out {
		if i < len(in) {
			r.in = append(r.in, in[i][:]...)
		} else {
			r.in = append(r.in, 0, 0, 0)
		}
	}
	return c.mustRun(r)[:len(in)]
}

func float(f float32) uint32     { return math.Float32bits(f) }
func number(u uint32) float32    { return math.Float32frombits(u) }
func byteOf(w uint32, i int) int { return int(w >> (8 * i) & 255) }

// Operations on words match the hardware's.
func TestOperations(t *testing.T) {
	c := startAnywhere(t, "")
	operations := []struct {
		name  string
		what  int
		model func(a, b, c uint32) uint32
	}{
		{"byte_perm", 0, bytePerm},
		{"absdiff4", 1, func(a, b, _ uint32) (d uint32) {
			for i := range 4 {
				d |= uint32(max(byteOf(a, i)-byteOf(b, i), byteOf(b, i)-byteOf(a, i))) << (8 * i)
			}
			return d
		}},
		{"dot4", 2, func(a, b, c uint32) uint32 {
			for i := range 4 {
				c += uint32(byteOf(a, i) * byteOf(b, i))
			}
			return c
		}},
		{"dot4_signed", 3, func(a, b, c uint32) uint32 {
			for i := range 4 {
				c += uint32(int(int8(byteOf(a, i))) * int(int8(byteOf(b, i))))
			}
			return c
		}},
		{"low_float", 9, func(a, _, _ uint32) uint32 { return float(float32(halfValue(uint16(a)))) }},
		{"high_float", 10, func(a, _, _ uint32) uint32 { return float(float32(halfValue(uint16(a >> 16)))) }},
		{"half2_add", 11, pairwise(func(a, b, _ *big.Float) *big.Float { return a.Add(a, b) })},
		{"half2_mul", 12, pairwise(func(a, b, _ *big.Float) *big.Float { return a.Mul(a, b) })},
		{"half2_fma", 13, pairwise(func(a, b, c *big.Float) *big.Float { return c.Add(a.Mul(a, b), c) })},
	}
	r := rand.New(rand.NewPCG(1, 2))
	in := make([][3]uint32, 20000)
	for i := range in {
		in[i] = [3]uint32{randomHalves(r), randomHalves(r), randomHalves(r)}
	}
	for _, op := range operations {
		for i, got := range c.words(op.what, 0, in) {
			if want := op.model(in[i][0], in[i][1], in[i][2]); got != want {
				t.Errorf("%s(%#x): got %#x, want %#x", op.name, in[i], got, want)
				break
			}
		}
	}
}

func bytePerm(a, b, selector uint32) (d uint32) {
	for i := range 4 {
		pick := selector >> (4 * i) & 15
		byte := uint32((uint64(b)<<32 | uint64(a)) >> (8 * (pick & 7)) & 255)
		if pick > 7 { // the sign alone
			byte = uint32(int8(byte)>>7) & 255
		}
		d |= byte << (8 * i)
	}
	return d
}

// Every half, every tie between two halves, and the neighbours of ties round to the nearest half.
func TestHalfRounding(t *testing.T) {
	c := startAnywhere(t, "")
	for sign := range uint32(2) {
		var in [][3]uint32
		for h := range uint32(31 << 10) {
			value := float32(halfValue(uint16(sign<<15 | h)))
			tie := float32((halfValue(uint16(h)) + math.Abs(next(h))) / 2)
			tie = float32(math.Copysign(float64(tie), float64(value)))
			in = append(in, [3]uint32{float(value), float(tie)}, [3]uint32{float(tie) - 1, float(tie) + 1})
		}
		for i, got := range c.words(8, 0, in) {
			for k := range 2 {
				x := number(in[i][k])
				if want := halfOf(exact(float64(x))); uint16(got>>(16*k)) != want {
					t.Fatalf("%g: got %#x, want %#x", x, uint16(got>>(16*k)), want)
				}
			}
		}
	}
}

// next returns the half above h; above the largest, the value that would follow.
func next(h uint32) float64 {
	if h+1 == 31<<10 {
		return 65536
	}
	return halfValue(uint16(h + 1))
}

// The approximations are within their documented error and flush denormals to zero.
func TestApproximations(t *testing.T) {
	c := startAnywhere(t, "")
	inf := float32(math.Inf(1))
	values := []float32{0, 1, 2, 3, 0x1p-126, 0x1p-127, 0x1p-149, 0x1p126, 0x1p127, 255, 1e10, inf, -inf, -150, -126, -127, 127.9, 128, -0.5}
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		values = append(values, float32(r.Float64()*250-125), number(r.Uint32()))
	}
	in := make([][3]uint32, len(values))
	for i, v := range values {
		in[i][0] = float(v)
	}
	for _, op := range []struct {
		name  string
		what  int
		model func(x float64) float64
	}{
		{"reciprocal", 6, func(x float64) float64 { return 1 / x }},
		{"exp2", 7, math.Exp2},
	} {
		for i, got := range c.words(op.what, 0, in) {
			x := normal(values[i])
			if want := normal(float32(op.model(float64(x)))); !near(number(got), want, 2) {
				t.Errorf("%s(%g): got %g, want %g", op.name, values[i], number(got), want)
			}
		}
	}
}

func normal(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// near reports whether two floats are at most units in the last place apart.
func near(a, b float32, units int32) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	d := int32(float(a)) - int32(float(b))
	return max(d, -d) <= units
}

// A multiply-add rounds once. With clamping it gives 0 for NaN.
func TestMultiplyAdd(t *testing.T) {
	c := startAnywhere(t, "")
	for _, v := range []struct{ a, b, c, want float32 }{
		{2, 0.25, 0.125, 0.625}, {2, 3, 0, 1}, {-1, 1, 0.5, 0}, {1, 1, 0, 1}, {0, 0, 0, 0},
		{float32(math.Inf(1)), 1, 0, 1}, {float32(math.NaN()), 1, 0, 0}, {1 + 0x1p-12, 1 + 0x1p-12, -1, 0x1p-11 + 0x1p-24},
	} {
		in := [][3]uint32{{float(v.a), float(v.b), float(v.c)}}
		if sum := float32(math.FMA(float64(v.a), float64(v.b), float64(v.c))); !near(number(c.words(4, 0, in)[0]), sum, 0) {
			t.Errorf("fma(%g, %g, %g) is not %g", v.a, v.b, v.c, sum)
		}
		if got := number(c.words(5, 0, in)[0]); got != v.want {
			t.Errorf("fma_unit(%g, %g, %g) = %g, want %g", v.a, v.b, v.c, got, v.want)
		}
	}
}

// exp2 of halves is accurate to about their last digit.
func TestHalfExp2(t *testing.T) {
	c := startAnywhere(t, "")
	var in [][3]uint32
	for h := range uint32(31 << 9) {
		in = append(in, [3]uint32{2*h | (2*h+1)<<16 | 1<<31})
	}
	for i, got := range c.words(14, 0, in) {
		for k := range 2 {
			x := halfValue(uint16(in[i][0] >> (16 * k)))
			want := math.Exp2(x)
			if e := math.Abs(halfValue(uint16(got>>(16*k))) - want); want < 65504 && e > want/500 && e > 0x1p-24 {
				t.Fatalf("exp2(%g): got %g", x, halfValue(uint16(got>>(16*k))))
			}
		}
	}
}

// Shuffles exchange values between lanes of the same warp only.
func TestShuffles(t *testing.T) {
	c := startAnywhere(t, "order=5")
	in := make([][3]uint32, 128)
	for i := range in {
		in[i] = [3]uint32{uint32(1000 + i), bits.Reverse32(uint32(i)) >> 27}
	}
	for _, s := range []struct {
		name        string
		what, count int
		from        func(lane int) int
	}{
		{"shuffle_up", 15, 1, func(lane int) int { return lane - 1 }},
		{"shuffle_up", 15, 31, func(lane int) int { return lane - 31 }},
		{"shuffle_down", 16, 2, func(lane int) int { return lane + 2 }},
		{"shuffle_down", 16, 0, func(lane int) int { return lane }},
		{"shuffle", 17, 9, func(int) int { return 9 }},
		{"shuffle", 18, 0, func(lane int) int { return int(bits.Reverse32(uint32(lane)) >> 27) }},
	} {
		for i, got := range c.words(s.what, s.count, in) {
			from := s.from(i % 32)
			if from < 0 || from > 31 {
				from = i % 32
			}
			if want := uint32(1000 + i - i%32 + from); got != want {
				t.Errorf("%s by %d, lane %d: got %d, want %d", s.name, s.count, i, got, want)
				break
			}
		}
	}
}
