// Conversion to RGBA of pictures in formats that SDL lacks.
#ifndef VIDFILTER_WINDOW_RGBA_H
#define VIDFILTER_WINDOW_RGBA_H

#include <stdint.h>

struct vf_yuv {
	int width, rows;
	int pitch[3];         // bytes
	int sub_x, sub_y;     // log2 of the subsampling of chroma
	int step;             // bytes from one sample of chroma to the next: 2 in NV12
	int black;            // luma of black
	int y, rv, gu, gv, bu; // the matrix, times 2^14
};

// Writes rows of 4 * width bytes, one after the other.
void vf_rgba(uint8_t *out, const struct vf_yuv *f, const uint8_t *y, const uint8_t *u, const uint8_t *v);

// Writes |a - b| * gain for each of n pixels, and full alpha. out may be a or b.
void vf_difference(uint8_t *out, const uint8_t *a, const uint8_t *b, int n, int gain);

#endif
