// The filter in plain C with vectors of four, which every target of the compiler has or can
// emulate. This file also holds the functions that do not depend on the instruction set.
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#define VL 4
#define TILE vf_tile_plain
#define FMA_RATE vf_fma_rate_plain
#define ROWS vf_rows_plain
#define COLUMNS vf_columns_plain
#include "cpu_tile.h"
#include "cpu_recursive.h"

#ifdef __x86_64__
#define CHOOSE(isa, name, ...) \
	switch (isa) { \
	case VF_AVX512: name##_avx512(__VA_ARGS__); break; \
	case VF_AVX2: name##_avx2(__VA_ARGS__); break; \
	default: name##_plain(__VA_ARGS__); \
	}
#else
#define CHOOSE(isa, name, ...) name##_plain(__VA_ARGS__);
#endif

void vf_tile(int isa, const vf_job *job, void *scratch, int x0, int y0, int x1, int y1)
{
	CHOOSE(isa, vf_tile, job, scratch, x0, y0, x1, y1)
}

void vf_rows(int isa, const vf_job *job, const vf_pass *pass, void *scratch, void *lanes, int y, int load)
{
	CHOOSE(isa, vf_rows, job, pass, scratch, lanes, y, load)
}

void vf_columns(int isa, const vf_job *job, const vf_pass *pass, void *scratch, void *lanes, int x, int save)
{
	CHOOSE(isa, vf_columns, job, pass, scratch, lanes, x, save)
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

size_t vf_lanes_size(int width, int height)
{
	size_t padded = ((size_t)width + VF_STRIP - 1) / VF_STRIP * VF_STRIP, longest = width > height ? width : height;
	return padded * 3 * VF_STRIP * sizeof(uint16_t) + longest * 3 * VF_STRIP * sizeof(float);
}

int vf_tile_width(void) { return MAX_TILE; }

void *vf_alloc(size_t size)
{
	void *p;
	return posix_memalign(&p, 64, size) ? NULL : p;
}

void vf_free(void *p) { free(p); }
