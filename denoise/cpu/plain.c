// The denoiser in plain C, in vectors that the compiler splits as the target needs. This file also
// holds the functions that do not depend on the instruction set.
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#include <string.h>
#define VL 8
#define NAME(f) f##_plain
#include "kernels.h"

#ifdef __x86_64__
#define CHOOSE(isa, name, ...) \
	switch (isa) { \
	case VD_AVX512: return name##_avx512(__VA_ARGS__); \
	case VD_AVX2: return name##_avx2(__VA_ARGS__); \
	default: return name##_plain(__VA_ARGS__); \
	}
#else
#define CHOOSE(isa, name, ...) return name##_plain(__VA_ARGS__);
#endif

void vd_smooth(int isa, vd_plane to, vd_plane from, int coarse, int y0, int y1)
{
	CHOOSE(isa, vd_smooth, to, from, coarse, y0, y1)
}

void vd_halve(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, vd_halve, to, from, y0, y1)
}

void vd_right(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, vd_right, to, from, y0, y1)
}

void vd_down(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, vd_down, to, from, y0, y1)
}

void vd_find(int isa, const vd_search *s, int level, int y0, int y1)
{
	CHOOSE(isa, vd_find, s, level, y0, y1)
}

void vd_refine(int isa, const vd_search *s, int y0, int y1) { CHOOSE(isa, vd_refine, s, y0, y1) }
int64_t vd_misfit(int isa, const vd_search *s, int y0, int y1) { CHOOSE(isa, vd_misfit, s, y0, y1) }

void vd_fuse(int isa, const vd_pass *p, vd_sums s, int top, int y)
{
	CHOOSE(isa, vd_fuse, p, s, top, y)
}

void vd_finish(int isa, const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	CHOOSE(isa, vd_finish, p, s, top, y0, y1)
}

void vd_load(vd_plane to, const uint8_t *from, ptrdiff_t pitch, int step, int width, int height)
{
	for (int y = 0; y < to.height; y++) {
		sample *row = row_of(to, y);
		if (y >= height) {
			memcpy(row, row_of(to, height - 1), to.width * sizeof *row);
			continue;
		}
		const uint8_t *in = from + y * pitch;
		if (step == 1) memcpy(row, in, width);
		else for (int x = 0; x < width; x++) row[x] = in[2 * x]; // NV12
		for (int x = width; x < to.width; x++) row[x] = row[width - 1];
	}
}

void vd_save(uint8_t *to, ptrdiff_t pitch, int step, vd_plane from, int width, int height)
{
	for (int y = 0; y < height; y++) {
		const sample *row = row_of(from, y);
		uint8_t *out = to + y * pitch;
		if (step == 1) memcpy(out, row, width);
		else for (int x = 0; x < width; x++) out[2 * x] = row[x];
	}
}

void vd_pad(vd_plane p)
{
	for (int y = 0; y < p.height; y++) {
		sample *row = row_of(p, y);
		for (int i = 1; i <= VD_PAD; i++) row[-i] = row[0];
		for (int i = 0; i < 2 * VD_PAD; i++) row[p.width + i] = row[p.width - 1];
	}
	size_t whole = (p.width + 3 * VD_PAD) * sizeof(sample);
	for (int i = 1; i <= VD_PAD; i++) {
		memcpy(row_of(p, -i) - VD_PAD, row_of(p, 0) - VD_PAD, whole);
		memcpy(row_of(p, p.height - 1 + i) - VD_PAD, row_of(p, p.height - 1) - VD_PAD, whole);
	}
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
