// Operations that are forbidden to warps and blocks, and accesses that are forbidden to kernels.
#include "args.h"

KERNEL(part, 64, 1) {
	int i = thread_x();
	const uint8_t *in = (const uint8_t *)args.in;
	uint8_t *out = (uint8_t *)args.out;
	switch (args.what) {
	case 0: // half of a warp shuffles
		if (i < 16) store(args, i, shuffle(i, 0));
		break;
	case 1: // two operations at once
		store(args, i, i < 40 ? shuffle_up(i, 1) : shuffle_down(i, 1));
		break;
	case 2: // a warp that does not come to the barrier
		if (i < 32) barrier();
		break;
	case 3: // the barrier in one part of a warp only
		if (i % 2) barrier();
		break;
	case 4: load_u32(in + args.count); break;
	case 5: store_u32(out + args.count, 0); break;
	case 6: load_u16(in + 1); break;
	case 7: store_u128(out + 8, uint4{0, 0, 0, 0}); break;
	case 8: shared_memory()[args.count] = 1; break;
	case 9: {
		uint32_t d[4];
		load_matrices<4, false>(d, shared_memory() + args.count);
		break;
	}
	case 10: store(args, block_y() * 64 + i, block_x()); break;
	case 11: store(args, i, shuffle(i, 0)); break;
	}
}
