// The first pass: patches of 8 x 8, STRIDE apart, are averaged with their matches in the
// neighbours, frequency by frequency, and the remaining noise is shrunk. A warp has four patches:
// lane u of a patch holds the coefficients of frequency u across.
//
// A patch reads 8 x 8 samples of each frame and spends on each some 64 operations on transforms,
// 128 on pooling and 512 on weights. Its 64 results are added up in shared memory. A block adds
// each of its samples to global memory once.
#include "fusion.h"

enum { N = 8, STRIDE = VF_STRIDE, ACROSS = 16, DOWN = 8, WARPS = 4, THREADS = 32 * WARPS };
// The four patches of a warp are SPREAD apart, so that their sums lie in different banks.
enum { SPREAD = STRIDE == 4 ? 2 : 1, PITCH = STRIDE == 5 ? 84 : 97 };
typedef shape<N, STRIDE, ACROSS, DOWN, PITCH> own_shape;
enum { BUFFER = transposition<N>::WORDS };

// The frequencies of a lane.
struct frequencies {
	float scale[N];      // 1 / the standard deviation here
	float left, right;   // 1 if there is one to the left and to the right
	float ends, middle;  // 1 / the count of those around the first and the last, and the others
	float gate0, gate1;  // factors of the gate of the DC and the slopes, in rows 0 and 1
};

DEVICE float from_left(float v) { return bits_float(shuffle_up(float_bits(v), 1)); }
DEVICE float from_right(float v) { return bits_float(shuffle_down(float_bits(v), 1)); }

// pool replaces values by the sums over the 3 x 3 frequencies around each.
DEVICE void pool(const frequencies &f, float *e) {
	float down[N];
	UNROLL
	for (int v = 0; v < N; v++) down[v] = e[v] + (v > 0 ? e[v - 1] : 0) + (v < N - 1 ? e[v + 1] : 0);
	UNROLL
	for (int v = 0; v < N; v++) e[v] = fma(f.right, from_right(down[v]), fma(f.left, from_left(down[v]), down[v]));
}

// A patch's mean over the frames, with the sums of the weights and of their squares.
struct fused {
	float mean[N], weight[N], square[N];
};

// weigh adds a neighbour's coefficients. The reference is scaled.
DEVICE void weigh(const vd_args &args, const frequencies &f, const patch &b, const float *reference, const float *t, fused &all) {
	float e[N], sum = 0;
	UNROLL
	for (int v = 0; v < N; v++) {
		float d = fma(t[v], f.scale[v], -reference[v]);
		e[v] = d * d;
		sum = fma(d, d, sum);
	}
	float whole = whole_weight(args, in_square<N>(sum) * (1.0f / 64), 2);
	float gate0 = f.gate0 * e[0], gate1 = f.gate1 * e[1];
	pool(f, e);
	float ends = f.ends * args.frequency, middle = f.middle * args.frequency, least_part = fma(-2.0f, args.frequency, 1.0f);
	UNROLL
	for (int v = 0; v < N; v++) {
		// 1 + frequency * (mean - 2)
		float part = fma(e[v], v == 0 || v == N - 1 ? ends : middle, least_part);
		if (v < 2) part = most(part, fma(v ? gate1 : gate0, args.frequency, least_part));
		float w = whole * reciprocal(most(part, 1.0f));
		all.mean[v] = fma(w, t[v], all.mean[v]);
		all.weight[v] += w;
		all.square[v] = fma(w, w, all.square[v]);
	}
}

// shrink replaces the sums by the coefficients of the result and returns how much noise is left.
DEVICE float shrink(const vd_args &args, const frequencies &f, const patch &b, fused &all) {
	float e[N], rich = 0;
	UNROLL
	for (int v = 0; v < N; v++) {
		float r = reciprocal(all.weight[v]);
		all.mean[v] *= r;
		all.square[v] *= r * r;
		float scaled = all.mean[v] * f.scale[v];
		e[v] = scaled * scaled * reciprocal(all.square[v]);
		if (v == 0 && b.u == 0) e[v] = 0;
		rich += least(e[v], 9.0f);
	}
	rich = in_square<N>(rich) * (1.0f / 63);
	float threshold = most(args.least_threshold, fma(-args.threshold_fall, log2(most(rich, 1.0f)), args.threshold));
	threshold *= threshold;
	pool(f, e);
	float left = 0;
	UNROLL
	for (int v = 0; v < N; v++) {
		float share = v == 0 || v == N - 1 ? f.ends : f.middle; // of one of those around
		// Next to the DC there is one less.
		if (v == 0 && b.u == 1) share = 1.0f / 5;
		if (v == 1 && b.u == 0) share = 1.0f / 5;
		if (v == 1 && b.u == 1) share = 1.0f / 8;
		float gain = most(args.least_gain, 1 - threshold * reciprocal(e[v] * share));
		if (v == 0 && b.u == 0) gain = 1;
		all.mean[v] *= gain;
		left = fma(gain * gain, all.square[v], left);
	}
	return in_square<N>(left);
}

// patch_at is the patch of a lane in a round.
DEVICE patch patch_at(const vd_args &args, const tile &t, int round) {
	const vd_plane &p = args.noisy[t.plane];
	int lane = thread_x() % 32, group = round * WARPS + thread_x() / 32; // of four patches
	int column = group % (ACROSS / 4), row = group / (ACROSS / 4);
	column = column / SPREAD * 4 * SPREAD + column % SPREAD + lane / 8 * SPREAD;
	int x = (t.x * ACROSS + column) * STRIDE, y = (t.y * DOWN + row) * STRIDE;
	// Patches begin each stride, and one at the edge.
	bool idle = x >= p.width - N + STRIDE || y >= p.height - N + STRIDE;
	patch b = {least(x, p.width - N), least(y, p.height - N), idle, lane, lane % 8, 0};
	set_vector<N>(args, t.plane, b);
	return b;
}

DEVICE void set_frequencies(const vd_args &args, const float *inverse, float factor, const patch &b, frequencies &f) {
	UNROLL
	for (int v = 0; v < N; v++) f.scale[v] = inverse[v * N + b.u] * factor;
	f.left = b.u > 0, f.right = b.u < N - 1;
	float across = b.u == 0 || b.u == N - 1 ? 1.0f / 2 : 1.0f / 3;
	f.ends = across * (1.0f / 2), f.middle = across * (1.0f / 3);
	f.gate0 = !args.dc_gate ? 0 : b.u == 0 ? 1 : b.u == 1 ? 0.5f : 0;
	f.gate1 = args.dc_gate && b.u == 0 ? 0.5f : 0;
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 5) {
	tile t = tile_of(args);
	const vd_plane &p = args.noisy[t.plane];
	block_sums sums = {(int32_t *)shared_memory(), (int32_t *)shared_memory() + own_shape::SAMPLES};
	float *tables = (float *)(sums.weights + own_shape::SAMPLES), *inverse = tables, *curve = tables + 64;
	float *buffer = tables + 64 + 256 + thread_x() / 32 * BUFFER;
	clear<own_shape>(sums, THREADS);
	load_noise(args, t.plane, inverse, curve, THREADS);
	uint32_t used = fitting(args);
	barrier();
	int x0 = least(t.x * ACROSS * STRIDE, p.width - N), y0 = least(t.y * DOWN * STRIDE, p.height - N);
	NO_UNROLL
	for (int round = 0; round < ACROSS * DOWN / (4 * WARPS); round++) {
		patch b = patch_at(args, t, round);
		samples_row<N, BYTES> raw;
		load_row(raw, row_of(plane_of(p, args.centre, 0), b.y + b.u) + b.x * BYTES);
		float reference[N];
		put_row(reference, raw, args.depth);
		uint32_t left = used, matches = find<N>(args, t.plane, b), row = (uint32_t)(b.u * p.pitch);
		bool more = false;
		auto load_next = [&] { // the samples of the next neighbour are on their way meanwhile
			more = left;
			if (!more) return;
			int number = __builtin_ctz(left);
			left &= left - 1;
			load_row(raw, plane_in(args, t.plane, number) + (row + shuffle(matches, (b.lane & ~7) | number)));
		};
		load_next();
		forward<N, true>(reference, buffer, b.lane);
		float mean = bits_float(shuffle(float_bits(reference[0]), b.lane & ~7)) * (1.0f / N);
		frequencies f;
		set_frequencies(args, inverse, square_root(inverse_factor(args, t.plane, curve, mean)), b, f);
		fused all;
		UNROLL
		for (int v = 0; v < N; v++) all.mean[v] = reference[v], reference[v] *= f.scale[v], all.weight[v] = all.square[v] = 1;
		NO_UNROLL
		while (more) {
			float own[N];
			put_row(own, raw, args.depth);
			load_next();
			forward<N, true>(own, buffer, b.lane);
			weigh(args, f, b, reference, own, all);
		}
		float weight = args.weight_unit * reciprocal(most(shrink(args, f, b, all), 0.1f));
		centre<N>(all.mean, b.u);
		::inverse<N>(all.mean, buffer, b.lane);
		if (!b.idle) add_row<N>(args, sums, all.mean, weight, b.u, (b.y - y0 + b.u) * PITCH + b.x - x0);
	}
	barrier();
	flush<own_shape, PITCH, WARPS>(args, t.plane, sums, x0, y0);
}
