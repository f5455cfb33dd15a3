// Shared by the forms without tensor cores: the weight of a tap and the sums of a pixel, for the
// joint distance in RGB.
//
// Integers are never converted to floats: read as a float, an integer n < 2^23 is the denormal n
// 2^-149, which multiply-adds take at full speed, so scaling the other factor is enough. The
// weights are scaled by 2^110 (scaledTap in window.go), which cancels in the quotient. The sums of
// W R, W G and W B are then in units of 2^-39.
//
// Samples of two bytes are floats beyond their range: weights are unscaled (plainTap), and tones
// are stored as floats, since taps would convert each word again.
#pragma once

#include "planes.h"

struct sums {
	float w, r, g, b;
};

// A tone is a word in the form in which taps read it, a centre the tone of the pixel whose window
// it is. add_tap adds the tap q with the constants a and b (vf_args.tap) to the sums of p, finish
// returns the rounded means.
#if VF_BYTES == 1

typedef lanes tone, centre, stored;
typedef word4 tone4; // of four pixels
DEVICE tone4 tones_of(const vf_args &args, const samples &s, bool whole) { return words_of(args, s, whole); }
// read_row reads the tones FIRST to LAST - 1 of a row.
template <int SIZE, int FIRST, int LAST> DEVICE void read_row(tone *q, const stored *row) {
	UNROLL
	for (int i = FIRST & ~3; i < LAST; i += 4) {
		word4 v = read_words(row + i);
		q[i] = v.x, q[i + 1] = v.y, q[i + 2] = v.z, q[i + 3] = v.w;
	}
}
template <int SIZE> DEVICE tone4 read_tones(const stored *p) { return read_words(p); }
template <int SIZE> DEVICE void write_tones(stored *p, const tone4 &t) { write_words(p, t); }
DEVICE centre centre_of(tone t) { return t; }

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

DEVICE void add_tap(sums &s, centre p, tone q, float a, float b) { add(s, weight(p, q, a, b), q); }

DEVICE levels finish(const sums &s) {
	float inverse = reciprocal(s.w * 0x1p-149f); // restores the 2^149 that levels lack
	return {fma(s.r, inverse, ROUND), fma(s.g, inverse, ROUND), fma(s.b, inverse, ROUND)};
}
DEVICE levels finish(const vf_args &, const sums &s) { return finish(s); }
DEVICE change change_of(const vf_args &, tone was, const levels &is) { return {is.r - raised(was, 0), is.g - raised(was, 1), is.b - raised(was, 2)}; }

#else

// R, G and B less the middle level, and the sum of their squares, exact up to 12 bits. Each is in a
// plane of its own, so that no lanes meet in a bank. At radius 1 the sum is computed instead.
typedef float tone __attribute__((ext_vector_type(4)));
typedef float stored;
struct tone4 {
	tone x, y, z, w;
};
DEVICE float middle_level(const vf_args &args) { return bits_float(float_bits(ROUND) | middle_of(args)); }
DEVICE tone tone_of(float r, float g, float b) { return tone{r, g, b, fma(r, r, fma(g, g, b * b))}; }
DEVICE tone tone_of(const vf_args &args, const levels &l) {
	float middle = middle_level(args);
	return tone_of(l.r - middle, l.g - middle, l.b - middle);
}
template <int SIZE> DEVICE tone read_tone(const stored *p) {
	if (VF_RADIUS < 2) return tone_of(p[0], p[SIZE], p[2 * SIZE]);
	return tone{p[0], p[SIZE], p[2 * SIZE], p[3 * SIZE]};
}
DEVICE tone4 tones_of(const vf_args &args, const samples &s, bool whole) {
	quad q = levels_of(args, s, whole);
	return {tone_of(args, q.of[0]), tone_of(args, q.of[1]), tone_of(args, q.of[2]), tone_of(args, q.of[3])};
}
// A vector with three needed words is read whole, since that takes one load.
template <int SIZE, int FIRST, int LAST> DEVICE void read_row(tone *q, const stored *row) {
	row = (const stored *)__builtin_assume_aligned(row, 16);
	UNROLL
	for (int i = FIRST % 4 == 1 ? FIRST - 1 : FIRST; i < (LAST % 4 == 3 ? LAST + 1 : LAST); i++) q[i] = read_tone<SIZE>(row + i);
}
template <int SIZE> DEVICE tone4 read_tones(const stored *p) {
	p = (const stored *)__builtin_assume_aligned(p, 16);
	return {read_tone<SIZE>(p), read_tone<SIZE>(p + 1), read_tone<SIZE>(p + 2), read_tone<SIZE>(p + 3)};
}
template <int SIZE> DEVICE void write_tones(stored *p, const tone4 &t) {
	typedef float float4 __attribute__((ext_vector_type(4)));
	*(float4 *)p = float4{t.x.x, t.y.x, t.z.x, t.w.x};
	*(float4 *)(p + SIZE) = float4{t.x.y, t.y.y, t.z.y, t.w.y};
	*(float4 *)(p + 2 * SIZE) = float4{t.x.z, t.y.z, t.z.z, t.w.z};
	if (VF_RADIUS > 1) *(float4 *)(p + 3 * SIZE) = float4{t.x.w, t.y.w, t.z.w, t.w.w};
}

// D^2 = |p|^2 + |q|^2 - 2 p q takes an instruction less than the differences, which the sums do not
// need either.
typedef tone centre;
DEVICE centre centre_of(const tone &t) { return {-2 * t.x, -2 * t.y, -2 * t.z, t.w}; }

DEVICE void add_tap(sums &s, const centre &p, const tone &q, float a, float b) {
	float d = fma(p.x, q.x, fma(p.y, q.y, fma(p.z, q.z, p.w + q.w)));
	float x = fma(d, a, b), w = VF_RANGE == VF_LORENTZIAN ? reciprocal(x) : exp2(x);
	s.w += w;
	s.r = fma(w, q.x, s.r);
	s.g = fma(w, q.y, s.g);
	s.b = fma(w, q.z, s.b);
}

DEVICE levels finish(const vf_args &args, const sums &s) {
	float inverse = reciprocal(s.w), middle = middle_level(args);
	return {fma(s.r, inverse, middle), fma(s.g, inverse, middle), fma(s.b, inverse, middle)};
}

DEVICE change change_of(const vf_args &args, const tone &was, const levels &is) {
	float middle = middle_level(args);
	return {is.r - middle - was.x, is.g - middle - was.y, is.b - middle - was.z};
}

#endif
