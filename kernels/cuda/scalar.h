// What the forms without tensor cores share: the weight of a tap and the sums of a pixel, for the joint distance in RGB.
//
// No integer is ever converted to a float: read as a float, an integer n < 2^23 is the denormal number n 2^-149, which multiply-adds
// take at full speed, so it is enough to scale the other factor. The weights are scaled by 2^110 (tapWeights in launch.go),
// which cancels in the quotient; a sum of W R is then in units of 2^-39, of W G (whose byte lies 8 bits higher) of 2^-31,
// of W B of 2^-23.
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

DEVICE void add(sums &s, float w, uint32_t word) {
	s.w += w;
	s.r = fma(w, bits_float(word & 0xff), s.r);
	s.g = fma(w, bits_float(word & 0xff00), s.g);
	s.b = fma(w, bits_float(word & 0xff0000), s.b);
}

// finish returns the means as a word.
DEVICE uint32_t finish(const sums &s) {
	float inverse = reciprocal(s.w) * 0x1p74f; // the factors of 2 in two steps, as neither side could hold them all
	float r = fma(s.r * 0x1p75f, inverse, TIE_UP), g = fma(s.g * 0x1p67f, inverse, TIE_UP), b = fma(s.b * 0x1p59f, inverse, TIE_UP);
	return pack(r + ROUND, g + ROUND, b + ROUND);
}

// kept puts back the words, four from x on, that the border skip leaves as they are.
DEVICE uint4 kept(const vf_args &args, uint4 result, uint4 own, int x, int y) {
	if (args.border != VF_SKIP) return result;
	if (keeps(args, x, y)) result.x = own.x;
	if (keeps(args, x + 1, y)) result.y = own.y;
	if (keeps(args, x + 2, y)) result.z = own.z;
	if (keeps(args, x + 3, y)) result.w = own.w;
	return result;
}
