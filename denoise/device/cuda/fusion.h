// What both passes share: the patches of a block, their samples and matches, and the sums. A square
// of N x N samples or coefficients lies in N lanes: of the samples, a lane has a row; of the
// coefficients, those of one frequency across.
#pragma once

#include "transform.h"

// A block filters ACROSS x DOWN patches of side N, STRIDE apart, and adds them up in shared memory,
// in rows of PITCH samples, before it adds them to the sums in global memory.
template <int N, int STRIDE, int ACROSS, int DOWN, int PITCH> struct shape {
	enum { WIDTH = (ACROSS - 1) * STRIDE + N, HEIGHT = (DOWN - 1) * STRIDE + N, SAMPLES = PITCH * HEIGHT };
	static_assert(WIDTH <= PITCH, "rows overlap");
};

// Rows of N samples of SIZE bytes each, from any address on.
template <int N, int SIZE> struct samples_row {
	enum { WORDS = N * SIZE / 4 };
	uint32_t words[WORDS + 1];
	int byte;
};
template <int N, int SIZE> DEVICE void load_row(samples_row<N, SIZE> &r, const uint8_t *p) {
	r.byte = (int)((uint64_t)p & 3);
	UNROLL
	for (int i = 0; i <= samples_row<N, SIZE>::WORDS; i++) r.words[i] = load_u32(p - r.byte + 4 * i);
}
// put_row converts samples to float, in units of 1 / unit.
template <int N, int SIZE> DEVICE void put_row(float *x, const samples_row<N, SIZE> &r, float unit) {
	UNROLL
	for (int i = 0; i < samples_row<N, SIZE>::WORDS; i++) {
		uint32_t w = funnel(r.words[i], r.words[i + 1], 8 * r.byte);
		UNROLL
		for (int k = 0; k < 4 / SIZE; k++) { // 2^23 + sample as a float
			uint32_t bits = byte_perm(w, 0x4b000000, SIZE == 1 ? 0x7440 | k : 0x7400 | (2 * k + 1) << 4 | 2 * k);
			x[i * 4 / SIZE + k] = fma(bits_float(bits), unit, -0x1p23f * unit); // exact
		}
	}
}

// in_square adds up the values of the N lanes of a square.
template <int N> DEVICE float in_square(float v, int lane) {
	UNROLL
	for (int i = N / 2; i; i /= 2) v += bits_float(shuffle(float_bits(v), lane ^ i));
	return v;
}

// place is a patch, as one of its lanes sees it.
struct patch {
	int x, y;    // of its first sample
	bool idle;   // there is no such patch, and this is the last one again
	int lane, u; // of the warp, of the patch
};

// match is where the patch is in a neighbour.
struct found {
	const uint8_t *row; // of the lane
	bool out;           // of reach
};
template <int N> DEVICE found find(const vd_args &args, int c, int neighbour, const patch &b) {
	const vd_plane &luma = args.level[0], &p = args.noisy[c];
	int sx = c ? args.shift_x : 0, sy = c ? args.shift_y : 0;
	int x = least(((b.x + N / 2) << sx) >> args.cell_shift, luma.cells_x - 1), y = least(((b.y + N / 2) << sy) >> args.cell_shift, luma.cells_y - 1);
	const uint8_t *field = (const uint8_t *)(args.fields + neighbour * args.field_stride);
	vector v = unpacked(load_u32(field + 4 * (y * luma.cells_x + x)));
	int length = most(v.x, -v.x) + most(v.y, -v.y), reach = args.reach[neighbour];
	v = {shifted(v.x, sx), shifted(v.y, sy)};
	plane from = plane_of(p, args.to[neighbour], phase_of(v));
	int px = clamp(b.x + (v.x >> 1), 0, p.width - N), py = clamp(b.y + (v.y >> 1), 0, p.height - N);
	return {row_of(from, py + b.u) + px * BYTES, reach > 0 && length > reach};
}

// whole_weight is the weight of a patch by the mean of its squared differences, in variances.
DEVICE float whole_weight(const vd_args &args, float mean, float expected) { return exp2(args.fade * most(0.0f, mean - expected)); }

DEVICE float unit_clamped(float v) { return least(most(v, 0.0f), 1.0f); }

// inverse_factor is 1 / the factor of the variance in a patch of that mean.
DEVICE float inverse_factor(const vd_args &args, int c, const float *curve, float mean) {
	float factor = curve[clamp((int)mean, 0, 255)];
	if (args.clip[c] > 0) {
		float z = (255 - mean) * args.clip[c];
		factor *= 0.34f + 0.66f * unit_clamped((z - 0.4f) * (1 / 1.6f));
	}
	return reciprocal(factor);
}

// The block's sums: values and weights of its samples.
struct block_sums {
	int32_t *values, *weights;
};
template <class SHAPE> DEVICE void clear(const block_sums &s, int threads) {
	for (int i = thread_x(); i < SHAPE::SAMPLES; i += threads) s.values[i] = s.weights[i] = 0;
}

// add_row adds the lane's row of a patch whose result lies at an index of the block's sums.
template <int N> DEVICE void add_row(const vd_args &args, const block_sums &s, const float *x, float weight, int u, int index) {
	float own = weight * args.window[u];
	UNROLL
	for (int i = 0; i < N; i++) {
		int w = nearest(own * args.window[i]);
		add_shared(s.weights + index + i, w);
		add_shared(s.values + index + i, nearest((float)w * (x[i] - 128)));
	}
}

// flush adds the block's sums to those of the plane.
template <class SHAPE, int PITCH> DEVICE void flush(const vd_args &args, int c, const block_sums &s, int x0, int y0, int threads) {
	const vd_plane &p = args.noisy[c];
	for (int i = thread_x(); i < SHAPE::SAMPLES; i += threads) {
		int y = i / PITCH, x = i - y * PITCH;
		if (s.weights[i] == 0) continue;
		uint64_t both = ((uint64_t)(uint32_t)s.values[i] << 32) + (uint32_t)s.weights[i];
		add_u64((uint8_t *)(args.sums[c] + 8 * ((uint64_t)(y0 + y) * p.width + x0 + x)), both);
	}
}
