// The functions that do not depend on the instruction set, and those that choose by it and by the
// depth of the samples.
#define _POSIX_C_SOURCE 200112L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cpu.h"

#ifdef __x86_64__
#define BY_ISA(isa, name, bits, ...) \
	switch (isa) { \
	case VD_AVX512: return name##_avx512_##bits(__VA_ARGS__); \
	case VD_AVX2: return name##_avx2_##bits(__VA_ARGS__); \
	default: return name##_plain_##bits(__VA_ARGS__); \
	}
#else
#define BY_ISA(isa, name, bits, ...) return name##_plain_##bits(__VA_ARGS__);
#endif

#define CHOOSE(isa, plane, name, ...) \
	if ((plane).depth > 8) BY_ISA(isa, name, 16, __VA_ARGS__) \
	BY_ISA(isa, name, 8, __VA_ARGS__)

void vd_load(int isa, vd_plane to, const uint8_t *from, ptrdiff_t pitch, int step, int shift, int width, int height)
{
	CHOOSE(isa, to, vd_load, to, from, pitch, step, shift, width, height)
}

void vd_save(int isa, uint8_t *to, ptrdiff_t pitch, int step, int size, int shift, vd_plane from, int width, int height)
{
	CHOOSE(isa, from, vd_save, to, pitch, step, size, shift, from, width, height)
}

void vd_pad(int isa, vd_plane p) { CHOOSE(isa, p, vd_pad, p) }

void vd_smooth(int isa, vd_plane to, vd_plane from, int coarse, int y0, int y1)
{
	CHOOSE(isa, from, vd_smooth, to, from, coarse, y0, y1)
}

void vd_halve(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	BY_ISA(isa, vd_halve, 8, to, from, y0, y1)
}

void vd_right(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vd_right, to, from, y0, y1)
}

void vd_down(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vd_down, to, from, y0, y1)
}

void vd_shrink(int isa, vd_plane to, vd_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vd_shrink, to, from, y0, y1)
}

void vd_difference(int isa, vd_change c, vd_plane of, vd_plane half, int y0, int y1)
{
	CHOOSE(isa, of, vd_difference, c, of, half, y0, y1)
}

void vd_apply(int isa, vd_plane p, vd_change c, int y0, int y1)
{
	CHOOSE(isa, p, vd_apply, p, c, y0, y1)
}

void vd_sum(int isa, uint16_t *to, vd_plane from, int fresh, int y0, int y1)
{
	CHOOSE(isa, from, vd_sum, to, from, fresh, y0, y1)
}

void vd_find(int isa, const vd_search *s, int level, int y0, int y1)
{
	BY_ISA(isa, vd_find, 8, s, level, y0, y1)
}

void vd_refine(int isa, const vd_search *s, int y0, int y1) { BY_ISA(isa, vd_refine, 8, s, y0, y1) }
int64_t vd_misfit(int isa, const vd_search *s, int y0, int y1) { BY_ISA(isa, vd_misfit, 8, s, y0, y1) }

void vd_fuse(int isa, const vd_pass *p, vd_sums s, int top, int y)
{
	CHOOSE(isa, p->noisy, vd_fuse, p, s, top, y)
}

void vd_finish(int isa, const vd_pass *p, vd_sums s, int top, int y0, int y1)
{
	CHOOSE(isa, p->noisy, vd_finish, p, s, top, y0, y1)
}

void vd_set_scales(vd_pass *p)
{
	const double pi = 3.14159265358979323846;
	const double c0 = sqrt(0.125), c2 = cos(pi / 8) / 2, c3 = cos(3 * pi / 16) / 2, c1 = c3 / sqrt(2);
	const double scale[8] = {c0, c1, c2, c3, c0, c3, c2, c1}; // that dct8_scaled leaves out
	for (int i = 0; i < 64; i++) {
		double both = scale[i / 8] * scale[i % 8], sigma = sqrt(p->variance[i]);
		p->unit_of[i] = p->level * both / sigma, p->back[i] = both * sigma;
	}
}

// below is 2^-shift in the unit of 1 << 15, a little less: halves are rounded to zero then, on both
// sides.
static int below(int shift) { return (1 << (15 - shift)) - 1; }

// unit_of returns a unit in which noise of sigma is about least to twice as much, and which is
// finer before the second of the two transforms, where range sigmas have room. A level
// is 1 << bits in the differences.
static vd_unit unit_of(int bits, float sigma, float least, float range)
{
	vd_unit u = {.enlarge = 1};
	// without enlarging and reducing, a level is 128
	int up = -1 - (int)floorf(log2f(sigma * 128 / least)), first = 0;
	up = up > 3 ? 3 : up < -8 ? -8 : up;
	while (first < 3 && range * sigma * (2 << first) <= 724) first++;
	if (first < up) first = up;
	u.level = ldexpf(128, up);
	if (first + 4 >= bits) u.enlarge = 1 << (first + 4 - bits);
	else u.lessen = below(bits - 4 - first), u.level *= ldexpf(u.lessen, bits - 4 - first - 15);
	if (up < first) u.reduce = below(first - up), u.level *= ldexpf(u.reduce, first - up - 15);
	return u;
}

// Few of the frame's own changes are large, and they count for the most.
void vd_set_units(vd_pass *p)
{
	const float most = 11400; // the squares of 16 fit into 32 bits
	float sum = 0, least = p->variance[0];
	for (int i = 0; i < 256; i++) {
		sum += p->variance[i];
		if (p->variance[i] < least) least = p->variance[i];
	}
	float sigma = sqrtf(sum / 256);
	int bits = p->noisy.depth + VD_PILOT_BITS < 15 ? p->noisy.depth + VD_PILOT_BITS - 8 : 7;
	p->own_unit = unit_of(bits, sigma, 2000, 12), p->near_unit = unit_of(bits, sigma, 500, 32);
	for (int i = 0; i < 256; i++) p->whiten[i] = lrintf(most * sqrtf(least / p->variance[i]));
	p->white = least * p->near_unit.level * p->near_unit.level * most * most / 32768 / 32768;
}

void vd_deepen(vd_plane to, vd_plane from, int y0, int y1)
{
	int shift = to.depth - from.depth;
	for (int y = y0; y < y1; y++) {
		const uint8_t *bytes = (const uint8_t *)from.at + y * from.pitch;
		const uint16_t *words = (const uint16_t *)from.at + y * from.pitch;
		uint16_t *restrict out = (uint16_t *)to.at + y * to.pitch;
		if (to.depth == 8) memcpy((uint8_t *)to.at + y * to.pitch, bytes, to.width);
		else if (from.depth == 8) for (int x = 0; x < to.width; x++) out[x] = bytes[x] << shift;
		else for (int x = 0; x < to.width; x++) out[x] = words[x] << shift;
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
