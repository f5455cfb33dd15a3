// The orthonormal DCT of 8 and 16 values in registers, by sums and differences of values opposite
// each other, and the transposition of squares whose rows lie in neighbouring lanes: 8 lanes hold a
// square of 8 x 8, so a warp has four, or 16 lanes one of 16 x 16, so a warp has two.
#pragma once

#include "picture.h"

// C_j is cos(j pi / 16) / 2; R is the square root of 1/2.
#define C1 0.49039264f
#define C2 0.461939766f
#define C3 0.415734806f
#define C4 0.353553391f
#define C5 0.277785117f
#define C6 0.191341716f
#define C7 0.097545161f
#define R 0.707106781f

#define BIAS 0x1p15f // of samples that became floats by their bits

// forward8 puts the coefficients in the place of the values, or those times R for HALF of a
// transform of 16. BIASED values are too large by as much.
template <bool HALF = false, bool BIASED = false> DEVICE void forward8(float *x) {
	const float k = HALF ? R : 1, c1 = C1 * k, c2 = C2 * k, c3 = C3 * k, c4 = C4 * k, c5 = C5 * k, c6 = C6 * k, c7 = C7 * k;
	float s0 = x[0] + x[7], s1 = x[1] + x[6], s2 = x[2] + x[5], s3 = x[3] + x[4];
	float d0 = x[0] - x[7], d1 = x[1] - x[6], d2 = x[2] - x[5], d3 = x[3] - x[4];
	float a = s0 + s3, b = s1 + s2, c = s0 - s3, d = s1 - s2;
	x[0] = BIASED ? fma(c4, a + b, -c4 * (HALF ? 16 * BIAS : 8 * BIAS)) : c4 * (a + b), x[4] = c4 * (a - b);
	x[2] = fma(c2, c, c6 * d), x[6] = fma(c6, c, -c2 * d);
	x[1] = fma(c1, d0, fma(c3, d1, fma(c5, d2, c7 * d3)));
	x[3] = fma(c3, d0, fma(-c7, d1, fma(-c1, d2, -c5 * d3)));
	x[5] = fma(c5, d0, fma(-c1, d1, fma(c7, d2, c3 * d3)));
	x[7] = fma(c7, d0, fma(-c5, d1, fma(c3, d2, -c1 * d3)));
}
template <bool HALF = false> DEVICE void inverse8(float *x) {
	const float k = HALF ? R : 1, c1 = C1 * k, c2 = C2 * k, c3 = C3 * k, c4 = C4 * k, c5 = C5 * k, c6 = C6 * k, c7 = C7 * k;
	float a = c4 * (x[0] + x[4]), b = c4 * (x[0] - x[4]);
	float c = fma(c2, x[2], c6 * x[6]), d = fma(c6, x[2], -c2 * x[6]);
	float s0 = a + c, s3 = a - c, s1 = b + d, s2 = b - d;
	float d0 = fma(c1, x[1], fma(c3, x[3], fma(c5, x[5], c7 * x[7])));
	float d1 = fma(c3, x[1], fma(-c7, x[3], fma(-c1, x[5], -c5 * x[7])));
	float d2 = fma(c5, x[1], fma(-c1, x[3], fma(c7, x[5], c3 * x[7])));
	float d3 = fma(c7, x[1], fma(-c5, x[3], fma(c3, x[5], -c1 * x[7])));
	x[0] = s0 + d0, x[7] = s0 - d0, x[1] = s1 + d1, x[6] = s1 - d1;
	x[2] = s2 + d2, x[5] = s2 - d2, x[3] = s3 + d3, x[4] = s3 - d3;
}

// odd16 multiplies by the odd rows of the transform of 16 values, a DCT-IV of 8: as a Fourier
// transform of 4 complex numbers, turned by n pi / 8 before and (4 k + 1) pi / 32 after. The
// cosines of the first turn are left to the sums that follow.
DEVICE void odd16(float *y, const float *d) {
	const float t1 = 0.414213562f, t3 = 2.41421356f, k1 = 0.923879533f, k2 = 0.707106781f, k31 = 0.414213562f;
	float r1 = fma(t1, d[5], d[2]), r2 = d[4] + d[3], r3 = fma(t3, d[1], d[6]);
	float i1 = fma(-t1, d[2], d[5]), i2 = d[3] - d[4], i3 = fma(-t3, d[6], d[1]);
	float ar = fma(k2, r2, d[0]), br = fma(-k2, r2, d[0]), cr = fma(k31, r3, r1), dr = fma(-k31, r3, r1);
	float ai = fma(k2, i2, d[7]), bi = fma(-k2, i2, d[7]), ci = fma(k31, i3, i1), di = fma(-k31, i3, i1);
	auto turn = [&](int k, float re, float im, float c, float s) { y[2 * k] = fma(c, re, s * im), y[7 - 2 * k] = fma(s, re, -c * im); };
	turn(0, fma(k1, cr, ar), fma(k1, ci, ai), 0.351850934f, 0.0346542923f);
	turn(1, fma(k1, di, br), fma(-k1, dr, bi), 0.311806253f, 0.166663915f);
	turn(2, fma(-k1, cr, ar), fma(-k1, ci, ai), 0.224291897f, 0.273300467f);
	turn(3, fma(-k1, di, br), fma(k1, dr, bi), 0.102631132f, 0.3383295f);
}
template <bool BIASED = false> DEVICE void forward16(float *x) {
	float s[8], d[8], y[8];
	UNROLL
	for (int i = 0; i < 8; i++) s[i] = x[i] + x[15 - i], d[i] = x[i] - x[15 - i];
	forward8<true, BIASED>(s);
	odd16(y, d);
	UNROLL
	for (int i = 0; i < 8; i++) x[2 * i] = s[i], x[2 * i + 1] = y[i];
}
DEVICE void inverse16(float *x) {
	float s[8], d[8], y[8];
	UNROLL
	for (int i = 0; i < 8; i++) s[i] = x[2 * i], y[i] = x[2 * i + 1];
	inverse8<true>(s);
	odd16(d, y);
	UNROLL
	for (int i = 0; i < 8; i++) x[i] = s[i] + d[i], x[15 - i] = s[i] - d[i];
}
#undef R

// Warp: transpose exchanges rows and columns of each square of N x N. No two lanes use a bank of
// the shared memory at a time: rows are PITCH words apart, squares SQUARE.
template <int N> struct transposition;
template <> struct transposition<8> { enum { PITCH = 12, SQUARE = 104, WORDS = 4 * SQUARE }; };
template <> struct transposition<16> { enum { PITCH = 20, SQUARE = 336, WORDS = 2 * SQUARE }; };
typedef float float4_ __attribute__((ext_vector_type(4)));
template <int N> DEVICE void transpose(float *x, float *shared, int lane) {
	typedef transposition<N> T;
	float *own = shared + lane / N * T::SQUARE;
	int row = lane % N;
	UNROLL
	for (int i = 0; i < N; i += 4) *(float4_ *)(own + row * T::PITCH + i) = float4_{x[i], x[i + 1], x[i + 2], x[i + 3]};
	warp_barrier();
	UNROLL
	for (int i = 0; i < N; i++) x[i] = own[i * T::PITCH + row];
	warp_barrier();
}

// Warp: the coefficients of squares whose rows the lanes have: lane u of a square gets the
// coefficients of frequency u across. The other way, lane y gets row y.
template <int N, bool BIASED = false> DEVICE void forward(float *x, float *shared, int lane) {
	N == 8 ? forward8<false, BIASED>(x) : forward16<BIASED>(x);
	transpose<N>(x, shared, lane);
	N == 8 ? forward8(x) : forward16(x);
}
template <int N> DEVICE void inverse(float *x, float *shared, int lane) {
	N == 8 ? inverse8(x) : inverse16(x);
	transpose<N>(x, shared, lane);
	N == 8 ? inverse8(x) : inverse16(x);
}
