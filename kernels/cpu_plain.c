// The filter in plain C with vectors of four, which every compiler target has or can take apart. It also holds what does
// not depend on the instruction set.
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#define VL 4
#define TILE vf_tile_plain
#define FMA_RATE vf_fma_rate_plain
#include "cpu_tile.h"

int vf_has(int isa)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	switch (isa) {
	case VF_AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
	case VF_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	}
#endif
	return isa == VF_PLAIN;
}

void vf_tile(int isa, const vf_job *job, void *scratch, int x0, int y0, int x1, int y1)
{
#ifdef __x86_64__
	if (isa == VF_AVX512) {
		vf_tile_avx512(job, scratch, x0, y0, x1, y1);
		return;
	}
	if (isa == VF_AVX2) {
		vf_tile_avx2(job, scratch, x0, y0, x1, y1);
		return;
	}
#endif
	vf_tile_plain(job, scratch, x0, y0, x1, y1);
}

int vf_fma_rate(int isa, long n)
{
#ifdef __x86_64__
	if (isa == VF_AVX512) return vf_fma_rate_avx512(n);
	if (isa == VF_AVX2) return vf_fma_rate_avx2(n);
#endif
	(void)isa;
	return vf_fma_rate_plain(n);
}

size_t vf_scratch_size(void) { return (sizeof(scratch) + 63) / 64 * 64; }

int vf_tile_width(void) { return MAX_TILE; }

void *vf_alloc(size_t size)
{
	void *p;
	return posix_memalign(&p, 64, size) ? NULL : p;
}

void vf_free(void *p) { free(p); }
