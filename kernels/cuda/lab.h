// What the kernels of the papers share: pixels as the papers have them, a byte a channel, and the exponential that their compilers gave them.
#pragma once

#include "planes.h"

// exp as CUDA's compiler makes it of expf today, correct to 2 units in the last place: e^x = 2^n 2^f with n the nearest integer to x log2(e),
// f the rest in two steps so that it has all its digits, and the hardware's 2^f.
DEVICE float expf(float x) {
	float n = fma(x, 1.44269502f, 12582912.0f) - 12582912.0f; // adding 1.5 * 2^23 rounds to an integer
	n = n < -126 ? -126 : n;
	float f = fma(x, 1.44269502f, -n);
	f = fma(x, 1.92596303e-8f, f);
	return exp2(f) * bits_float((uint32_t)((int)n + 127) << 23);
}

// A channel of a packed pixel as a float of 0 to 255.
DEVICE float channel(uint32_t word, int c) { return (float)(int)(word >> 8 * c & 255); }

// The nearest level.
DEVICE uint32_t nearest(float x) { return (uint32_t)(x + TIE_UP + 0.5f); }
