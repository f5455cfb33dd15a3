// The picture of a field: its own rows, and the missing ones by Weston's filter, from the field's
// rows around them and those of both neighbours there.
//
// A thread makes 4 samples of a row.
#include "lines.h"

enum { WIDTH = 128, HEIGHT = 8, THREADS = 256 };

DEVICE void add(int *sums, int weight, const four &s) {
	UNROLL
	for (int i = 0; i < 4; i++) sums[i] += weight * s.v[i];
}

// made is the row between rows y - 1 and y of the field, which is row there of its neighbours.
DEVICE four made(const vi_args &args, int c, int x, int y, int there) {
	const int low[4] = {-7, 135, 135, -7}, high[5] = {8, -30, 44, -30, 8}; // as in interlace/plain.go
	plane now = plane_of(args, args.now, c, args.bottom);
	plane before = plane_of(args, args.before, c, 1 - args.bottom), after = plane_of(args, args.after, c, 1 - args.bottom);
	int sums[4] = {128, 128, 128, 128};
	UNROLL
	for (int i = 0; i < 4; i++) add(sums, low[i], row_at(now, x, y - 2 + i));
	UNROLL
	for (int i = 0; i < 5; i++) {
		add(sums, high[i], row_at(before, x, there - 2 + i));
		add(sums, high[i], row_at(after, x, there - 2 + i));
	}
	four s;
	UNROLL
	for (int i = 0; i < 4; i++) s.v[i] = clamp(sums[i] >> 8, 0, (1 << args.depth) - 1);
	return s;
}

DEVICE void put(const vi_args &args, const vi_samples &to, int x, int y, const four &s) {
	uint8_t *p = (uint8_t *)to.at + (int64_t)y * to.pitch + (int64_t)x * to.step;
	UNROLL
	for (int i = 0; i < 4; i++) {
		if (x + i >= to.width) return;
		if (BYTES == 1)
			store_u8(p + i * to.step, s.v[i]);
		else
			store_u16(p + i * to.step, (uint32_t)s.v[i] << args.shift);
	}
}

KERNEL_OF(vi_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	const vi_samples &to = args.result[t.plane];
	int x = t.x * WIDTH + thread_x() % 32 * 4, y = t.y * HEIGHT + thread_x() / 32;
	if (x >= to.width || y >= to.height) return;
	int bottom = to.height > 1 ? args.bottom : 0;
	bool own = (y & 1) == bottom;
	put(args, to, x, y, own ? row_at(plane_of(args, args.now, t.plane, args.bottom), x, y / 2) : made(args, t.plane, x, y / 2 - bottom + 1, y / 2));
}
