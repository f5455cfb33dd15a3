// Components of fields in device memory, for all kernels in this folder. A sample is one byte, or
// two if VF_BYTES is 2. Threads process four samples of a row at a time, and rows are padded
// accordingly.
#pragma once

#include "machine.h"
#include "interlace_args.h"

#ifndef VF_BYTES
#define VF_BYTES 1
#endif
enum { BYTES = VF_BYTES };

DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

// tile is the component and position of a block of the launch.
struct tile {
	int plane, x, y;
};
DEVICE tile tile_of(const vi_args &args) {
	int block = block_x(), c = 0;
	UNROLL
	for (int i = 1; i < VI_PLANES; i++) c += block >= args.begin[i];
	int rest = block - args.begin[c], y = rest / args.across[c];
	return {c, rest - y * args.across[c], y};
}

struct plane {
	const uint8_t *at;
	int pitch, rows;
};
DEVICE plane plane_of(const vi_args &args, uint64_t field, int c, int bottom) {
	const vi_plane &p = args.plane[c];
	return {(const uint8_t *)(field + p.offset), p.pitch, p.rows[bottom]};
}

// four adjacent samples.
struct four {
	int v[4];
};
DEVICE four load_four(const uint8_t *p) {
	if (BYTES == 1) {
		uint32_t w = load_u32(p);
		return {{(int)(w & 255), (int)(w >> 8 & 255), (int)(w >> 16 & 255), (int)(w >> 24)}};
	}
	uint2 w = load_u64(p);
	return {{(int)(w.x & 0xffff), (int)(w.x >> 16), (int)(w.y & 0xffff), (int)(w.y >> 16)}};
}
DEVICE uint32_t packed_bytes(const four &s) { return (uint32_t)s.v[0] | (uint32_t)s.v[1] << 8 | (uint32_t)s.v[2] << 16 | (uint32_t)s.v[3] << 24; }
DEVICE uint2 packed_words(const four &s) { return uint2{(uint32_t)s.v[0] | (uint32_t)s.v[1] << 16, (uint32_t)s.v[2] | (uint32_t)s.v[3] << 16}; }
DEVICE void store_four(uint8_t *p, const four &s) {
	if (BYTES == 1)
		store_u32(p, packed_bytes(s));
	else
		store_u64(p, packed_words(s));
}

// rounded converts a value to a sample.
DEVICE int rounded(const vi_args &args, float v) {
	float r = v + 0.5f, top = (float)((1 << args.depth) - 1);
	return (int)(r < 0 ? 0 : r > top ? top : r);
}

// row_of returns a row. Beyond the edges, the edge rows repeat.
DEVICE const uint8_t *row_of(const plane &p, int y) { return p.at + (int64_t)clamp(y, 0, p.rows - 1) * p.pitch; }
