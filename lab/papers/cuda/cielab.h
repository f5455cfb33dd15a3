// CIE-Lab of linear light.
#pragma once

#include "planes.h"

// The cube root of CIE-Lab, with its linear part below 216 / 24389.
DEVICE float lab_curve(float t) {
	// Divide the exponent by three, then take two Halley steps. Each triples the correct digits.
	float x = bits_float(float_bits(t) / 3 + 0x2a517d3c);
	UNROLL
	for (int i = 0; i < 2; i++) {
		float cube = x * x * x;
		x = x * (cube + t + t) * reciprocal(cube + cube + t);
	}
	return t > 216.0f / 24389 ? x : fma(t, 841.0f / 108, 4.0f / 29);
}

// lab_of sets L (plus 16, which cancels in differences), a and b of linear red, green and blue.
DEVICE void lab_of(const float *xyz, float r, float g, float b, float *lab) {
	float f[3];
	UNROLL
	for (int i = 0; i < 3; i++) {
		const float *k = xyz + 3 * i;
		f[i] = lab_curve(fma(r, k[0], fma(g, k[1], b * k[2])));
	}
	lab[0] = 116 * f[1];
	lab[1] = 500 * (f[0] - f[1]);
	lab[2] = 200 * (f[1] - f[2]);
}
