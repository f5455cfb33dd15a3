// The functions that do not depend on the instruction set, and those that choose by it and by the
// depth of the samples.
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#include "cpu.h"

#define BY_DEPTH(job, name, ...) \
	do { \
		if ((job)->depth > 8) name##_16(__VA_ARGS__); \
		else name##_8(__VA_ARGS__); \
	} while (0)

#ifdef __x86_64__
#define CHOOSE(isa, job, name, ...) \
	switch (isa) { \
	case VF_AVX512: BY_DEPTH(job, name##_avx512, __VA_ARGS__); break; \
	case VF_AVX2: BY_DEPTH(job, name##_avx2, __VA_ARGS__); break; \
	default: BY_DEPTH(job, name##_plain, __VA_ARGS__); \
	}
#else
#define CHOOSE(isa, job, name, ...) BY_DEPTH(job, name##_plain, __VA_ARGS__);
#endif

void vf_tile(int isa, const vf_job *job, void *scratch, int x0, int y0, int x1, int y1)
{
	CHOOSE(isa, job, vf_tile, job, scratch, x0, y0, x1, y1)
}

void vf_rows(int isa, const vf_job *job, const vf_pass *pass, void *scratch, void *lanes, int y, int load)
{
	CHOOSE(isa, job, vf_rows, job, pass, scratch, lanes, y, load)
}

void vf_columns(int isa, const vf_job *job, const vf_pass *pass, void *scratch, void *lanes, int x, int save)
{
	CHOOSE(isa, job, vf_columns, job, pass, scratch, lanes, x, save)
}

size_t vf_scratch_size(void) { return (vf_scratch_plain_16() + 63) / 64 * 64; }

size_t vf_lanes_size(int width, int height)
{
	size_t padded = ((size_t)width + VF_STRIP - 1) / VF_STRIP * VF_STRIP, longest = width > height ? width : height;
	return padded * 3 * VF_STRIP * sizeof(uint16_t) + longest * 3 * VF_STRIP * sizeof(float);
}

void *vf_alloc(size_t size)
{
	void *p;
	return posix_memalign(&p, 64, size) ? NULL : p;
}

void vf_free(void *p) { free(p); }
