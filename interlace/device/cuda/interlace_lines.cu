// Copies the samples of a field's own rows to the field's memory. The copies are adjacent, shifted
// right, and clamped to the depth.
#include "lines.h"

enum { WIDTH = 128, HEIGHT = 8, THREADS = 256 };

KERNEL_OF(vi_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	const vi_samples &from = args.source[t.plane];
	int x = t.x * WIDTH + thread_x() % 32 * 4, y = t.y * HEIGHT + thread_x() / 32;
	if (x >= from.width || y >= from.height) return;
	const uint8_t *p = (const uint8_t *)from.at + (int64_t)y * from.pitch;
	four s;
	UNROLL
	for (int i = 0; i < 4; i++) {
		const uint8_t *at = p + (int64_t)least(x + i, from.width - 1) * from.step;
		s.v[i] = BYTES == 1 ? (int)load_u8(at) : least((int)(load_u16(at) >> args.shift), (1 << args.depth) - 1);
	}
	const vi_plane &to = args.plane[t.plane];
	store_four((uint8_t *)(args.now + to.offset) + (int64_t)y * to.pitch + x * BYTES, s);
}
