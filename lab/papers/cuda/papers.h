// Shared by the papers' kernels: access to the picture, and exponentials as the papers' compilers
// made them, in the precision of the papers' code.
#pragma once

#include "planes.h"
#include "paper_args.h"

DEVICE const uint8_t *source(const paper_args &args, int y) { return (const uint8_t *)args.src + (int64_t)y * args.src_pitch; }
DEVICE uint8_t *target(const paper_args &args, int y) { return (uint8_t *)args.dst + (int64_t)y * args.dst_pitch; }

// keeps reports whether a pixel stays unchanged because its window leaves the picture.
DEVICE bool keeps(const paper_args &args, int x, int y) {
	int r = args.radius;
	return x < r || y < r || x + r >= args.width || y + r >= args.height;
}

// exp_float is CUDA's expf: e^x = 2^n 2^f with n the integer nearest to x log2(e), f the rest in
// two steps to keep all its digits, and 2^f by the special-function unit. Correct to 2 units in
// the last place. x must be at most 0.
DEVICE float exp_float(float x) {
	// Adding 1.5 * 2^23 rounds to an integer.
	float n = fma(x, 1.44269502f, 12582912.0f) - 12582912.0f;
	n = n < -126 ? -126 : n;
	float f = fma(x, 1.92596303e-8f, fma(x, 1.44269502f, -n));
	return exp2(f) * bits_float((uint32_t)((int)n + 127) << 23);
}

// exp_double is CUDA's exp: the same with a polynomial for e^f, |f| < 0.35, since no unit computes
// it in double precision; 17 operations in double precision.
DEVICE double exp_double(double x) {
	const double magic = 6755399441055744.0; // 1.5 * 2^52
	x = x < -708 ? -708 : x;
	double n = __builtin_fma(x, 1.4426950408889634, magic) - magic;
	double f = __builtin_fma(n, -2.3190468138462996e-17, __builtin_fma(n, -0.69314718055994529, x));
	double sum = 1.0 / 39916800; // 1 / 11!
	UNROLL
	for (int i = 11; i > 0; i--) {
		const double inverse_factorial[] = {1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800};
		sum = __builtin_fma(sum, f, inverse_factorial[i - 1]);
	}
	return sum * __builtin_bit_cast(double, ((int64_t)n + 1023) << 52);
}

// nearest rounds a level, of 0 to 255.
DEVICE uint32_t nearest(float x) { return (uint32_t)(x + TIE_UP + 0.5f); }
