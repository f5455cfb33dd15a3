// Writes the sum past[1]: the samples of a picture and, unless count is 0, the sum past[0] of
// several, of 16 bits a sample. Samples of more than 12 bits are rounded to that. Both sums may be
// the same.
//
// A thread takes 4 samples of a row: it reads and writes 8 bytes and reads 4 or 8 more.
#include "picture.h"

enum { WIDTH = 128, HEIGHT = 8, THREADS = 256, MOST_BITS = 12 };

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	const vd_plane &p = args.noisy[t.plane];
	int x = t.x * WIDTH + thread_x() % 32 * 4, y = t.y * HEIGHT + thread_x() / 32;
	if (x >= p.width || y >= p.height) return;
	const uint8_t *from = row_of(plane_of(p, args.centre, 0), y) + x * BYTES; // rows have room for four samples
	uint2 v;
	if (BYTES == 1) {
		uint32_t four = load_u32(from);
		v = uint2{byte_perm(four, 0, 0x4140), byte_perm(four, 0, 0x4342)};
	} else {
		int shift = most(args.depth - MOST_BITS, 0), half = 1 << shift >> 1, top = (1 << MOST_BITS) - 1;
		auto reduced = [&](uint32_t two) {
			return (uint32_t)least((int)((two & 0xffff) + half) >> shift, shift ? top : 0xffff) | (uint32_t)least((int)((two >> 16) + half) >> shift, shift ? top : 0xffff) << 16;
		};
		uint2 four = load_u64(from);
		v = uint2{reduced(four.x), reduced(four.y)};
	}
	int64_t at = (int64_t)y * args.pilot_pitch[t.plane] + 2 * x;
	if (args.count > 0) {
		uint2 sum = read_u64((const uint8_t *)args.past[0][t.plane] + at); // no half overflows
		v = uint2{sum.x + v.x, sum.y + v.y};
	}
	store_u64((uint8_t *)args.past[1][t.plane] + at, v);
}
