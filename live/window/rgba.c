#include "rgba.h"

#include <string.h>

enum { bits = 14, half = 1 << (bits - 1), chunk = 1024 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { at_r = 0, at_g = 8, at_b = 16, at_a = 24 };
#else
enum { at_r = 24, at_g = 16, at_b = 8, at_a = 0 };
#endif

static inline int clamp(int x) { return x < 0 ? 0 : x > 255 ? 255 : x; }

// Spreads chroma over its n columns; from is the sample of the first, which is even.
static void spread(uint8_t *restrict to, const uint8_t *restrict from, int n, int shift, int step)
{
	if (shift == 0 && step == 1) {
		memcpy(to, from, n);
	} else if (shift == 1 && step == 1) {
		for (int i = 0; i < (n + 1) / 2; i++)
			to[2 * i] = to[2 * i + 1] = from[i];
	} else {
		for (int i = 0; i < n; i++)
			to[i] = from[(i >> shift) * step];
	}
}

// A short row, in cache; a loop that the compiler turns into SIMD.
static inline __attribute__((always_inline)) void convert(uint8_t *restrict out, const struct vf_yuv *f, const uint8_t *restrict y,
	const uint8_t *restrict u, const uint8_t *restrict v, int n)
{
	uint32_t pixel[chunk];
	const int black = f->black, ky = f->y, rv = f->rv, gu = f->gu, gv = f->gv, bu = f->bu;
	for (int i = 0; i < n; i++) {
		int l = (y[i] - black) * ky + half, cb = u[i] - 128, cr = v[i] - 128;
		int r = clamp((l + rv * cr) >> bits), g = clamp((l - gu * cb - gv * cr) >> bits), b = clamp((l + bu * cb) >> bits);
		pixel[i] = (uint32_t)r << at_r | (uint32_t)g << at_g | (uint32_t)b << at_b | (uint32_t)255 << at_a;
	}
	memcpy(out, pixel, 4 * (size_t)n);
}

typedef void converter(uint8_t *, const struct vf_yuv *, const uint8_t *, const uint8_t *, const uint8_t *, int);

static void convert_any(uint8_t *out, const struct vf_yuv *f, const uint8_t *y, const uint8_t *u, const uint8_t *v, int n)
{
	convert(out, f, y, u, v, n);
}

#ifdef __x86_64__
// SSE2, the baseline of x86-64, has no 32 bit multiplication, which makes it four times as slow.
__attribute__((target("avx2"))) static void convert_avx2(uint8_t *out, const struct vf_yuv *f, const uint8_t *y, const uint8_t *u,
	const uint8_t *v, int n)
{
	convert(out, f, y, u, v, n);
}
static converter *choose(void) { return __builtin_cpu_supports("avx2") ? convert_avx2 : convert_any; }
#else
static converter *choose(void) { return convert_any; }
#endif

void vf_rgba(uint8_t *out, const struct vf_yuv *f, const uint8_t *y, const uint8_t *u, const uint8_t *v)
{
	uint8_t cb[chunk], cr[chunk];
	converter *convert_row = choose();
	for (int row = 0; row < f->rows; row++) {
		const uint8_t *yy = y + (long)row * f->pitch[0];
		const uint8_t *uu = u + (long)(row >> f->sub_y) * f->pitch[1], *vv = v + (long)(row >> f->sub_y) * f->pitch[2];
		for (int x = 0; x < f->width; x += chunk) {
			int n = f->width - x < chunk ? f->width - x : chunk;
			int c = (x >> f->sub_x) * f->step;
			spread(cb, uu + c, n, f->sub_x, f->step);
			spread(cr, vv + c, n, f->sub_x, f->step);
			convert_row(out, f, yy + x, cb, cr, n);
			out += 4 * n;
		}
	}
}

void vf_difference(uint8_t *out, const uint8_t *a, const uint8_t *b, int n, int gain)
{
	for (int i = 0; i < 4 * n; i++) {
		int d = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
		out[i] = clamp(d * gain);
	}
	for (int i = 0; i < n; i++)
		out[4 * i + 3] = 255;
}
