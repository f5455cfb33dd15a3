// What the forms without tensor cores share: the weight of a tap and the sums of a pixel, for the joint distance in RGB.
//
// No integer is ever converted to a float: read as a float, an integer n < 2^23 is the denormal number n 2^-149, which multiply-adds
// take at full speed, so it is enough to scale the other factor. The weights are scaled by 2^110 (tapWeight in launch.go),
// which cancels in the quotient; the sums of W R, W G and W B are then in units of 2^-39.
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

// level is a byte of a word, 0 to 3, times 2^-149.
DEVICE float level(uint32_t word, int byte) { return bits_float(byte_perm(word, 0, 0x4440 | byte)); }

DEVICE void add(sums &s, float w, uint32_t word) {
	s.w += w;
	s.r = fma(w, level(word, 0), s.r);
	s.g = fma(w, level(word, 1), s.g);
	s.b = fma(w, level(word, 2), s.b);
}

// finish returns the means as a word.
DEVICE uint32_t finish(const sums &s) {
	float inverse = reciprocal(s.w * 0x1p-149f); // the 2^149 that levels lack
	return pack(fma(s.r, inverse, ROUND), fma(s.g, inverse, ROUND), fma(s.b, inverse, ROUND));
}
