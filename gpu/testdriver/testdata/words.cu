// An operation of device.h, chosen by the args, on three words per thread: out = operation(a, b,
// c). Threads are x = 0 to 31, y = 0 to 1, to distinguish lanes from warps.
#include "args.h"

DEVICE uint32_t operation(const vf_args &args, uint32_t a, uint32_t b, uint32_t c) {
	float x = bits_float(a), y = bits_float(b), z = bits_float(c);
	switch (args.what) {
	case 0: return byte_perm(a, b, c);
	case 1: return absdiff4(a, b);
	case 2: return dot4(a, b, c);
	case 3: return (uint32_t)dot4_signed(a, b, (int32_t)c);
	case 4: return float_bits(fma(x, y, z));
	case 5: return float_bits(fma_unit(x, y, z));
	case 6: return float_bits(reciprocal(x));
	case 7: return float_bits(exp2(x));
	case 8: return half2_of(x, y);
	case 9: return float_bits(low_float(a));
	case 10: return float_bits(high_float(a));
	case 11: return half2_add(a, b);
	case 12: return half2_mul(a, b);
	case 13: return half2_fma(a, b, c);
	case 14: return half2_exp2(a);
	case 15: return shuffle_up(a, args.count);
	case 16: return shuffle_down(a, args.count);
	case 17: return shuffle(a, args.count);
	case 18: return shuffle(a, (int)(b & 31)); // each lane from another
	case 19: return (uint32_t)thread_x() | (uint32_t)thread_y() << 8 | (uint32_t)block_x() << 16 | (uint32_t)block_y() << 24;
	}
	return 0;
}

KERNEL(words, 64, 1) {
	int thread = thread_y() * 32 + thread_x() + 64 * (block_x() + 2 * block_y());
	store(args, thread, operation(args, load(args, 3 * thread), load(args, 3 * thread + 1), load(args, 3 * thread + 2)));
}
