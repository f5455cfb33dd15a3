// The bilateral filter of one tile: planes in, planes out. cpu_kernels.h includes this file;
// cpu_ops.h has the few operations that GCC's vector extensions lack.
//
//   out(p) = p + sum_q w (q - p) / sum_q w,   w = Gs(q - p) R(D(p, q))
//
// Every lane is one output pixel, and a tap is a row of neighbours loaded at an offset. Colours
// lie in planar float rows, so such a load is one unaligned vector load without a shuffle. The
// rows are scaled once, which makes the squared distance the argument of R. A tap of the default
// options is then
//
//   3 subtractions        dr, dg, db
//   3 multiply-adds       t = 1 + dr^2 + dg^2 + db^2
//   1 reciprocal          12 to 14 bits suffice: the sums are of differences, so an error of a
//                         weight counts only with the distance of its pixel from p, and flat
//                         regions stay exactly flat
//   1 multiplication      w = Gs / t
//   4 for the sums        w, w dr, w dg, w db
//
// 12 instructions for VL pixels, without tables or divisions; 8 of them need the two multiplier
// units, which are the bottleneck. Two output rows are computed together, so each neighbour is
// loaded once for both, and their chroma sample can be stored as soon as they are done. The
// Gaussian starts t at log2(Gs), subtracts the squares and takes 2^t: 8 more instructions, also
// without a table.
//
// A tile is a strip of columns narrow enough for its ring of 2r+2 converted rows to stay in the
// level-1 cache. Samples become words (R, G, B rounded to whole levels) as a row enters the ring;
// borders are ordinary columns and rows of the ring, so the loops over taps need no special cases.
// Bytes outside the planes' rows are never read or written: samples go through small staging rows.
// Arithmetic does not depend on where tiles begin, so any split of a frame gives the same bits.

enum {
	PAD = 16,                          // columns before the tile in every row: even, >= the radius
	// floats in a row of a plane, with slack for the last vector
	ROW = VF_TILE + 2 * PAD + 16,
	RING = 2 * VF_MAX_RADIUS + 2,      // rows of the ring
	PLANES = 3,                        // R, G, B
	AHEAD = 6                          // rows to prefetch ahead
};

// The scratch memory of a tile: about 200 kB. Small radii touch little of it.
typedef struct {
	_Alignas(64) float ring[RING * PLANES * ROW];
	float out[2][3][ROW];          // two rows of results: changes of R, G, B, whole numbers
	float chroma[3][ROW];          // contribution of U and V to R, G, B, for one chroma row
	sample ys[ROW + 64], us[ROW + 64], vs[ROW + 64]; // staging
	uint8_t rgba8[4 * ROW + 64];
	int chroma_row;                // the row that chroma holds, or -1
	int slots;                     // rows of the ring in use
	int x0, x1, top;               // the tile's columns; the first row of slot 0
} scratch;

#include "cpu_planes.h"

// weight is R of the scaled squared distance t, times Gs. For the Lorentzian, t is 1 + x.
INLINE vf start(int range, float gs) { return range == VF_LORENTZIAN ? splat(1) : splat(gs); }
INLINE vf add_square(int range, vf d, vf t) { return range == VF_LORENTZIAN ? fmadd(d, d, t) : fnmadd(d, d, t); }
INLINE vf weight(int range, float gs, vf t)
{
	return range == VF_LORENTZIAN ? reciprocal(t) * gs : exp2_neg(t);
}

// The sums of one output row in VL columns.
typedef struct { vf c[3], w; } sums;
typedef struct { vf c[3]; } centre;

INLINE centre centre_at(const float *q) { return (centre){{load(q), load(q + ROW), load(q + 2 * ROW)}}; }

// tap adds the neighbours q to the sums of p.
INLINE void tap(int range, float gs, const centre *q, const centre *p, sums *s)
{
	vf d[3], t = start(range, gs);
	for (int c = 0; c < 3; c++) {
		d[c] = q->c[c] - p->c[c];
		t = add_square(range, d[c], t);
	}
	vf w = weight(range, gs, t);
	s->w += w;
	for (int c = 0; c < 3; c++) s->c[c] = fmadd(w, d[c], s->c[c]);
}

// quotient is 1 / x: more exact for deep samples, whose changes may be thousands of levels.
INLINE vf quotient(vf x)
{
	vf y = reciprocal(x);
	return SAMPLE_BITS == 8 ? y : fmadd(y, fnmadd(x, y, splat(1)), y);
}

// finish converts sums to changes in whole levels.
INLINE void finish(float unscale, const sums *s, float *to)
{
	vf inverse = quotient(s->w);
	for (int c = 0; c < 3; c++) store(to + c * ROW, round_near(fmadd(s->c[c] * inverse, splat(unscale), splat(TIE_UP))));
}

// filter_rows filters rows y and y+1 of the tile into s->out. If row y+1 lies outside, its result
// is unused.
INLINE void filter_rows(const vf_job *j, scratch *s, int y, int range, int r)
{
	const float *row[RING];
	for (int k = 0; k < 2 * r + 2; k++) row[k] = ring_row(s, y - r + k) + PAD - r;
	float unscale = 1 / j->scale;
	int n = 2 * r + 1, width = s->x1 - s->x0;
	for (int x = 0; x < width; x += VL) {
		centre p0 = centre_at(row[r] + x + r), p1 = centre_at(row[r + 1] + x + r);
		sums s0 = {}, s1 = {};
		for (int i = 0; i < n; i++) { // the top row counts for the upper pixel only
			centre q = centre_at(row[0] + x + i);
			tap(range, j->spatial[i], &q, &p0, &s0);
		}
		for (int k = 1; k < n; k++) {
			const float *gs = j->spatial + k * n;
#pragma GCC unroll 2
			for (int i = 0; i < n; i++) {
				centre q = centre_at(row[k] + x + i);
				tap(range, gs[i], &q, &p0, &s0);
				tap(range, gs[i - n], &q, &p1, &s1);
			}
		}
		for (int i = 0; i < n; i++) {
			centre q = centre_at(row[n] + x + i);
			tap(range, j->spatial[(n - 1) * n + i], &q, &p1, &s1);
		}
		finish(unscale, &s0, s->out[0][0] + PAD + x);
		finish(unscale, &s1, s->out[1][0] + PAD + x);
	}
}

// filter_small is filter_rows for a radius known at compile time: all taps unrolled, without
// the pixel itself, whose weight is 1.
INLINE void filter_small(const vf_job *j, scratch *s, int y, int range, const int r)
{
	const float *row[RING];
	for (int k = 0; k < 2 * r + 2; k++) row[k] = ring_row(s, y - r + k) + PAD;
	float unscale = 1 / j->scale;
	const int n = 2 * r + 1;
	int width = s->x1 - s->x0;
	for (int x = 0; x < width; x += VL) {
		centre p0 = centre_at(row[r] + x), p1 = centre_at(row[r + 1] + x);
		sums s0 = {.w = splat(1)}, s1 = s0;
#pragma GCC unroll 6
		for (int k = 0; k <= n; k++) {
#pragma GCC unroll 5
			for (int i = 0; i < n; i++) {
				centre q = centre_at(row[k] + x + i - r);
				if (k < n && (k != r || i != r)) tap(range, j->spatial[k * n + i], &q, &p0, &s0);
				if (k > 0 && (k != r + 1 || i != r)) tap(range, j->spatial[k * n + i - n], &q, &p1, &s1);
			}
		}
		finish(unscale, &s0, s->out[0][0] + PAD + x);
		finish(unscale, &s1, s->out[1][0] + PAD + x);
	}
}

#define FILTER(name, range) \
	static void name(const vf_job *j, scratch *s, int y) \
	{ \
		switch (j->radius) { \
		case 1: filter_small(j, s, y, range, 1); break; \
		case 2: filter_small(j, s, y, range, 2); break; \
		default: filter_rows(j, s, y, range, j->radius); \
		} \
	}
FILTER(filter_lorentzian, VF_LORENTZIAN)
FILTER(filter_gaussian, VF_GAUSSIAN)

void NAME(vf_tile)(const vf_job *j, void *memory, int x0, int y0, int x1, int y1)
{
	scratch *s = memory;
	int r = j->radius;
	s->chroma_row = -1;
	s->slots = 2 * r + 2;
	s->x0 = x0, s->x1 = x1, s->top = y0 - r;
	int next = y0 - r;
	for (int y = y0; y < y1; y += 2) {
		for (; next <= y + 1 + r; next++) load_row(j, s, next);
		(j->range == VF_LORENTZIAN ? filter_lorentzian : filter_gaussian)(j, s, y);
		store_rows(j, s, y, y1 - y < 2 ? 1 : 2);
	}
}

size_t NAME(vf_scratch)(void) { return sizeof(scratch); }
