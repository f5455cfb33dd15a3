// The pair-symmetric form of 003 (algorithm 2) on the CPU (section VI-B): each pair of pixels is
// weighted once and counts for both.
//
//   w = Gs(p - q) exp((s(p) - s(q))^2 pre_calc_sigma_sq)
//   D1(p) += w s(q), D2(p) += w, D1(q) += w s(p), D2(q) += w
//       for each p and the half of its window below it and to its left
//   out(p) = D1(p) / D2(p)
//
// D1 and D2 are the paper's maps, pictures of floats that hold the sums. A pixel accumulates its
// own sums in registers, and its neighbours' in memory.
//
// Threads: pixels of a row write into the rows below it. The picture is cut into bands of 16 rows;
// all even bands are filtered in parallel, then the odd ones. A band reaches into the next one,
// but even at the largest radius not to its last row, so bands filtered in parallel never share a
// row. The paper does so on the GPU ("tiles can be spaced apart in strides"); on the CPU it
// measured one thread. The bands, and so the order of each pixel's additions, are the same for any
// number of threads: results are the same bits.
//
// For each of the three channels: a byte a pixel in and out, a float that it is converted to, and
// 8 bytes of maps, which are read and written (2 r + 1) r + r times from cache; as many taps, half
// of the naive form's, of 12 operations and one expf.
//
// Changed: algorithm 2 lets l run to 0 in its last loop, so that a pixel's own sample counts
// twice; here it counts once. Neighbours outside the picture are left out; pixels with such
// neighbours stay unchanged, as in the other forms. Results are rounded to bytes. -O2 without
// vectors.
#pragma GCC optimize("O2,no-tree-vectorize")
#include <math.h>

#include "cpuform_planes.h"

enum { BAND = 16 }; // rows, at least the largest radius

static size_t memory(const vf_form_job *j) { return 3 * plane_memory(j); }
static float *map_row(const vf_form_job *j, int map, int y) { return plane_row(j, y) + map * plane_size(j); }

static int smaller(int a, int b) { return a < b ? a : b; }

// clear is split, and an empty row of each map.
static void clear(const vf_form_job *j, int channel, int y)
{
	split(j, channel, y);
	for (int map = 1; map <= 2; map++) memset(map_row(j, map, y), 0, sizeof(float) * j->width);
}

// A pixel's place and its own sums.
typedef struct {
	int x, y;
	float s, x1, x2;
} centre;

// pair_row pairs a pixel with its neighbours first <= l <= last of the row k below it.
static void pair_row(const vf_form_job *j, centre *p, int k, int first, int last, float pre_calc_sigma_sq)
{
	const float *s = plane_row(j, p->y + k) + p->x, *gs = j->spatial + (k + j->radius) * VF_FORM_ROW + j->radius;
	float *d1 = map_row(j, 1, p->y + k) + p->x, *d2 = map_row(j, 2, p->y + k) + p->x;
	for (int l = first; l <= last; l++) {
		float pd = (p->s - s[l]) * (p->s - s[l]);
		float w = gs[l] * expf(pd * pre_calc_sigma_sq);
		p->x1 += w * s[l];
		p->x2 += w;
		d1[l] += w * p->s;
		d2[l] += w;
	}
}

static void pair_pixel(const vf_form_job *j, int x, int y, float pre_calc_sigma_sq)
{
	float s = plane_row(j, y)[x];
	centre p = {x, y, s, s, 1}; // with its own sample, whose weight is 1
	int r = j->radius, left = -smaller(r, x), right = smaller(r, j->width - 1 - x);
	for (int k = 1; k <= smaller(r, j->height - 1 - y); k++) pair_row(j, &p, k, left, right, pre_calc_sigma_sq);
	pair_row(j, &p, 0, left, -1, pre_calc_sigma_sq);
	map_row(j, 1, y)[x] += p.x1;
	map_row(j, 2, y)[x] += p.x2;
}

static void filter_band(const vf_form_job *j, int band)
{
	float pre_calc_sigma_sq = -1 / (2 * j->sigma_r * j->sigma_r);
	for (int y = band * BAND; y < smaller((band + 1) * BAND, j->height); y++)
		for (int x = 0; x < j->width; x++) pair_pixel(j, x, y, pre_calc_sigma_sq);
}

static int bands(const vf_form_job *j) { return inner_rows(j) > 0 ? (j->height + BAND - 1) / BAND : 0; }
static int even_bands(const vf_form_job *j) { return (bands(j) + 1) / 2; }
static int odd_bands(const vf_form_job *j) { return bands(j) / 2; }

static void filter_even(const vf_form_job *j, int channel, int part)
{
	(void)channel;
	filter_band(j, 2 * part);
}

static void filter_odd(const vf_form_job *j, int channel, int part)
{
	(void)channel;
	filter_band(j, 2 * part + 1);
}

static void divide(const vf_form_job *j, int channel, int part)
{
	int r = j->radius, y = r + part;
	const float *d1 = map_row(j, 1, y), *d2 = map_row(j, 2, y);
	for (int x = r; x < j->width - r; x++) *target(j, channel, x, y) = level(d1[x] / d2[x]);
}

const vf_form vf_form_pair = {
	.channels = 3,
	.memory = memory,
	.steps = {{all_rows, clear}, {even_bands, filter_even}, {odd_bands, filter_odd}, {inner_rows, divide}},
};
