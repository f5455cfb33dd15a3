#include "rgba.h"

enum { bits = 14, half = 1 << (bits - 1), chunk = 1024 };

static inline int clamp(int x) { return x < 0 ? 0 : x > 255 ? 255 : x; }

// Spreads n samples of chroma from column x on over the columns that they cover.
static void spread(uint8_t *to, const uint8_t *from, int x, int n, int shift, int step)
{
	for (int i = 0; i < n; i++)
		to[i] = from[((x + i) >> shift) * step];
}

// One pass over short rows in cache, which the compiler turns into SIMD.
static void convert(uint8_t *restrict out, const struct vf_yuv *f, const uint8_t *restrict y, const uint8_t *restrict u,
	const uint8_t *restrict v, int n)
{
	const int black = f->black, ky = f->y, rv = f->rv, gu = f->gu, gv = f->gv, bu = f->bu;
	for (int i = 0; i < n; i++) {
		int l = (y[i] - black) * ky + half, cb = u[i] - 128, cr = v[i] - 128;
		int r = clamp((l + rv * cr) >> bits), g = clamp((l - gu * cb - gv * cr) >> bits), b = clamp((l + bu * cb) >> bits);
		out[4 * i] = r;
		out[4 * i + 1] = g;
		out[4 * i + 2] = b;
		out[4 * i + 3] = 255;
	}
}

void vf_rgba(uint8_t *out, const struct vf_yuv *f, const uint8_t *y, const uint8_t *u, const uint8_t *v)
{
	uint8_t cb[chunk], cr[chunk];
	for (int row = 0; row < f->rows; row++) {
		const uint8_t *yy = y + (long)row * f->pitch[0];
		const uint8_t *uu = u + (long)(row >> f->sub_y) * f->pitch[1], *vv = v + (long)(row >> f->sub_y) * f->pitch[2];
		for (int x = 0; x < f->width; x += chunk) {
			int n = f->width - x < chunk ? f->width - x : chunk;
			spread(cb, uu, x, n, f->sub_x, f->step);
			spread(cr, vv, x, n, f->sub_x, f->step);
			convert(out, f, yy + x, cb, cr, n);
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
