// The functions that do not depend on the instruction set, and those that choose by it and by the
// depth of the samples.
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#include <string.h>
#include "cpu.h"

#define BY_DEPTH(plane, name, ...) \
	do { \
		if ((plane).depth > 8) return name##_16(__VA_ARGS__); \
		return name##_8(__VA_ARGS__); \
	} while (0)

#ifdef __x86_64__
#define CHOOSE(isa, plane, name, ...) \
	switch (isa) { \
	case VD_AVX512: BY_DEPTH(plane, name##_avx512, __VA_ARGS__); \
	case VD_AVX2: BY_DEPTH(plane, name##_avx2, __VA_ARGS__); \
	default: BY_DEPTH(plane, name##_plain, __VA_ARGS__); \
	}
#else
#define CHOOSE(isa, plane, name, ...) BY_DEPTH(plane, name##_plain, __VA_ARGS__);
#endif

void vd_load(int isa, vd_plane to, const uint8_t *from, ptrdiff_t pitch, int step, int shift, int width, int height)
{
	CHOOSE(isa, to, vd_load, to, from, pitch, step, shift, width, height)
}

void vd_save(int isa, uint8_t *to, ptrdiff_t pitch, int step, int shift, vd_plane from, int width, int height)
{
	CHOOSE(isa, from, vd_save, to, pitch, step, shift, from, width, height)
}

void vd_pad(int isa, vd_plane p) { CHOOSE(isa, p, vd_pad, p) }

void vd_smooth(int isa, vd_plane to, vd_plane from, int coarse, int y0, int y1)
{
	CHOOSE(isa, from, vd_smooth, to, from, coarse, y0, y1)
}

void vd_halve(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vd_halve, to, from, y0, y1)
}

void vd_right(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vd_right, to, from, y0, y1)
}

void vd_down(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vd_down, to, from, y0, y1)
}

void vd_find(int isa, const vd_search *s, int level, int y0, int y1)
{
	CHOOSE(isa, s->from[0], vd_find, s, level, y0, y1)
}

void vd_refine(int isa, const vd_search *s, int y0, int y1) { CHOOSE(isa, s->pilot, vd_refine, s, y0, y1) }
int64_t vd_misfit(int isa, const vd_search *s, int y0, int y1) { CHOOSE(isa, s->from[0], vd_misfit, s, y0, y1) }

void vd_fuse(int isa, const vd_pass *p, vd_sums s, int top, int y)
{
	CHOOSE(isa, p->noisy, vd_fuse, p, s, top, y)
}

void vd_finish(int isa, const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	CHOOSE(isa, p->noisy, vd_finish, p, s, top, y0, y1)
}

void vd_clear(vd_sums s, int width, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		memset(s.weights + y * s.pitch, 0, width * sizeof *s.weights);
		memset(s.values + y * s.pitch, 0, width * sizeof *s.values);
	}
}

void vd_copy(vd_sums to, vd_sums from, int width, int rows)
{
	for (int y = 0; y < rows; y++) {
		memcpy(to.weights + y * to.pitch, from.weights + y * from.pitch, width * sizeof *to.weights);
		memcpy(to.values + y * to.pitch, from.values + y * from.pitch, width * sizeof *to.values);
	}
}

void vd_add(vd_sums to, vd_sums from, int width, int rows)
{
	for (int y = 0; y < rows; y++) {
		for (int x = 0; x < width; x++) {
			to.weights[y * to.pitch + x] += from.weights[y * from.pitch + x];
			to.values[y * to.pitch + x] += from.values[y * from.pitch + x];
		}
	}
}

void *vd_alloc(size_t size)
{
	void *p;
	return posix_memalign(&p, 64, size) ? NULL : p;
}

void vd_free(void *p) { free(p); }
