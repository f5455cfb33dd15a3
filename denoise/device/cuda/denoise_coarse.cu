// Pictures of half the size. With VF_COARSE 0 the sums of 2x2 samples of a picture become samples
// of 16 bits. With 1 the sums of a result are compared with the filtered half, and the differences
// kept; with 2 these are added to the result, interpolated. The arithmetic equals denoise/plane's.
//
// A thread makes 8 samples of a column.
#include "picture.h"

enum { WIDTH = 256, HEIGHT = 8, THREADS = 256, SHARE_BITS = 8 };

DEVICE uint8_t *sample_at(const vd_samples &p, int x, int y) { return (uint8_t *)p.at + (int64_t)y * p.pitch + x * p.step; }
DEVICE uint8_t *change_at(const vd_args &args, int c, int x, int y) { return (uint8_t *)args.change[c] + 4 * ((int64_t)y * args.source[c].width + x); }

// result is a sample of the result.
DEVICE int result(const vd_args &args, int c, int x, int y) { return (int)(load_sample(sample_at(args.result[c], x, y)) >> (BYTES == 1 ? 0 : args.shift)); }

// sum adds up the 2x2 samples that make one of the half.
template <typename F> DEVICE int sum(int x, int y, F sample) { return sample(2 * x, 2 * y) + sample(2 * x + 1, 2 * y) + sample(2 * x, 2 * y + 1) + sample(2 * x + 1, 2 * y + 1); }

DEVICE void shrink(const vd_args &args, int c, int x, int y) {
	plane from = plane_of(args.noisy[c], args.centre, 0);
	int shift = args.depth + 2 - args.half_depth, round = 1 << shift >> 1;
	int v = sum(x, y, [&](int x, int y) { return (int)load_sample(row_of(from, y) + x * BYTES); });
	store_u16(sample_at(args.source[c], x, y), (uint32_t)(v + round) >> shift);
}

DEVICE void compare(const vd_args &args, int c, int x, int y) {
	int half = (int)load_u16(sample_at(args.source[c], x, y)) << (args.depth + 2 - args.half_depth);
	int own = sum(x, y, [&](int x, int y) { return result(args, c, x, y); });
	store_u32(change_at(args, c, x, y), (uint32_t)(half - own));
}

DEVICE void apply(const vd_args &args, int c, int x, int y) {
	enum { BITS = 4 + 2 + SHARE_BITS }; // of the weights, the sums and the share
	int right = args.source[c].width - 1, bottom = args.source[c].height - 1;
	int u = least(x / 2, right), v = least(y / 2, bottom);
	int u1 = clamp(x / 2 + 2 * (x & 1) - 1, 0, right), v1 = clamp(y / 2 + 2 * (y & 1) - 1, 0, bottom);
	auto change = [&](int x, int y) { return (int)load_u32(change_at(args, c, x, y)); };
	int by = args.part[c] * (9 * change(u, v) + 3 * change(u1, v) + 3 * change(u, v1) + change(u1, v1));
	int to = clamp(result(args, c, x, y) + ((by + (1 << (BITS - 1))) >> BITS), 0, (1 << args.depth) - 1);
	if (BYTES == 1)
		store_u8(sample_at(args.result[c], x, y), (uint32_t)to);
	else
		store_u16(sample_at(args.result[c], x, y), (uint32_t)to << args.shift);
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	const vd_samples &p = VF_COARSE == 2 ? args.result[t.plane] : args.source[t.plane];
	int x = t.x * WIDTH + thread_x(), y = t.y * HEIGHT;
	if (x >= p.width) return;
	for (int i = 0; i < HEIGHT && y + i < p.height; i++) {
		if (VF_COARSE == 0) shrink(args, t.plane, x, y + i);
		if (VF_COARSE == 1) compare(args, t.plane, x, y + i);
		if (VF_COARSE == 2) apply(args, t.plane, x, y + i);
	}
}
