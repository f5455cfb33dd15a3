// Machine functions beyond device.h for the denoiser's and the deinterlacer's kernels, on a GPU and
// in the test driver.
#pragma once

#include "device.h"

#ifdef VF_CPU

DEVICE uint32_t sad4(uint32_t a, uint32_t b, uint32_t c) {
	return c + __builtin_reduce_add(__builtin_convertvector(__builtin_bit_cast(vf_bytes, absdiff4(a, b)), uint4));
}
DEVICE int32_t dot2_low(uint32_t a, uint32_t b, int32_t c) { return c + (int32_t)(a & 0xffff) * (int8_t)b + (int32_t)(a >> 16) * (int8_t)(b >> 8); }
DEVICE int32_t dot2_high(uint32_t a, uint32_t b, int32_t c) { return dot2_low(a, b >> 16, c); }
DEVICE uint32_t select(bool first, uint32_t a, uint32_t b) { return first ? a : b; }
DEVICE uint32_t funnel(uint32_t low, uint32_t high, int bits) { return (uint32_t)(((uint64_t)high << 32 | low) >> (bits & 31)); }
DEVICE int32_t nearest(float x) { return (int32_t)__builtin_rintf(x); }
DEVICE void add_u64(uint8_t *p, uint64_t v) { __atomic_fetch_add(vf_at<uint64_t>(p, 1), v, __ATOMIC_RELAXED); }
DEVICE void add_shared(int32_t *p, int32_t v) { *p += v; }
DEVICE uint32_t shuffle_xor(uint32_t v, int bits) { return shuffle(v, thread_x() % 32 ^ bits); }
DEVICE uint32_t ballot(bool yes) {
	uint32_t all = (uint32_t)yes << thread_x() % 32;
	for (int i = 1; i < 32; i *= 2) all |= shuffle_xor(all, i);
	return all;
}

#else

typedef short int16_t;

// sad4 returns c + the sum of |a - b| over bytes.
WORD_FUNCTION(uint32_t, sad4, uint32_t, "vabsdiff4.u32.u32.u32.add")
// dot2_low returns c + the sum of the unsigned halves of a times the signed bytes 0 and 1 of b,
// dot2_high times bytes 2 and 3.
WORD_FUNCTION(int32_t, dot2_low, int32_t, "dp2a.lo.u32.s32")
WORD_FUNCTION(int32_t, dot2_high, int32_t, "dp2a.hi.u32.s32")
// select returns one of two words. Were they words of arrays, the compiler would read one of a
// computed place instead, for which the arrays would have to lie in memory.
DEVICE uint32_t select(bool first, uint32_t a, uint32_t b) {
	uint32_t d;
	asm("{.reg .pred p; setp.ne.s32 p, %3, 0; selp.b32 %0, %1, %2, p;}" : "=r"(d) : "r"(a), "r"(b), "r"((int)first));
	return d;
}
// funnel returns the low word of b:a shifted right by 0 to 31 bits.
WORD_FUNCTION(uint32_t, funnel, int, "shf.r.wrap.b32")
// nearest rounds to the nearest integer, halves to even.
DEVICE int32_t nearest(float x) {
	int32_t d;
	asm("cvt.rni.s32.f32 %0, %1;" : "=r"(d) : "f"(x));
	return d;
}

// Warp: the value of the lane whose number differs in these bits.
DEVICE uint32_t shuffle_xor(uint32_t v, int bits) { return __nvvm_shfl_sync_bfly_i32(~0u, v, bits, 31); }
// Warp: a bit for each lane with a true value.
DEVICE uint32_t ballot(bool yes) { return (uint32_t)__nvvm_vote_ballot_sync(~0u, yes); }

// Additions by many threads to one place, in global or shared memory.
DEVICE void add_u64(uint8_t *p, uint64_t v) { asm volatile("red.global.add.u64 [%0], %1;" : : "l"((VF_GLOBAL uint8_t *)p), "l"(v) : "memory"); }
DEVICE void add_shared(int32_t *p, int32_t v) {
	auto shared = (__attribute__((address_space(3))) int32_t *)p;
	asm volatile("red.shared.add.s32 [%0], %1;" : : "r"((uint32_t)(uint64_t)shared), "r"(v) : "memory");
}

#endif
