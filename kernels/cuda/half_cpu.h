// Pairs of halves on the CPU. Included by device_cpu.h.
#pragma once

typedef _Float16 vf_halves __attribute__((ext_vector_type(2)));
typedef float vf_floats __attribute__((ext_vector_type(2)));
typedef double vf_doubles __attribute__((ext_vector_type(2)));
typedef uint64_t vf_words __attribute__((ext_vector_type(2)));

DEVICE vf_floats vf_to_floats(half2 h) { return __builtin_convertvector(__builtin_bit_cast(vf_halves, h), vf_floats); }
DEVICE half2 vf_to_half2(vf_floats f) { return __builtin_bit_cast(half2, __builtin_convertvector(f, vf_halves)); }

DEVICE half2 half2_of(float low, float high) { return vf_to_half2((vf_floats){low, high}); }
DEVICE float low_float(half2 h) { return vf_to_floats(h).x; }
DEVICE float high_float(half2 h) { return vf_to_floats(h).y; }

// Rounding to floats first is harmless: for sums, since a float has more than twice the digits of
// a half plus two; for products, since they fit a float.
DEVICE half2 half2_add(half2 a, half2 b) { return vf_to_half2(vf_to_floats(a) + vf_to_floats(b)); }
DEVICE half2 half2_mul(half2 a, half2 b) { return vf_to_half2(vf_to_floats(a) * vf_to_floats(b)); }

// A fused multiply-add rounded to a float and then to a half could be one off. So it is computed
// in double, whose error is too small to matter, and truncated to a float with the last bit set if
// any bits were lost ("round to odd").
DEVICE half2 half2_fma(half2 a, half2 b, half2 c) {
	const uint64_t cut = (1ull << 29) - 1; // a double's digits less a float's
	vf_doubles x = __builtin_convertvector(vf_to_floats(a), vf_doubles);
	vf_doubles y = __builtin_convertvector(vf_to_floats(b), vf_doubles);
	vf_doubles z = __builtin_convertvector(vf_to_floats(c), vf_doubles);
	vf_words bits = __builtin_bit_cast(vf_words, x * y + z);
	vf_words more = __builtin_bit_cast(vf_words, (bits & cut) != 0) & (cut + 1);
	vf_doubles odd = __builtin_bit_cast(vf_doubles, (bits & ~cut) | more);
	return vf_to_half2(__builtin_convertvector(odd, vf_floats));
}

DEVICE half2 half2_exp2(half2 x) {
	return half2_of(__builtin_exp2f(low_float(x)), __builtin_exp2f(high_float(x)));
}
