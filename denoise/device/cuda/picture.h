// Pictures in the device's memory, for all kernels of the denoiser. A sample is an 8-bit byte, or
// 16 bits with VF_BYTES 2. Lanes are the threads of a warp.
#pragma once

#include "machine.h"
#include "denoise_args.h"

#ifndef VF_BYTES
#define VF_BYTES 1
#endif
enum { BYTES = VF_BYTES };
#if VF_BYTES == 1
typedef uint8_t sample;
#else
typedef uint16_t sample;
#endif

DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int most(int a, int b) { return a > b ? a : b; }
DEVICE int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
DEVICE float least(float a, float b) { return __builtin_fminf(a, b); }
DEVICE float most(float a, float b) { return __builtin_fmaxf(a, b); }

DEVICE uint32_t load_sample(const uint8_t *p) { return BYTES == 1 ? load_u8(p) : load_u16(p); }
struct plane {
	const uint8_t *at;
	int pitch, width, height;
};
DEVICE plane plane_of(const vd_plane &p, uint64_t picture, int phase) {
	return {(const uint8_t *)(picture + p.offset + (uint32_t)phase * p.phase), p.pitch, p.width, p.height};
}
DEVICE const uint8_t *row_of(const plane &p, int y) { return p.at + (int64_t)y * p.pitch; }
// clamped returns a sample, beyond the edges the nearest one.
DEVICE uint32_t clamped(const plane &p, int x, int y) {
	return load_sample(row_of(p, clamp(y, 0, p.height - 1)) + clamp(x, 0, p.width - 1) * BYTES);
}

// tile is a block's place in the launch's planes.
struct tile {
	int plane, x, y;
};
DEVICE tile tile_of(const vd_args &args) {
	int block = block_x(), c = block >= args.begin[2] ? 2 : block >= args.begin[1] ? 1 : 0;
	int rest = block - args.begin[c], y = rest / args.across[c];
	return {c, rest - y * args.across[c], y};
}

// A vector in half-pels, or in pels inside the search.
struct vector {
	int x, y;
};
DEVICE bool operator==(vector a, vector b) { return a.x == b.x && a.y == b.y; }
DEVICE uint32_t packed(vector v) { return (uint32_t)(uint16_t)v.x | (uint32_t)v.y << 16; }
DEVICE vector unpacked(uint32_t v) { return {(int16_t)v, (int16_t)(v >> 16)}; }
DEVICE int phase_of(vector v) { return (v.x & 1) | (v.y & 1) << 1; }

// divide rounds to the nearest integer, halves away from zero; b is positive.
DEVICE int divide(int a, int b) { return a < 0 ? -((-2 * a + b) / (2 * b)) : (2 * a + b) / (2 * b); }
// shifted is divide by 1 << shift.
DEVICE int shifted(int a, int shift) {
	int sign = a >> 31, size = (a ^ sign) - sign;
	return ((size + ((1 << shift) >> 1)) >> shift ^ sign) - sign;
}

// cells is the number of cells that cover samples.
DEVICE int cells(int samples, int side) { return (samples + side - 1) / side; }

// fits reports whether a neighbour resembles the frame.
DEVICE bool fits(const vd_args &args, int neighbour) {
	uint2 sum = read_u64((const uint8_t *)(args.gates + 8 * args.from[neighbour]));
	return (int64_t)((uint64_t)sum.y << 32 | sum.x) <= args.misfit;
}
