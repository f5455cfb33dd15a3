// BL_Naive of 003 (algorithm 1; section V): the naive form, channel by channel.
//
//   out(p) = sum w s(q) / sum w,  w = Gs(p - q) exp(-(s(p) - s(q))^2 / (2 sigma_r^2))
//
// The spatial weights come from a table ("can be computed in advance", section II). The divisor of
// the exponent stays in the innermost loop, where the paper leaves it in this form only. Threads
// share the rows as with OpenMP's parallel for. The paper does not define the border; here pixels
// whose window leaves the picture stay unchanged.
//
// For each of the three channels: reads and writes a byte a pixel and a float that it is converted
// to; (2 r + 1)^2 taps of 7 operations, one of them a division, and one expf.
//
// Changed: algorithm 1 has s[i,j+l] for the neighbour, without k; results are rounded to bytes. The
// paper's icpc 11 vectorized this by itself (-O3 -xSSE2), with its own vector exp. This is -O2
// without vectors; GCC's -O3 does not vectorise either, because of the call of expf.
#pragma GCC optimize("O2,no-tree-vectorize")
#include <math.h>

#include "cpuform_planes.h"

static float filter_pixel(const vf_form_job *j, const float *centre)
{
	int r = j->radius;
	float sigma_ph = j->sigma_r, sum = 0, weights = 0;
	for (int k = -r; k <= r; k++) {
		for (int l = -r; l <= r; l++) {
			float s = centre[k * plane_pitch(j) + l], pd = (*centre - s) * (*centre - s);
			float gaussian_ph = expf(-pd / (2 * sigma_ph * sigma_ph));
			float w = j->spatial[(k + r) * VF_FORM_ROW + l + r] * gaussian_ph;
			sum += w * s;
			weights += w;
		}
	}
	return sum / weights;
}

static void filter_row(const vf_form_job *j, int channel, int part)
{
	int r = j->radius, y = r + part;
	const float *row = plane_row(j, y);
	for (int x = r; x < j->width - r; x++) *target(j, channel, x, y) = level(filter_pixel(j, row + x));
}

const vf_form vf_form_naive = {.channels = 3, .memory = plane_memory, .steps = {{all_rows, split}, {inner_rows, filter_row}}};
