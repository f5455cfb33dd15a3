// The C program of Akers (001, tables 1.1 and 1.2), on one thread, and with OpenMP on all: the
// baseline of its CUDA kernel.
//
//   out(p) = sum w I(q) / sum w,  w = Gs(p - q) / (1 + |I(p) - I(q)|^2 / (2 sigma_r^2))
//
// The paper prints only its kernel. This is that kernel's body (section 1.2.5), pixel by pixel:
// pixels packed in words, all four channels in distance and sums, spatial weights from a table,
// the picture padded with black. Threads share the rows as with the default of OpenMP's parallel
// for.
//
// Reads 4 bytes a pixel, (2 r + 1)^2 times but from cache, and writes 4. The padded copy costs as
// much again. (2 r + 1)^2 taps of about 35 operations, one of them a division.
//
// Changed, as in cuda/akers.cu: rounds to nearest where the paper truncates, multiplies red by the
// inverse of the sum where the paper divides by it. The padded copy has alpha 0 everywhere, like
// the black around it (in the paper's frames alpha is 255, so that the black hardly counts), and a
// pixel keeps its own alpha. The paper's times exclude padding (Python pads as it reads); here it
// is a step of its own, and included. The paper does not name its compiler's options. This is -O2
// without vectors.
#pragma GCC optimize("O2,no-tree-vectorize")
#include "cpuform_planes.h"

static ptrdiff_t padded_pitch(const vf_form_job *j) { return j->width + 2 * j->radius; }
static int padded_rows(const vf_form_job *j) { return j->height + 2 * j->radius; }
static size_t memory(const vf_form_job *j) { return sizeof(uint32_t) * padded_pitch(j) * padded_rows(j); }

static uint32_t word_of(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8; }

// pad makes one row of the padded copy.
static void pad(const vf_form_job *j, int channel, int part)
{
	(void)channel;
	int r = j->radius, y = part - r;
	uint32_t *to = (uint32_t *)j->memory + part * padded_pitch(j);
	for (int x = 0; x < padded_pitch(j); x++) to[x] = 0;
	if (y < 0 || y >= j->height) return;
	const uint8_t *from = j->src + y * j->src_pitch;
	for (int x = 0; x < j->width; x++) to[r + x] = word_of(from + 4 * x);
}

static float lorentzian(float x_sq, float factor) { return 1.0f / (1.0f + x_sq * factor); }

static void filter_pixel(const vf_form_job *j, const uint32_t *centre, float factor, uint8_t *to)
{
	int r = j->radius;
	uint8_t red = *centre >> 24, green = *centre >> 16, blue = *centre >> 8, alpha = *centre;
	float sum[4] = {0}, weights = 0;
	for (int wi = -r; wi <= r; wi++) {
		for (int wj = -r; wj <= r; wj++) {
			uint32_t q = centre[wi * padded_pitch(j) + wj];
			uint8_t q_red = q >> 24, q_green = q >> 16, q_blue = q >> 8, q_alpha = q;
			float distance = (float)(q_red - red) * (q_red - red) + (float)(q_green - green) * (q_green - green) +
			                 (float)(q_blue - blue) * (q_blue - blue) + (float)(q_alpha - alpha) * (q_alpha - alpha);
			float w = j->spatial[(wi + r) * VF_FORM_ROW + wj + r] * lorentzian(distance, factor);
			sum[0] += w * q_red;
			sum[1] += w * q_green;
			sum[2] += w * q_blue;
			sum[3] += w * q_alpha;
			weights += w;
		}
	}
	float inverse = 1.0f / weights;
	for (int c = 0; c < 4; c++) to[c] = level(sum[c] * inverse);
}

static int rows(const vf_form_job *j) { return j->height; }

static void filter_row(const vf_form_job *j, int channel, int y)
{
	(void)channel;
	int r = j->radius;
	float factor = 1 / (2 * j->sigma_r * j->sigma_r);
	const uint32_t *from = (const uint32_t *)j->memory + (y + r) * padded_pitch(j) + r;
	const uint8_t *own = j->src + y * j->src_pitch;
	uint8_t *to = j->dst + y * j->dst_pitch;
	for (int x = 0; x < j->width; x++) {
		filter_pixel(j, from + x, factor, to + 4 * x);
		to[4 * x + 3] = own[4 * x + 3];
	}
}

const vf_form vf_form_akers = {.channels = 1, .memory = memory, .steps = {{padded_rows, pad}, {rows, filter_row}}};
