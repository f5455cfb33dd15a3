// Shared by the kernels of the recursive edge-aware Gaussian (002; formulas in
// kernels/recursive.go): complex numbers, and pixels in their 16-bit form between passes.
#pragma once

#include "planes.h"

typedef float float2 __attribute__((ext_vector_type(2)));

// Complex numbers: x is the real part.
DEVICE float2 complex_of(vf_complex c) { return float2{c.re, c.im}; }
DEVICE float2 times(float2 a, float2 b) { return float2{fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x)}; }
DEVICE float2 times_add(float2 a, float2 b, float2 c) { // a b + c
	return float2{fma(a.x, b.x, fma(-a.y, b.y, c.x)), fma(a.x, b.y, fma(a.y, b.x, c.y))};
}
// k a + c
DEVICE float2 scaled_add(float2 a, float k, float2 c) { return float2{fma(a.x, k, c.x), fma(a.y, k, c.y)}; }

// Between passes a channel is STEPS v + ZERO in 16 bits, for v in levels of 8 bits at any depth: R
// and G in the first word, B in the lower half of the second, whose upper half is undefined. That
// leaves room for the filter's overshoot. The loss of 1/448 level is negligible for distances and
// the final rounding.
#define STEPS 224.0f
#define ZERO 3584.0f
typedef uint2 pixel;

// The channels of a pixel as floats in steps, offset by ROUND + ZERO; only differences matter.
struct colour {
	float r, g, b;
};
DEVICE colour colour_of(pixel p) {
	return {bits_float(byte_perm(p.x, 0x4B000000, 0x7610)), bits_float(byte_perm(p.x, 0x4B000000, 0x7632)),
	        bits_float(byte_perm(p.y, 0x4B000000, 0x7610))};
}
DEVICE pixel pixel_of(const colour &c) { return pixel{byte_perm(float_bits(c.r), float_bits(c.g), 0x5410), float_bits(c.b)}; }

// Words have levels of 0 to most.
DEVICE pixel pixel_of_word(lanes word, float most = 255) {
	float steps = 255 * STEPS / most;
	return pixel_of({fma(lane_float(word, 0), steps, ROUND + ZERO), fma(lane_float(word, 1), steps, ROUND + ZERO),
	                 fma(lane_float(word, 2), steps, ROUND + ZERO)});
}
// level_of rounds to 0 to most and adds ROUND, as pack expects.
DEVICE float level_of(float channel, float most) {
	float steps = channel - ROUND, levels = most / (255 * STEPS);
	steps = steps < ZERO ? ZERO : steps > ZERO + 255 * STEPS ? ZERO + 255 * STEPS : steps;
	return fma(steps, levels, TIE_UP - ZERO * levels) + ROUND;
}
DEVICE lanes word_of_pixel(pixel p, float most = 255) {
	colour c = colour_of(p);
	return pack(level_of(c.r, most), level_of(c.g, most), level_of(c.b, most));
}
