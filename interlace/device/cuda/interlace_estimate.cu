// The first estimate of a field: its own rows, and the missing rows from interlace.Net. Sums have
// the order of the reference, so results are bit-exact.
//
// A thread computes 4 samples of a missing row and copies 4 samples of the own row beside it. It
// reads 12 samples of 6 rows. A sample takes about 500 operations.
#include "lines.h"

enum {
	WIDTH = 128, PAIRS = 8, THREADS = 256, // a block: samples per row, rows of the field
	MADE = 4, BESIDE = 4, COLUMNS = MADE + 2 * BESIDE,
	ROWS = 6, ABOVE = 2, // rows around a gap, and index of the row above it
};

// load_row loads samples from column x, in 8-bit levels. Beyond the edges, the edge samples repeat.
DEVICE void load_row(const uint8_t *row, int width, int x, float scale, float *v) {
	if (x >= 0 && x + COLUMNS <= width) {
		UNROLL
		for (int i = 0; i < COLUMNS; i += 4) {
			four s = load_four(row + (x + i) * BYTES);
			UNROLL
			for (int k = 0; k < 4; k++) v[i + k] = (float)s.v[k] * scale;
		}
		return;
	}
	UNROLL
	for (int i = 0; i < COLUMNS; i++) {
		const uint8_t *at = row + clamp(x + i, 0, width - 1) * BYTES;
		v[i] = (float)(int)(BYTES == 1 ? load_u8(at) : load_u16(at)) * scale;
	}
}

DEVICE float magnitude(float v) { return v > -v ? v : -v; }

// compared returns unit i of the gap between two rows at column x.
DEVICE float compared(const vi_net &net, int i, const float *above, const float *below, int x) {
	float sum = 0;
	UNROLL
	for (int j = 0; j < VI_WIDTH; j++) sum += net.pair[i][j] * (above[x + j - VI_REACH] - below[x - j + VI_REACH]);
	return magnitude(sum);
}

KERNEL_OF(vi_args, VF_NAME, THREADS, 1) {
	tile t = tile_of(args);
	const vi_samples &to = args.result[t.plane];
	int x = t.x * WIDTH + thread_x() % 32 * MADE, pair = t.y * PAIRS + thread_x() / 32;
	if (x >= to.width || 2 * pair >= to.height) return;
	plane field = plane_of(args, args.now, t.plane, args.bottom);
	int bottom = to.height > 1 ? args.bottom : 0, own = 2 * pair + bottom, missing = 2 * pair + 1 - bottom;
	uint8_t *result = (uint8_t *)to.at + x * BYTES; // rows are padded to whole groups of four samples
	if (own < to.height) store_four(result + (int64_t)own * to.pitch, load_four(row_of(field, pair) + x * BYTES));
	if (missing >= to.height) return;

	const vi_net &net = args.net;
	float unit = (float)(1 << (args.depth - 8)), scale = 1 / unit, rows[ROWS][COLUMNS];
	UNROLL
	for (int i = 0; i < ROWS; i++) load_row(row_of(field, pair - bottom + i - ABOVE), args.plane[t.plane].width, x - BESIDE, scale, rows[i]);

	float pooled[VI_PAIRS][MADE];
	UNROLL
	for (int i = 0; i < VI_PAIRS; i++) {
		float of[3][MADE + 2]; // by gap
		UNROLL
		for (int g = 0; g < 3; g++)
			UNROLL
			for (int k = 0; k < MADE + 2; k++) of[g][k] = compared(net, i, rows[ABOVE - 1 + g], rows[ABOVE + g], BESIDE - 1 + k);
		UNROLL
		for (int k = 0; k < MADE; k++) {
			float sum = net.centre[i][0] * of[1][k + 1];
			sum += net.centre[i][1] * (of[1][k] + of[1][k + 2]);
			UNROLL
			for (int j = 0; j < 3; j++) sum += net.outer[i][j] * (of[0][k + j] + of[2][k + 2 - j]);
			pooled[i][k] = sum;
		}
	}
	four made;
	UNROLL
	for (int k = 0; k < MADE; k++) {
		float s[VI_SUMS], units[VI_UNITS];
		int at = BESIDE + k;
		UNROLL
		for (int j = 0; j < VI_WIDTH; j++) {
			s[j] = rows[ABOVE][at + j - VI_REACH] + rows[ABOVE + 1][at - j + VI_REACH];
			s[VI_WIDTH + j] = rows[ABOVE - 1][at + j - VI_REACH] + rows[ABOVE + 2][at - j + VI_REACH];
		}
		UNROLL
		for (int j = 0; j < 3; j++) s[2 * VI_WIDTH + j] = rows[ABOVE - 2][at + j - 1] + rows[ABOVE + 3][at - j + 1];
		UNROLL
		for (int i = 0; i < VI_FLAT; i++) {
			float sum = net.flat_bias[i];
			UNROLL
			for (int j = 0; j < VI_SUMS; j++) sum += net.flat[i][j] * s[j];
			units[i] = magnitude(sum);
		}
		UNROLL
		for (int i = 0; i < VI_PAIRS; i++) units[VI_FLAT + i] = pooled[i][k];
		float weights = net.mean, total = 0.5f * s[VI_REACH] * net.mean;
		UNROLL
		for (int i = 0; i < VI_GATES; i++) {
			float gate = net.gate_bias[i], filtered = 0;
			UNROLL
			for (int j = 0; j < VI_UNITS; j++) gate += net.gate[i][j] * units[j];
			gate = gate > 0 ? gate : 0;
			UNROLL
			for (int j = 0; j < VI_SUMS; j++) filtered += net.filter[i][j] * s[j];
			weights += gate;
			total += gate * filtered;
		}
		made.v[k] = rounded(args, (total / weights + net.bias) * unit);
	}
	store_four(result + (int64_t)missing * to.pitch, made);
}
