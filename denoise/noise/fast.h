// The parts of the measurement in C. Go's tests have the same in Go, and hold it to equal results.
#ifndef VIDFILTER_DENOISE_NOISE_FAST_H
#define VIDFILTER_DENOISE_NOISE_FAST_H

#include <stdint.h>

enum { VN_WINDOW = 16, VN_MOST = 20 };

// vn_transform makes the 8x8 DCT of samples, orthonormal, in 8-bit levels, at [v*8+u]. A level is
// unit levels of the samples. Given other samples, it also makes that of the differences from them,
// scaled to the variance of one of the two. If more samples than the limits are at the ends of the
// range, or are the black of video, it makes neither and returns 0.
int vn_transform(const uint16_t own[64], const uint16_t *other, int unit, int most_clipped, int most_black,
	float block[64], float diff[64]);

// vn_halve writes n means of 2x2 samples of two rows.
void vn_halve(uint8_t *out, const uint8_t *a, const uint8_t *b, int n);

// vn_smooth writes a square, of VN_MOST at the most, smoothed by (1, 2, 1)/4 both ways. The input
// has a sample more on each side. Neither has padding.
void vn_smooth(uint8_t *out, const uint8_t *in, int side);

typedef struct { int32_t x, y, extra; } vn_option;

// vn_try compares the window at cur with windows of ref, a plane of width x height without padding,
// that are displaced from x, y by the options, in turn. It returns the number of the last one that
// costs less than those before it and the cost, which becomes its own: the sum of the absolute
// differences, and the extra. It returns -1 if all fail. Windows beyond the plane do not count.
int vn_try(const uint8_t *cur, int pitch, const uint8_t *ref, int width, int height, int x, int y,
	const vn_option *options, int n, int64_t *cost);

#endif
