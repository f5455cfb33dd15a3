// The levels above level_now: each is the means of 2 x 2 samples of the one below. A block makes
// the six levels above 64 x 64 samples, which it reads once.
#include "picture.h"

enum { SIDE = 64, THREADS = 256 };

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	plane from = plane_of(args.level[args.level_now], args.centre, 0);
	uint8_t *tile = (uint8_t *)shared_memory();
	for (int i = thread_x(); i < SIDE * SIDE; i += THREADS)
		tile[i] = (uint8_t)clamped(from, t.x * SIDE + i % SIDE, t.y * SIDE + i / SIDE);
	for (int n = 1; n <= 6 && args.level_now + n < args.levels; n++) {
		const vd_plane &to = args.level[args.level_now + n];
		plane out = plane_of(to, args.centre, 0);
		int side = SIDE >> n;
		uint8_t *above = tile + SIDE * SIDE; // alternating
		const uint8_t *below = n % 2 ? tile : above;
		uint8_t *next = n % 2 ? above : tile;
		barrier();
		for (int i = thread_x(); i < side * side; i += THREADS) {
			int x = i % side, y = i / side;
			const uint8_t *p = below + 2 * y * 2 * side + 2 * x;
			uint8_t mean = (uint8_t)((p[0] + p[1] + p[2 * side] + p[2 * side + 1] + 2) >> 2);
			next[i] = mean;
			x += t.x * side, y += t.y * side;
			if (x < to.width && y < to.height) store_u8((uint8_t *)row_of(out, y) + x, mean);
		}
	}
}
