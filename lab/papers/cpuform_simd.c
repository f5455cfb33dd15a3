// BL_Intrinsic and BL_I_Reduction of 003 (sections IV-B, IV-C and V): four neighbours at a time in
// a vector of 128 bits.
//
//   out(p) = sum w s(q) / sum w,  w = Gs(p - q) 2^((s(p) - s(q))^2 pre_calc_sigma_sq)
//
// A vector holds four neighbours of one pixel, from one row of its window. The table of spatial
// weights is padded with zeros to whole vectors. BL_Intrinsic adds the four weights and the four
// weighted samples to their sums one by one. BL_I_Reduction instead adds neighbours in a vector
// horizontally, weights and samples in one operation (the paper's haddps, which today's processors
// split into the two shuffles and the sum written here), keeps the four partial sums in one vector,
// and adds them once a pixel. Threads share the rows. Borders stay unchanged, see cpuform_naive.c.
//
// For each of the three channels: reads and writes a byte a pixel and a float that it is converted
// to; (2 r + 1) ((2 r + 4) / 4) vectors of 24 operations, and 8 additions or 3.
//
// Changed: results are rounded to bytes. The paper does not name its vector exp (SSE has none; icpc
// 11 has its own function); this is the polynomial of cpu_vectors.h with an error of 3e-06. Its
// rows of 21 are no whole vectors. The zeros in the table are ours. BL_Assembly and BL_A_Reduction
// are the same in instructions chosen by hand, which the paper finds slower: not implemented. -O2,
// no other vectors, and SSE2 only.
#pragma GCC optimize("O2,no-tree-vectorize")
#define VL 4
#include "../../kernels/cpu_vectors.h"

#include "cpuform_planes.h"

// products computes the weights of four neighbours, and the products of weights and samples.
INLINE void products(const float *q, const float *gs, float centre, float pre_calc_sigma_sq, vf *w, vf *ws)
{
	vf s = load(q), d = s - centre;
	*w = exp2_neg(d * d * pre_calc_sigma_sq) * load(gs);
	*ws = *w * s;
}

static float filter_pixel(const vf_form_job *j, const float *centre, float pre_calc_sigma_sq)
{
	int r = j->radius;
	float sum = 0, weights = 0;
	for (int k = 0; k <= 2 * r; k++) {
		const float *q = centre + (k - r) * plane_pitch(j) - r, *gs = j->spatial + k * VF_FORM_ROW;
		for (int l = 0; l <= 2 * r; l += VL) {
			vf w, ws;
			products(q + l, gs + l, *centre, pre_calc_sigma_sq, &w, &ws);
#pragma GCC unroll 4
			for (int i = 0; i < VL; i++) {
				weights += w[i];
				sum += ws[i];
			}
		}
	}
	return sum / weights;
}

static float reduce_pixel(const vf_form_job *j, const float *centre, float pre_calc_sigma_sq)
{
	int r = j->radius;
	vf sums = {}; // two of weights, two of samples
	for (int k = 0; k <= 2 * r; k++) {
		const float *q = centre + (k - r) * plane_pitch(j) - r, *gs = j->spatial + k * VF_FORM_ROW;
		for (int l = 0; l <= 2 * r; l += VL) {
			vf w, ws;
			products(q + l, gs + l, *centre, pre_calc_sigma_sq, &w, &ws);
			sums += add_pairs(w, ws);
		}
	}
	return (sums[2] + sums[3]) / (sums[0] + sums[1]);
}

// The exponent's base is 2, so the constant contains log2(e).
static float constant(const vf_form_job *j) { return -1.44269504f / (2 * j->sigma_r * j->sigma_r); }

static void filter_row(const vf_form_job *j, int channel, int part)
{
	int r = j->radius, y = r + part;
	float pre_calc_sigma_sq = constant(j);
	const float *row = plane_row(j, y);
	for (int x = r; x < j->width - r; x++) *target(j, channel, x, y) = level(filter_pixel(j, row + x, pre_calc_sigma_sq));
}

static void reduce_row(const vf_form_job *j, int channel, int part)
{
	int r = j->radius, y = r + part;
	float pre_calc_sigma_sq = constant(j);
	const float *row = plane_row(j, y);
	for (int x = r; x < j->width - r; x++) *target(j, channel, x, y) = level(reduce_pixel(j, row + x, pre_calc_sigma_sq));
}

const vf_form vf_form_simd = {.channels = 3, .memory = plane_memory, .steps = {{all_rows, split}, {inner_rows, filter_row}}};
const vf_form vf_form_reduction = {.channels = 3, .memory = plane_memory, .steps = {{all_rows, split}, {inner_rows, reduce_row}}};
