// Shared by the forms without tensor cores: the weight of a tap and the sums of a pixel, for the
// joint distance in RGB.
//
// Integers are never converted to floats: read as a float, an integer n < 2^23 is the denormal n
// 2^-149, which multiply-adds take at full speed, so scaling the other factor is enough. The
// weights are scaled by 2^110 (scaledTap in window.go), which cancels in the quotient; the sums of
// W R, W G and W B are then in units of 2^-39.
#pragma once

#include "planes.h"

struct sums {
	float w, r, g, b;
};

// weight returns the weight of a tap with the constants a and b (vf_args.tap) between two words.
DEVICE float weight(uint32_t p, uint32_t q, float a, float b) {
	uint32_t d = absdiff4(p, q);
	if (VF_RANGE == VF_LORENTZIAN) return reciprocal(fma(bits_float(dot4(d, d, 0)), a, b));
	return exp2(fma(bits_float(dot4(d, d, float_bits(ROUND))) - ROUND, a, b));
}

// level is byte 0 to 3 of a word, times 2^-149.
DEVICE float level(uint32_t word, int byte) { return bits_float(byte_perm(word, 0, 0x4440 | byte)); }

DEVICE void add(sums &s, float w, uint32_t word) {
	s.w += w;
	s.r = fma(w, level(word, 0), s.r);
	s.g = fma(w, level(word, 1), s.g);
	s.b = fma(w, level(word, 2), s.b);
}

// finish returns the rounded means.
DEVICE levels finish(const sums &s) {
	float inverse = reciprocal(s.w * 0x1p-149f); // restores the 2^149 that levels lack
	return {fma(s.r, inverse, ROUND), fma(s.g, inverse, ROUND), fma(s.b, inverse, ROUND)};
}
DEVICE change change_of(uint32_t was, const levels &is) { return {is.r - raised(was, 0), is.g - raised(was, 1), is.b - raised(was, 2)}; }
