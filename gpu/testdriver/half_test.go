package testdriver

import (
	"math"
	"math/big"
	"math/rand/v2"
)

// halfValue returns the value of a half.
func halfValue(h uint16) float64 {
	sign, exponent, fraction := 1-2*float64(h>>15), int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	case 31:
		if fraction == 0 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// halfOf rounds a number to the nearest half, ties to even.
func halfOf(x *big.Float) uint16 {
	var sign uint16
	if x.Signbit() {
		sign = 1 << 15
	}
	if x.Sign() == 0 {
		return sign
	}
	// last is the exponent of the last place, at least -24.
	last := max(x.MantExp(nil)-11, -24)
	n := roundEven(new(big.Float).SetMantExp(new(big.Float).Abs(x), -last))
	value := math.Ldexp(float64(n), last)
	if value > 65504 {
		return sign | 31<<10
	}
	if value < 0x1p-14 {
		return sign | uint16(value*0x1p24)
	}
	fraction, exponent := math.Frexp(value)
	return sign | uint16(exponent+14)<<10 | uint16(fraction*2048)&1023
}

func roundEven(x *big.Float) int64 {
	n, _ := x.Int64()
	rest, _ := new(big.Float).Sub(x, new(big.Float).SetInt64(n)).Float64()
	if rest > 0.5 || rest == 0.5 && n%2 == 1 {
		n++
	}
	return n
}

// exact returns x with enough precision for any sum of products of halves.
func exact(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

// pairwise turns an operation on exact numbers into one on pairs of halves.
func pairwise(f func(a, b, c *big.Float) *big.Float) func(a, b, c uint32) uint32 {
	half := func(a, b, c uint32) uint32 {
		of := func(h uint32) *big.Float { return exact(halfValue(uint16(h))) }
		return uint32(halfOf(f(of(a), of(b), of(c))))
	}
	return func(a, b, c uint32) uint32 { return half(a, b, c) | half(a>>16, b>>16, c>>16)<<16 }
}

// randomHalves returns a pair of finite halves of uniformly distributed magnitudes.
func randomHalves(r *rand.Rand) uint32 {
	for {
		if w := r.Uint32(); w>>26&31 != 31 && w>>10&31 != 31 {
			return w
		}
	}
}
