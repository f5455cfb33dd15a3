// Shared by the kernels of the thesis (000): thesis.cu and thesis_lab.cu.
#pragma once

#include "papers.h"

enum { BLOCK = VF_BLOCK, VERSION = VF_VERSION };

// Red, green and blue of a pixel, which the thesis keeps as three bytes.
struct pixel {
	int level[3];
};

// pixel_at reads a pixel of the picture in global memory, byte by byte.
DEVICE pixel pixel_at(const paper_args &args, int x, int y) {
	const uint8_t *p = source(args, y) + 4 * x;
	return {{(int)read_u8(p), (int)read_u8(p + 1), (int)read_u8(p + 2)}};
}

// spatial is the spatial weight: in version 1 from global memory, in all others from constant
// memory.
DEVICE float spatial(const paper_args &args, int dx, int dy) {
	int r = args.radius;
	if (VERSION == 1) return bits_float(read_u32((const uint8_t *)args.table + 4 * ((dy + r) * (2 * r + 1) + dx + r)));
	return args.tap[dy < 0 ? -dy : dy][dx < 0 ? -dx : dx];
}

// store_mean stores the weighted mean of each channel, with the alpha of the source.
DEVICE void store_mean(const paper_args &args, int x, int y, const float *sum, const float *weights) {
	uint32_t word = read_u8(source(args, y) + 4 * x + 3) << 24;
	UNROLL
	for (int c = 0; c < 3; c++) word |= nearest(sum[c] / weights[c]) << 8 * c;
	store_u32(target(args, y) + 4 * x, word);
}

// copy_border copies a pixel that is not filtered, since its window leaves the picture.
DEVICE void copy_border(const paper_args &args, int x, int y) {
	if (x < args.width && y < args.height && keeps(args, x, y))
		store_u32(target(args, y) + 4 * x, read_u32(source(args, y) + 4 * x));
}
