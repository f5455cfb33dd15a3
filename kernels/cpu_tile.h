// The bilateral filter of one tile: planes in, planes out. This file is compiled once for each instruction set; the
// file that includes it defines VL (floats a vector) and the few operations that GCC's vector extensions lack.
//
//   out(p) = p + sum_q w (q - p) / sum_q w,   w = Gs(q - p) R(D(p, q))
//
// The idea: every lane is one output pixel, and a tap is a row of neighbours loaded one sample to the side. Colours lie in
// planar float rows, so that such a load is one unaligned vector load and no shuffle. The rows are scaled once so that the
// squared distance is R's argument as it stands. A tap of the default options is then
//
//   3 subtractions        dr, dg, db
//   3 multiply-adds       t = 1 + dr^2 + dg^2 + db^2
//   1 reciprocal          12 to 14 bits are enough: the sums below are of differences, so that an error of a weight counts
//                         only with the distance of its pixel from p, and flat regions stay exactly flat
//   1 multiplication      w = Gs / t
//   4 for the sums        w, w dr, w dg, w db
//
// 12 instructions for VL pixels, no table, no divide. Two output rows are worked at once, so that each neighbour is
// loaded once for both; their chroma sample can be made as soon as they are done.
//
// A tile is a strip of columns narrow enough for its ring of 2r+2 converted rows to stay in the level-1 cache. Samples become
// words (R, G, B rounded to 8 bits) as a row enters the ring; borders are columns and rows of the ring like any others, so that
// the loops over taps know nothing of them. Nothing reads or writes a byte outside the planes' rows: samples go through
// small staging rows. Arithmetic does not depend on where tiles begin, so any split of a frame gives the same bits.

#include <string.h>

#include "cpu.h"

#define INLINE static inline __attribute__((always_inline))

enum {
	PAD = 16,                          // columns before the tile in every row: at least the largest radius, and even
	MAX_TILE = 256,                    // columns of a tile
	ROW = MAX_TILE + 2 * PAD + 16,     // floats of one row of one plane, the last vector's slack included
	RING = 2 * VF_MAX_RADIUS + 2,      // rows of the ring
	MAX_PLANES = 6,                    // R, G, B and what else the distance needs
	AHEAD = 6                          // rows that are fetched before they are needed
};

// The scratch of a tile; about 260 kB for the largest radius and the most planes, of which small radii touch little.
typedef struct {
	_Alignas(64) float ring[RING * MAX_PLANES * ROW];
	float out[2][3][ROW];          // two rows of results: R, G, B, whole numbers
	float chroma[3][ROW];          // what U and V add to R, G, B, for one row of chroma
	uint8_t y8[ROW + 64], u8[ROW + 64], v8[ROW + 64], rgba8[4 * ROW + 64]; // staging
	int chroma_row;                // which row chroma holds, or -1
	int planes;                    // planes of each ring row in use
	int slots;                     // rows of the ring in use
	int x0, x1, top;               // the tile's columns; the row that slot 0 held first
} scratch;

// Vectors. Loads and stores go through memcpy: one unaligned move.
typedef float vf __attribute__((vector_size(4 * VL)));
typedef int32_t vi __attribute__((vector_size(4 * VL)));
typedef uint8_t vb __attribute__((vector_size(VL)));

INLINE vf load(const float *p) { vf v; memcpy(&v, p, sizeof v); return v; }
INLINE void store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf splat(float x) { return x - (vf){}; }

#include "cpu_ops.h"

INLINE vf clamp255(vf x) { return vmin(vmax(x, splat(0)), splat(255)); }

// 2^x for x of at most 0: a polynomial for the fraction (relative error 3e-06), the exponent by the operation.
INLINE vf exp2_neg(vf x)
{
	x = vmax(x, splat(-126));
	vf n = round_near(x - 0.5f); // floor, or one less where x is whole: then the fraction is 1, which the polynomial takes
	vf f = x - n;
	vf p = fmadd(splat(0.0135341676f), f, splat(0.0520114612f));
	p = fmadd(p, f, splat(0.241442757f));
	p = fmadd(p, f, splat(0.693003835f));
	p = fmadd(p, f, splat(1.00000259f));
	return scale2(p, n);
}

// Ring.

INLINE float *ring_row(scratch *s, int y)
{
	return s->ring + (size_t)((y - s->top) % s->slots) * s->planes * ROW;
}

// border_index maps a coordinate into 0..n-1, or returns -1 for black.
static int border_index(int i, int n, int border)
{
	if (i >= 0 && i < n) return i;
	if (border == VF_ZERO) return -1;
	if (border == VF_REFLECT && n > 1) {
		int period = 2 * (n - 1);
		i %= period;
		if (i < 0) i += period;
		return i < n ? i : period - i;
	}
	return i < 0 ? 0 : n - 1; // clamp; skip too, whose results there are not used
}

// Rounding: results of formulas that are ties on paper must not depend on the last bit of a float, so all ties go up.
#define TIE_UP (1.0f / 16384)

INLINE vf to_word(vf x) { return clamp255(round_near(x)); }

// Samples (of unit bytes) are read where they lie if whole vectors stay within the row of width samples, else from a copy.
INLINE const uint8_t *stage(uint8_t *copy, const uint8_t *row, int first, int n, int width, size_t unit)
{
	row += first * unit;
	if (first + (n + VL - 1) / VL * VL <= width) return row;
	memcpy(copy, row, n * unit);
	return copy;
}

// Results are written where they belong if they are whole vectors, else by unstage: beyond may be another thread's tile.
INLINE uint8_t *stage_out(uint8_t *copy, uint8_t *to, int n) { return n % VL ? copy : to; }
INLINE void unstage(const uint8_t *copy, uint8_t *to, int n) { if (n % VL) memcpy(to, copy, n); }

// A tile's rows lie a pitch apart, where the hardware does not look ahead.
INLINE void prefetch(const uint8_t *p, int n)
{
	for (int i = 0; i < n; i += 64) __builtin_prefetch(p + i);
}

INLINE void repeat(uint8_t *to, const uint8_t *from, int n, int times)
{
	if (times == 1) memcpy(to, from, n);
	else for (int i = 0; i < n; i++) to[2 * i] = to[2 * i + 1] = from[i];
}

// What U and V of chroma row cy add to the colours of columns c0 <= x < c1, c0 even. The constants hold TIE_UP.
static void load_chroma(const vf_job *j, scratch *s, int cy, int c0, int c1)
{
	if (s->chroma_row == cy) return;
	s->chroma_row = cy;
	int first = c0 >> j->sub_x, n = ((c1 + j->sub_x) >> j->sub_x) - first;
	const uint8_t *u = j->src[1] + cy * j->src_pitch[1] + first;
	if (j->layout == VF_NV12) {
		u += first;
		for (int i = 0; i < n; i++) s->u8[2 * i] = s->u8[2 * i + 1] = u[2 * i];
		for (int i = 0; i < n; i++) s->v8[2 * i] = s->v8[2 * i + 1] = u[2 * i + 1];
	} else {
		const uint8_t *v = j->src[2] + cy * j->src_pitch[2] + first;
		repeat(s->u8, u, n, 1 << j->sub_x);
		repeat(s->v8, v, n, 1 << j->sub_x);
		if (cy + AHEAD / 2 < j->chroma_read) {
			prefetch(u + AHEAD / 2 * j->src_pitch[1], n);
			prefetch(v + AHEAD / 2 * j->src_pitch[2], n);
		}
	}
	for (int i = 0; i < c1 - c0; i += VL) {
		vf uf = load_u8(s->u8 + i), vf_ = load_u8(s->v8 + i);
		store(s->chroma[0] + i, fmadd(splat(j->r_v), vf_, splat(j->r_0)));
		store(s->chroma[1] + i, fmadd(splat(j->g_u), uf, fmadd(splat(j->g_v), vf_, splat(j->g_0))));
		store(s->chroma[2] + i, fmadd(splat(j->b_u), uf, splat(j->b_0)));
	}
}

static void load_rgba(const vf_job *j, scratch *s, float *to, int y, int c0, int c1)
{
	const uint8_t *row = j->src[0] + y * j->src_pitch[0];
	const uint8_t *rgba = stage(s->rgba8, row, c0, c1 - c0, j->width, 4);
	if (y + AHEAD < j->height) prefetch(row + AHEAD * j->src_pitch[0] + 4 * c0, 4 * (c1 - c0));
	float scale = j->distance == VF_DIST_LAB || j->distance == VF_DIST_LUMA ? 1 : j->scale;
	for (int i = 0; i < c1 - c0; i += VL) {
		vi w;
		memcpy(&w, rgba + 4 * i, sizeof w);
		for (int c = 0; c < 3; c++) store(to + c * ROW + i, to_float((w >> 8 * c) & 255) * scale);
	}
}

static void load_yuv(const vf_job *j, scratch *s, float *to, int y, int c0, int c1)
{
	int cy = y >> j->sub_y;
	load_chroma(j, s, cy < j->chroma_read ? cy : j->chroma_read - 1, c0, c1);
	const uint8_t *row = j->src[0] + y * j->src_pitch[0], *y8 = stage(s->y8, row, c0, c1 - c0, j->width, 1);
	if (y + AHEAD < j->height) {
		prefetch(row + AHEAD * j->src_pitch[0] + c0, c1 - c0);
		prefetch(j->dst[0] + (y + AHEAD) * j->dst_pitch[0] + c0, c1 - c0);
	}
	vf gain = splat(j->y_gain), scale = splat(j->distance == VF_DIST_LAB || j->distance == VF_DIST_LUMA ? 1 : j->scale);
	for (int i = 0; i < c1 - c0; i += VL) {
		vf yf = load_u8(y8 + i);
		for (int c = 0; c < 3; c++)
			store(to + c * ROW + i, to_word(fmadd(gain, yf, load(s->chroma[c] + i))) * scale);
	}
}

// The cube root of 0.008 to 1, and the straight part of the Lab formula below.
INLINE vf lab_curve(vf t)
{
	// The exponent divided by three and two of Halley's steps, each of which triples the right digits.
	vi bits = to_int(to_float((vi)t) * (1.0f / 3)) + 0x2a517d3c;
	vf x = (vf)bits;
	for (int i = 0; i < 2; i++) {
		vf x3 = x * x * x;
		x = x * (x3 + t + t) / (x3 + x3 + t);
	}
	vf line = t * (float)(841.0 / 108) + (float)(4.0 / 29);
	vi high = t > splat((float)(216.0 / 24389));
	return (vf)((high & (vi)x) | (~high & (vi)line));
}

// Adds L, a, b (scaled) behind R, G, B of n columns.
static void add_lab(const vf_job *j, float *row, int n)
{
	const float *m = j->xyz;
	float linear[3][VL];
	for (int i = 0; i < n; i += VL) {
		for (int c = 0; c < 3; c++) {
			vi level = to_int(load(row + c * ROW + i));
			for (int k = 0; k < VL; k++) linear[c][k] = j->linear[level[k] & 255];
		}
		vf r = load(linear[0]), g = load(linear[1]), b = load(linear[2]);
		vf fx = lab_curve(r * m[0] + g * m[1] + b * m[2]);
		vf fy = lab_curve(r * m[3] + g * m[4] + b * m[5]);
		vf fz = lab_curve(r * m[6] + g * m[7] + b * m[8]);
		store(row + 3 * ROW + i, (fy * 116 - 16) * j->scale);
		store(row + 4 * ROW + i, (fx - fy) * (500 * j->scale));
		store(row + 5 * ROW + i, (fy - fz) * (200 * j->scale));
	}
}

// Adds E (scaled) behind R, G, B of n columns.
static void add_luma(const vf_job *j, float *row, int n)
{
	for (int i = 0; i < n; i += VL) {
		vf e = load(row + i) * j->luma[0] + load(row + ROW + i) * j->luma[1] + load(row + 2 * ROW + i) * j->luma[2];
		store(row + 3 * ROW + i, e * j->scale);
	}
}

// load_row brings row y, which may lie outside the picture, into the ring.
static void load_row(const vf_job *j, scratch *s, int y)
{
	float *row = ring_row(s, y);
	int r = j->radius, at = border_index(y, j->height, j->border);
	if (at < 0) { // black is zero in every plane, L, a, b and E included
		memset(row, 0, (size_t)s->planes * ROW * sizeof *row);
		return;
	}
	int c0 = s->x0 > PAD ? s->x0 - PAD : 0; // more than r columns, so that vectors are stored aligned
	int c1 = s->x1 + r < j->width ? s->x1 + r : j->width;
	float *to = row + PAD + c0 - s->x0;
	(j->layout == VF_RGBA ? load_rgba : load_yuv)(j, s, to, at, c0, c1);
	if (j->distance == VF_DIST_LAB) add_lab(j, to, c1 - c0);
	if (j->distance == VF_DIST_LUMA) add_luma(j, to, c1 - c0);
	float *origin = row + PAD - s->x0; // the column x of plane c is origin[c * ROW + x]
	for (int c = 0; c < s->planes; c++) {
		for (int x = s->x0 - r; x < 0; x++) {
			int from = border_index(x, j->width, j->border);
			origin[c * ROW + x] = from < 0 ? 0 : origin[c * ROW + from];
		}
		for (int x = j->width; x < s->x1 + r; x++) {
			int from = border_index(x, j->width, j->border);
			origin[c * ROW + x] = from < 0 ? 0 : origin[c * ROW + from];
		}
	}
}

// Filter.

// weight is R of t, the scaled squared distance, times Gs. For the Lorentzian, t is 1 + x.
INLINE vf start(int range, float gs) { return range == VF_LORENTZIAN ? splat(1) : splat(gs); }
INLINE vf add_square(int range, vf d, vf t) { return range == VF_LORENTZIAN ? fmadd(d, d, t) : fnmadd(d, d, t); }
INLINE vf weight(int range, float gs, vf t)
{
	return range == VF_LORENTZIAN ? reciprocal(t) * gs : exp2_neg(t);
}

// The sums of one output row in VL columns.
typedef struct { vf c[3], w[3]; } sums;
typedef struct { vf c[3], f[3]; } centre;

INLINE centre centre_at(int distance, const float *q)
{
	centre p;
	for (int c = 0; c < 3; c++) p.c[c] = load(q + c * ROW);
	if (distance == VF_DIST_LAB)
		for (int c = 0; c < 3; c++) p.f[c] = load(q + (3 + c) * ROW);
	if (distance == VF_DIST_LUMA) p.f[0] = load(q + 3 * ROW);
	return p;
}

// tap adds the neighbours q to the sums of p.
INLINE void tap(int distance, int range, float gs, const centre *q, const centre *p, sums *s)
{
	vf d[3];
	for (int c = 0; c < 3; c++) d[c] = q->c[c] - p->c[c];
	if (distance == VF_DIST_CHANNEL) {
		for (int c = 0; c < 3; c++) {
			vf w = weight(range, gs, add_square(range, d[c], start(range, gs)));
			s->w[c] += w;
			s->c[c] = fmadd(w, d[c], s->c[c]);
		}
		return;
	}
	vf t = start(range, gs);
	if (distance == VF_DIST_RGB)
		for (int c = 0; c < 3; c++) t = add_square(range, d[c], t);
	if (distance == VF_DIST_LAB)
		for (int c = 0; c < 3; c++) t = add_square(range, q->f[c] - p->f[c], t);
	if (distance == VF_DIST_LUMA) t = add_square(range, q->f[0] - p->f[0], t);
	vf w = weight(range, gs, t);
	s->w[0] += w;
	for (int c = 0; c < 3; c++) s->c[c] = fmadd(w, d[c], s->c[c]);
}

// finish turns sums into whole levels.
INLINE void finish(int distance, float unscale, const centre *p, const sums *s, float *to)
{
	vf inverse = reciprocal(s->w[0]);
	for (int c = 0; c < 3; c++) {
		if (distance == VF_DIST_CHANNEL) inverse = reciprocal(s->w[c]);
		vf mean = fmadd(s->c[c], inverse, p->c[c]);
		store(to + c * ROW, round_near(fmadd(mean, splat(unscale), splat(TIE_UP))));
	}
}

// filter_rows filters rows y and y+1 of the tile into s->out. The row y+1 may lie outside; its result is not used then.
INLINE void filter_rows(const vf_job *j, scratch *s, int y, int distance, int range, int r)
{
	const float *row[RING];
	for (int k = 0; k < 2 * r + 2; k++) row[k] = ring_row(s, y - r + k) + PAD - r;
	int scaled = distance == VF_DIST_RGB || distance == VF_DIST_CHANNEL;
	float unscale = scaled ? 1 / j->scale : 1;
	int n = 2 * r + 1;
	for (int x = 0; x < s->x1 - s->x0; x += VL) {
		centre p0 = centre_at(distance, row[r] + x + r), p1 = centre_at(distance, row[r + 1] + x + r);
		sums s0 = {}, s1 = {};
		for (int i = 0; i < n; i++) { // the top row counts for the upper pixel only
			centre q = centre_at(distance, row[0] + x + i);
			tap(distance, range, j->spatial[i], &q, &p0, &s0);
		}
		for (int k = 1; k < n; k++) {
			const float *gs = j->spatial + k * n;
			for (int i = 0; i < n; i++) {
				centre q = centre_at(distance, row[k] + x + i);
				tap(distance, range, gs[i], &q, &p0, &s0);
				tap(distance, range, gs[i - n], &q, &p1, &s1);
			}
		}
		for (int i = 0; i < n; i++) {
			centre q = centre_at(distance, row[n] + x + i);
			tap(distance, range, j->spatial[(n - 1) * n + i], &q, &p1, &s1);
		}
		finish(distance, unscale, &p0, &s0, s->out[0][0] + PAD + x);
		finish(distance, unscale, &p1, &s1, s->out[1][0] + PAD + x);
	}
}

#define FILTER(name, distance, range) \
	static void name(const vf_job *j, scratch *s, int y) \
	{ \
		switch (j->radius) { /* loops of known length are unrolled */ \
		case 1: filter_rows(j, s, y, distance, range, 1); break; \
		case 2: filter_rows(j, s, y, distance, range, 2); break; \
		default: filter_rows(j, s, y, distance, range, j->radius); \
		} \
	}
FILTER(rgb_lorentzian, VF_DIST_RGB, VF_LORENTZIAN)
FILTER(rgb_gaussian, VF_DIST_RGB, VF_GAUSSIAN)
FILTER(channel_lorentzian, VF_DIST_CHANNEL, VF_LORENTZIAN)
FILTER(channel_gaussian, VF_DIST_CHANNEL, VF_GAUSSIAN)
FILTER(lab_lorentzian, VF_DIST_LAB, VF_LORENTZIAN)
FILTER(lab_gaussian, VF_DIST_LAB, VF_GAUSSIAN)
FILTER(luma_lorentzian, VF_DIST_LUMA, VF_LORENTZIAN)
FILTER(luma_gaussian, VF_DIST_LUMA, VF_GAUSSIAN)

typedef void row_filter(const vf_job *, scratch *, int);
static row_filter *const filters[4][2] = {
	[VF_DIST_RGB] = {rgb_lorentzian, rgb_gaussian},
	[VF_DIST_CHANNEL] = {channel_lorentzian, channel_gaussian},
	[VF_DIST_LAB] = {lab_lorentzian, lab_gaussian},
	[VF_DIST_LUMA] = {luma_lorentzian, luma_gaussian},
};

// The border skip: words of the row y whose window leaves the picture stay as they are.
static void keep_words(const vf_job *j, scratch *s, int y)
{
	int r = j->radius, whole = y < r || y + r >= j->height;
	int scaled = j->distance == VF_DIST_RGB || j->distance == VF_DIST_CHANNEL;
	const float *word = ring_row(s, y) + PAD;
	float unscale = scaled ? 1 / j->scale : 1, *out = s->out[y & 1][0] + PAD;
	for (int x = 0; x < s->x1 - s->x0; x++) {
		if (!whole && s->x0 + x >= r && s->x0 + x + r < j->width) continue;
		for (int c = 0; c < 3; c++) out[c * ROW + x] = (float)(int)(word[c * ROW + x] * unscale + 0.5f);
	}
}

// Results to planes.

static void store_luma(const vf_job *j, scratch *s, int y)
{
	const float *in = s->out[y & 1][0] + PAD;
	int n = s->x1 - s->x0;
	uint8_t *row = j->dst[0] + y * j->dst_pitch[0] + s->x0, *to = stage_out(s->y8, row, n);
	vf kr = splat(j->y[0]), kg = splat(j->y[1]), kb = splat(j->y[2]), offset = splat(j->y[3]);
	for (int i = 0; i < n; i += VL) {
		vf e = fmadd(load(in + i), kr, offset);
		e = fmadd(load(in + ROW + i), kg, e);
		e = fmadd(load(in + 2 * ROW + i), kb, e);
		store_u8(to + i, to_int(round_near(e)));
	}
	unstage(to, row, n);
}

static void store_rgba(const vf_job *j, scratch *s, int y)
{
	const float *in = s->out[y & 1][0] + PAD;
	int n = s->x1 - s->x0;
	memcpy(s->rgba8, j->src[0] + y * j->src_pitch[0] + 4 * (ptrdiff_t)s->x0, 4 * (size_t)n);
	for (int i = 0; i < n; i += VL) {
		vi w;
		memcpy(&w, s->rgba8 + 4 * i, sizeof w);
		w &= (int32_t)0xff000000; // alpha stays
		for (int c = 0; c < 3; c++) w |= to_int(load(in + c * ROW + i)) << 8 * c;
		memcpy(s->rgba8 + 4 * i, &w, sizeof w);
	}
	memcpy(j->dst[0] + y * j->dst_pitch[0] + 4 * (ptrdiff_t)s->x0, s->rgba8, 4 * (size_t)n);
}

// store_chroma writes chroma row cy from the words of one row (rows = 1) or of two.
static void store_chroma(const vf_job *j, scratch *s, int cy, int first, int rows)
{
	int n = s->x1 - s->x0, cn = (n + j->sub_x) >> j->sub_x, c0 = s->x0 >> j->sub_x;
	float *a = s->out[first][0] + PAD, *b = s->out[first + rows - 1][0] + PAD;
	float parts = 1.0f / (2 << j->sub_x);
	for (int c = 0; c < 3; c++) { // an odd last column counts for the one that does not exist
		a[c * ROW + n] = a[c * ROW + n - 1];
		b[c * ROW + n] = b[c * ROW + n - 1];
	}
	for (int i = 0; i < cn; i += VL) {
		vf mean[3];
		for (int c = 0; c < 3; c++) {
			const float *pa = a + c * ROW, *pb = b + c * ROW;
			if (j->sub_x)
				mean[c] = add_pairs(load(pa + 2 * i) + load(pb + 2 * i), load(pa + 2 * i + VL) + load(pb + 2 * i + VL));
			else
				mean[c] = load(pa + i) + load(pb + i);
			mean[c] *= parts;
		}
		vf u = fmadd(mean[0], splat(j->u[0]), fmadd(mean[1], splat(j->u[1]), fmadd(mean[2], splat(j->u[2]), splat(j->u[3]))));
		vf v = fmadd(mean[0], splat(j->v[0]), fmadd(mean[1], splat(j->v[1]), fmadd(mean[2], splat(j->v[2]), splat(j->v[3]))));
		store_u8(s->u8 + i, to_int(to_word(u)));
		store_u8(s->v8 + i, to_int(to_word(v)));
	}
	if (j->layout == VF_NV12) {
		uint8_t *to = j->dst[1] + cy * j->dst_pitch[1] + 2 * c0;
		for (int i = 0; i < cn; i++) to[2 * i] = s->u8[i], to[2 * i + 1] = s->v8[i];
		return;
	}
	memcpy(j->dst[1] + cy * j->dst_pitch[1] + c0, s->u8, cn);
	memcpy(j->dst[2] + cy * j->dst_pitch[2] + c0, s->v8, cn);
}

// The border skip: copies what lies outside the inner part of a plane in row y and columns x0 <= x < x1; unit is the bytes of
// one column.
static void keep_samples(const vf_job *j, int plane, int y, int x0, int x1, int unit)
{
	const int *in = j->inner[plane > 0];
	const uint8_t *from = j->src[plane] + y * j->src_pitch[plane];
	uint8_t *to = j->dst[plane] + y * j->dst_pitch[plane];
	int whole = y < in[1] || y >= in[3];
	int left = whole || in[0] > x1 ? x1 : in[0], right = in[2] < x0 ? x0 : in[2];
	if (left > x0) memcpy(to + x0 * unit, from + x0 * unit, (size_t)(left - x0) * unit);
	if (!whole && x1 > right) memcpy(to + right * unit, from + right * unit, (size_t)(x1 - right) * unit);
}

static void keep_chroma(const vf_job *j, const scratch *s, int cy)
{
	int c0 = s->x0 >> j->sub_x, c1 = (s->x1 + j->sub_x) >> j->sub_x;
	if (j->layout == VF_NV12) {
		keep_samples(j, 1, cy, c0, c1, 2);
		return;
	}
	keep_samples(j, 1, cy, c0, c1, 1);
	keep_samples(j, 2, cy, c0, c1, 1);
}

static void store_rows(const vf_job *j, scratch *s, int y, int rows)
{
	for (int k = 0; k < rows; k++) {
		if (j->border == VF_SKIP) keep_words(j, s, y + k);
		(j->layout == VF_RGBA ? store_rgba : store_luma)(j, s, y + k);
		if (j->border == VF_SKIP) keep_samples(j, 0, y + k, s->x0, s->x1, j->layout == VF_RGBA ? 4 : 1);
	}
	if (j->layout == VF_RGBA) return;
	int step = 1 << j->sub_y;
	for (int k = 0; k < rows; k += step) {
		int cy = (y + k) >> j->sub_y;
		if (cy >= j->chroma_write) return;
		store_chroma(j, s, cy, k, rows - k < step ? rows - k : step);
		if (j->border == VF_SKIP) keep_chroma(j, s, cy);
	}
}

void TILE(const vf_job *j, void *memory, int x0, int y0, int x1, int y1)
{
	scratch *s = memory;
	int r = j->radius;
	s->chroma_row = -1;
	s->planes = j->distance == VF_DIST_LAB ? 6 : j->distance == VF_DIST_LUMA ? 4 : 3;
	s->slots = 2 * r + 2;
	s->x0 = x0, s->x1 = x1, s->top = y0 - r;
	row_filter *filter = filters[j->distance][j->range];
	int next = y0 - r;
	for (int y = y0; y < y1; y += 2) {
		for (; next <= y + 1 + r; next++) load_row(j, s, next);
		filter(j, s, y);
		store_rows(j, s, y, y1 - y < 2 ? 1 : 2);
	}
}

// Twelve chains: more than two units' latency asks for. The sum makes the compiler keep them all.
int FMA_RATE(long n)
{
	vf k = splat(0.5f), a = k, b = a + k, c = b + k, d = c + k, e = d + k, f = e + k;
	vf g = f + k, h = g + k, i = h + k, j = i + k, l = j + k, m = l + k;
	for (; n > 0; n--) {
		a = fmadd(a, k, k), b = fmadd(b, k, k), c = fmadd(c, k, k), d = fmadd(d, k, k);
		e = fmadd(e, k, k), f = fmadd(f, k, k), g = fmadd(g, k, k), h = fmadd(h, k, k);
		i = fmadd(i, k, k), j = fmadd(j, k, k), l = fmadd(l, k, k), m = fmadd(m, k, k);
	}
	vf sum = a + b + c + d + e + f + g + h + i + j + l + m;
	return sum[0] > 0 ? VL : 0;
}
