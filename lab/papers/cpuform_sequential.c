// Version 0 of 000, the sequential version (section 5.2): the baseline of the GPU in tables 6.4 to
// 6.9.
//
//   out(p)_c = sum w I(q)_c / sum w,  w = Gs(p - q) exp(-(I(p)_c - I(q)_c)^2 / (2 sigma_r^2))
//
// Each channel separately on packed pixels; spatial weights from a table, range weights computed
// for each pair of pixels by a function; pixels whose window leaves the picture stay unchanged.
// One thread: the steps' parts are rows only so that a filter can be stopped between them.
//
// Reads 4 bytes a pixel, (2 r + 1)^2 times but from cache, and writes 4; 3 (2 r + 1)^2 taps of 7
// operations, one of them a division, and one expf.
//
// Changed: results are rounded to nearest (the thesis does not define rounding; its own bound
// between versions is a difference of 1), pixels have 4 bytes instead of 3, alpha is unchanged. The
// thesis does not name its compiler's options either. This is -O2 without vectors.
#pragma GCC optimize("O2,no-tree-vectorize")
#include <math.h>
#include <string.h>

#include "cpuform_planes.h"

static float range_weight(float difference, float sigma)
{
	return expf(-(difference * difference) / (2 * sigma * sigma));
}

static void filter_pixel(const vf_form_job *j, const uint8_t *centre, uint8_t *to)
{
	int r = j->radius;
	float sum[3] = {0}, weights[3] = {0};
	for (int dy = -r; dy <= r; dy++) {
		for (int dx = -r; dx <= r; dx++) {
			const uint8_t *q = centre + dy * j->src_pitch + 4 * dx;
			float gs = j->spatial[(dy + r) * VF_FORM_ROW + dx + r];
			for (int c = 0; c < 3; c++) {
				float w = gs * range_weight((float)(q[c] - centre[c]), j->sigma_r);
				sum[c] += w * q[c];
				weights[c] += w;
			}
		}
	}
	for (int c = 0; c < 3; c++) to[c] = level(sum[c] / weights[c]);
}

static int rows(const vf_form_job *j) { return j->height; }

static void filter_row(const vf_form_job *j, int channel, int y)
{
	(void)channel;
	const uint8_t *from = j->src + y * j->src_pitch;
	uint8_t *to = j->dst + y * j->dst_pitch;
	memcpy(to, from, 4 * (size_t)j->width);
	int r = j->radius;
	if (y < r || y + r >= j->height) return;
	for (int x = r; x + r < j->width; x++) filter_pixel(j, from + 4 * x, to + 4 * x);
}

const vf_form vf_form_sequential = {.channels = 1, .steps = {{rows, filter_row}}};
