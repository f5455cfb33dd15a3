// The rims of the planes that the search reads: VD_RIM samples beyond each edge, the same as
// there. A warp takes a row at a time.
#include "picture.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

// word_at assembles a word of a row, with clamped places.
DEVICE uint32_t word_at(const plane &p, int byte, int y) {
	uint32_t word = 0;
	UNROLL
	for (int i = 0; i < 4; i++) word |= clamped(p, byte + i, y) << 8 * i;
	return word;
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	int level = most(block_y() - 3, 0), phase = level ? 0 : block_y();
	plane p = plane_of(args.level[level], args.centre, phase);
	for (int row = block_x() * WARPS + thread_x() / 32; row < p.height + 2 * VD_RIM; row += args.count * WARPS) {
		int y = row - VD_RIM, end = p.width & ~3;
		bool inside = y >= 0 && y < p.height; // only the ends
		int skipped = inside ? end : 0;
		for (int byte = thread_x() % 32 * 4 - VD_RIM; byte + skipped < p.width + VD_RIM; byte += 128) {
			int at = byte < 0 ? byte : byte + skipped;
			store_u32((uint8_t *)row_of(p, y) + at, word_at(p, at, y));
		}
	}
}
