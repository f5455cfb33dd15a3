// Shared by both passes: the patches of a block, their samples and matches, and the sums. A square
// of N x N samples or coefficients lies in N lanes: a lane has a row of samples, or the
// coefficients of one frequency across.
#pragma once

#include "transform.h"

// A block filters ACROSS x DOWN patches of side N, STRIDE apart, and adds them up in shared memory,
// in rows of PITCH samples, before it adds them to the sums in global memory.
template <int N, int STRIDE, int ACROSS, int DOWN, int PITCH> struct shape {
	enum { WIDTH = (ACROSS - 1) * STRIDE + N, HEIGHT = (DOWN - 1) * STRIDE + N, SAMPLES = PITCH * HEIGHT };
	static_assert(WIDTH <= PITCH, "rows overlap");
};

// Rows of N samples of SIZE bytes each, from any address on. The rows of a warp's patches lie in
// lines of their own, and looking those up limits the second pass, so long rows come in few loads.
template <int N, int SIZE> struct samples_row {
	enum { WORDS = N * SIZE / 4, WIDE = N == 8 ? 1 : 4, LOADS = (WORDS - 1) / WIDE + 2 };
	uint32_t words[LOADS * WIDE];
	int byte; // of the first sample
};
template <int N, int SIZE> DEVICE void load_row(samples_row<N, SIZE> &r, const uint8_t *p) {
	typedef samples_row<N, SIZE> row;
	r.byte = (int)((uint64_t)p & (4 * row::WIDE - 1));
	p -= r.byte;
	UNROLL
	for (int i = 0; i < row::LOADS; i++, p += 4 * row::WIDE) {
		uint32_t *to = r.words + row::WIDE * i;
		if constexpr (row::WIDE == 4) {
			uint4 v = load_u128(p);
			to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
		} else {
			to[0] = load_u32(p);
		}
	}
}
// align returns the words from the first sample on.
template <int N, int SIZE> DEVICE void align(const samples_row<N, SIZE> &r, uint32_t *words) {
	typedef samples_row<N, SIZE> row;
	uint32_t w[row::LOADS * row::WIDE];
	UNROLL
	for (int i = 0; i < row::LOADS * row::WIDE; i++) w[i] = r.words[i];
	UNROLL
	for (int n = row::WIDE / 2; n; n /= 2) {
		UNROLL
		for (int i = 0; i < row::WORDS + n; i++) w[i] = select(r.byte & 4 * n, w[i + n], w[i]);
	}
	UNROLL
	for (int i = 0; i < row::WORDS; i++) words[i] = funnel(w[i], w[i + 1], 8 * (r.byte & 3));
}
// put_row converts samples of a depth to float, in 8-bit levels and with the BIAS. The BIAS leaves
// room for 8 bits below those, which become fewer as coefficients are summed up: 13 bits are exact
// to the end of the rows of 8, 12 bits to the end of the rows of 16.
template <int N, int SIZE> DEVICE void put_row(float *x, const samples_row<N, SIZE> &r, int bits) {
	uint32_t words[samples_row<N, SIZE>::WORDS];
	align(r, words);
	UNROLL
	for (int i = 0; i < samples_row<N, SIZE>::WORDS; i++) {
		uint32_t w = words[i];
		UNROLL
		for (int k = 0; k < 4 / SIZE; k++) {
			if (SIZE == 1) {
				x[4 * i + k] = bits_float(byte_perm(w, 0x47000000, 0x7404 | k << 4)); // 2^15 + sample
				continue;
			}
			x[2 * i + k] = bits_float(byte_perm(w << (16 - bits), 0x47000000, 0x7400 | (2 * k + 1) << 4 | 2 * k)); // 2^15 + sample / 2^(bits - 8)
		}
	}
}
// put_exactly converts samples of 16 bits, in units of 1 / unit and without the BIAS.
template <int N> DEVICE void put_exactly(float *x, const samples_row<N, 2> &r, float unit) {
	uint32_t words[samples_row<N, 2>::WORDS];
	align(r, words);
	UNROLL
	for (int i = 0; i < N; i++) {
		uint32_t bits = byte_perm(words[i / 2], 0x4b000000, 0x7400 | (i % 2 * 2 + 1) << 4 | i % 2 * 2); // 2^23 + sample
		x[i] = fma(bits_float(bits), unit, -0x1p23f * unit);                                  // exact
	}
}

// in_square adds up the values of the N lanes of a square.
template <int N> DEVICE float in_square(float v) {
	UNROLL
	for (int i = N / 2; i; i /= 2) v += bits_float(shuffle_xor(float_bits(v), i));
	return v;
}

// patch is the state of one of its lanes.
struct patch {
	int x, y;    // of its first sample
	bool idle;   // there is no such patch, and this is the last one again
	int lane, u; // of the warp, of the patch
	int vector;  // where its vector is in a field, in bytes
};

// vector_of is a patch's vector to a neighbour. The first pass, with patches of 8, has the vectors
// that were found, the second the refined ones.
template <int N> DEVICE vector vector_of(const vd_args &args, int neighbour, const patch &b) {
	uint64_t all = N == 8 ? args.found : args.refined, stride = N == 8 ? args.found_stride : args.refined_stride;
	return unpacked(load_u32((const uint8_t *)(all + (uint64_t)(uint32_t)neighbour * (uint32_t)stride) + b.vector));
}

// set_vector finds the cell of a patch.
template <int N> DEVICE void set_vector(const vd_args &args, int c, patch &b) {
	enum { CELL = N == 8 ? VD_CELL : VD_REFINED_CELL };
	const vd_plane &luma = args.level[0];
	int sx = c ? args.shift_x : 0, sy = c ? args.shift_y : 0, across = cells(luma.width, CELL), down = cells(luma.height, CELL);
	int x = least(((b.x + N / 2) << sx) / CELL, across - 1), y = least(((b.y + N / 2) << sy) / CELL, down - 1);
	b.vector = 4 * (y * across + x);
	now(b.vector); // once for all neighbours
}

// find returns where the patch is in the plane of a neighbour of the launch, in bytes, or OUT if it
// is out of reach. Each of the patch's LANES lanes finds another neighbour.
enum : uint32_t { OUT = ~0u };
template <int N, int LANES = N> DEVICE uint32_t find(const vd_args &args, int c, const patch &b) {
	const vd_plane &p = args.noisy[c];
	if (b.lane % LANES >= args.count) return OUT;
	int neighbour = args.first + b.lane % LANES;
	vector v = vector_of<N>(args, neighbour, b);
	int length = most(v.x, -v.x) + most(v.y, -v.y), reach = args.reach[neighbour];
	if (reach > 0 && length > reach) return OUT;
	if (c) v = {shifted(v.x, args.shift_x), shifted(v.y, args.shift_y)};
	int px = most(least(b.x + (v.x >> 1), p.width - N), 0), py = most(least(b.y + (v.y >> 1), p.height - N), 0);
	return (uint32_t)phase_of(v) * (uint32_t)p.phase + (uint32_t)(py * p.pitch + px * BYTES); // 4 GB at the most
}
// plane_in is where a plane of a neighbour of the launch begins.
DEVICE const uint8_t *plane_in(const vd_args &args, int c, int number) { return (const uint8_t *)(args.to[args.first + number] + args.noisy[c].offset); }

// Warp: fitting has a bit for each neighbour of the launch that resembles the frame.
DEVICE uint32_t fitting(const vd_args &args) {
	int lane = thread_x() % 32;
	return ballot(lane < args.count && fits(args, args.first + lane));
}

// whole_weight is the weight of a patch by the mean of its squared differences, in variances.
DEVICE float whole_weight(const vd_args &args, float mean, float expected) { return exp2(args.fade * most(0.0f, mean - expected)); }

DEVICE float unit_clamped(float v) { return least(most(v, 0.0f), 1.0f); }

// load_noise copies to shared memory: 1 / a plane's standard deviations, 64, and the curve, 256.
DEVICE void load_noise(const vd_args &args, int plane, float *inverse, float *curve, int threads) {
	for (int i = thread_x(); i < 256; i += threads) {
		curve[i] = args.curve[i];
		if (i < 64) inverse[i] = square_root(args.inverse[plane][i]);
	}
}

// inverse_factor is 1 / the factor of the variance in a patch of that mean. The curve is luma's.
DEVICE float inverse_factor(const vd_args &args, int c, const float *curve, float mean) {
	float factor = c == 0 ? curve[clamp((int)mean, 0, 255)] : 1.0f;
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

// centre takes the middle of the range from the DC.
template <int N> DEVICE void centre(float *coefficients, int u) { coefficients[0] -= u == 0 ? 128.0f * N : 0; }

// add_row adds the lane's row, less 128, of a patch whose result lies at an index of the block's
// sums.
template <int N> DEVICE void add_row(const vd_args &args, const block_sums &s, const float *x, float weight, int u, int index) {
	float own = weight * args.window[u];
	UNROLL
	for (int i = 0; i < N; i++) {
		int w = nearest(own * args.window[i]);
		add_shared(s.weights + index + i, w);
		add_shared(s.values + index + i, nearest((float)w * x[i]));
	}
}

// flush adds the block's sums to the plane's.
template <class SHAPE, int PITCH, int WARPS> DEVICE void flush(const vd_args &args, int c, const block_sums &s, int x0, int y0) {
	enum { PARTS = (SHAPE::WIDTH + 31) / 32 };
	const vd_plane &p = args.noisy[c];
	int x = thread_x() % 32;
	for (int y = thread_x() / 32; y < SHAPE::HEIGHT; y += WARPS) {
		uint8_t *row = (uint8_t *)(args.sums[c] + 8 * ((uint64_t)(y0 + y) * p.width + x0 + x));
		uint32_t weights[PARTS], values[PARTS]; // all on their way at once
		UNROLL
		for (int i = 0; i < PARTS; i++) {
			int at = y * PITCH + least(x + 32 * i, SHAPE::WIDTH - 1);
			weights[i] = x + 32 * i < SHAPE::WIDTH ? (uint32_t)s.weights[at] : 0;
			values[i] = (uint32_t)s.values[at];
		}
		UNROLL
		for (int i = 0; i < PARTS; i++)
			if (weights[i]) add_u64(row + 256 * i, ((uint64_t)values[i] << 32) + weights[i]);
	}
}
