// The means of the sums, which it clears for the next pass. With VF_PILOT they become the pilot, of
// pilot_bits a sample, and its luma in bytes; otherwise the result, to which the source gives its
// grain, or, in planes that are not filtered, the source itself. With VF_PILOT 2 the sums are
// cleared, no more.
//
// A thread makes 8 samples of a column, and reads and clears 8 bytes for each.
#include "picture.h"

enum { WIDTH = 256, HEIGHT = 8, THREADS = 256 };

// rounded is a value in 8-bit levels as a sample of that depth. The fraction is cut off.
DEVICE uint32_t rounded(float value, float rounding, int bits) {
	float v = __builtin_floorf(value * (float)(1 << (bits - 8)) + rounding);
	return (uint32_t)least(most(v, 0.0f), (float)((1 << bits) - 1));
}

// rounding_at is the rounding of denoise/rounding.go.
DEVICE float rounding_at(float dither, int x, int y) {
	int order = 0;
	UNROLL
	for (int bit = 0; bit < 3; bit++) order = order << 2 | ((x ^ y) >> bit & 1) << 1 | (y >> bit & 1);
	return 0.5f + dither * (((float)order + 0.5f) / 64 - 0.5f);
}

// The sources of a sample.
struct input {
	uint2 sum;
	uint32_t source;
};
DEVICE uint8_t *sum_at(const vd_args &args, int c, int x, int y) { return (uint8_t *)(args.sums[c] + 8 * ((uint64_t)y * args.noisy[c].width + x)); }
DEVICE uint8_t *pilot_at(const vd_args &args, int c, int x, int y) { return (uint8_t *)(args.pilot[c] + (int64_t)y * args.pilot_pitch[c] + 2 * x); }

DEVICE input read(const vd_args &args, int c, int x, int y) {
	input in = {};
	if (VF_PILOT < 2 && args.planes >> c & 1) in.sum = read_u64(sum_at(args, c, x, y));
	if (VF_PILOT) return in;
	in.source = load_sample(row_of(plane_of(args.noisy[c], args.centre, 0), y) + x * BYTES);
	return in;
}

DEVICE void put(const vd_args &args, int c, int x, int y, const input &in) {
	bool filtered = args.planes >> c & 1;
	if (filtered) store_u64(sum_at(args, c, x, y), uint2{0, 0});
	if (VF_PILOT == 2) return;
	float mean = 128.0f + (float)(int32_t)in.sum.y / (float)in.sum.x;
	if (VF_PILOT) {
		uint32_t v = rounded(mean, 0.5f, args.pilot_bits);
		store_u16(pilot_at(args, c, x, y), v);
		int shift = args.pilot_bits - 8;
		v = (uint32_t)least((int)(v + (1 << (shift - 1))) >> shift, 255);
		if (c == 0) store_u8((uint8_t *)(args.pilot_luma + (int64_t)y * args.level[0].pitch) + x, v);
		return;
	}
	const vd_samples &to = args.result[c];
	if (x >= to.width || y >= to.height) return;
	uint32_t v = in.source << (args.result_depth - args.depth);
	if (filtered) {
		float value = mean;
		value += args.grain * ((float)in.source / (float)(1 << (args.depth - 8)) - value);
		v = rounded(value, rounding_at(args.dither, x, y), args.result_depth);
	}
	uint8_t *at = (uint8_t *)to.at + (int64_t)y * to.pitch + x * to.step;
	if (BYTES == 1 && args.result_depth == 8)
		store_u8(at, v);
	else
		store_u16(at, v << args.result_shift);
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	const vd_plane &p = args.noisy[t.plane];
	int x = t.x * WIDTH + thread_x(), y = t.y * HEIGHT;
	if (x >= p.width) return;
	input in[HEIGHT]; // all on their way at once
	UNROLL
	for (int i = 0; i < HEIGHT; i++) in[i] = read(args, t.plane, x, least(y + i, p.height - 1));
	UNROLL
	for (int i = 0; i < HEIGHT; i++)
		if (y + i < p.height) put(args, t.plane, x, y + i, in[i]);
}
