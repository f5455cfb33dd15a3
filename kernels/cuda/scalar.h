// Shared by the forms without tensor cores: the weight of a tap and the sums of a pixel, for the
// joint distance in RGB.
//
// Integers are never converted to floats: read as a float, an integer n < 2^23 is the denormal n
// 2^-149, which multiply-adds take at full speed, so scaling the other factor is enough. The
// weights are scaled by 2^110 (scaledTap in window.go), which cancels in the quotient; the sums of
// W R, W G and W B are then in units of 2^-39.
//
// Samples of two bytes are floats, too large for these: weights are unscaled (plainTap), and sums
// are of W times the differences from the pixel itself.
#pragma once

#include "planes.h"

struct sums {
	float w, r, g, b;
};

// A tone is a word in the form in which taps read it. add_tap adds the tap q with the constants a
// and b (vf_args.tap) to the sums of p, finish returns the rounded means.
#if VF_BYTES == 1

typedef uint32_t tone;
DEVICE tone tone_of(lanes word) { return word; }

// weight returns the weight of a tap between two words.
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

DEVICE void add_tap(sums &s, tone p, tone q, float a, float b) { add(s, weight(p, q, a, b), q); }

DEVICE levels finish(const sums &s) {
	float inverse = reciprocal(s.w * 0x1p-149f); // restores the 2^149 that levels lack
	return {fma(s.r, inverse, ROUND), fma(s.g, inverse, ROUND), fma(s.b, inverse, ROUND)};
}
DEVICE levels finish(const sums &s, tone) { return finish(s); }

#else

struct tone {
	float r, g, b; // plus ROUND
};
DEVICE tone tone_of(lanes word) { return {raised(word, 0), raised(word, 1), raised(word, 2)}; }

DEVICE void add_tap(sums &s, const tone &p, const tone &q, float a, float b) {
	float r = q.r - p.r, g = q.g - p.g, blue = q.b - p.b;
	float x = fma(fma(r, r, fma(g, g, blue * blue)), a, b), w = VF_RANGE == VF_LORENTZIAN ? reciprocal(x) : exp2(x);
	s.w += w;
	s.r = fma(w, r, s.r);
	s.g = fma(w, g, s.g);
	s.b = fma(w, blue, s.b);
}

DEVICE levels finish(const sums &s, const tone &p) {
	float inverse = reciprocal(s.w);
	return {fma(s.r, inverse, p.r), fma(s.g, inverse, p.g), fma(s.b, inverse, p.b)};
}

#endif

DEVICE change change_of(lanes was, const levels &is) { return {is.r - raised(was, 0), is.g - raised(was, 1), is.b - raised(was, 2)}; }
