// The second pass: patches of 16 x 16, STRIDE apart, are averaged with their matches in the
// neighbours, weighted for each group of 4 x 4 frequencies by how they differ from the pilot,
// shrunk by how much of the energy is the pilot's, and blended with the pilot. A warp has two
// patches: lane u of a patch holds the coefficients of frequency u across.
//
// A patch reads 16 x 16 samples of each frame and of the pilot and spends on each some 460
// operations on transforms and as many on each 16 coefficients of the mean. Its 256 results are
// added up in shared memory. A block adds each of its samples to global memory once.
#include "fusion.h"

enum { N = 16, STRIDE = VF_STRIDE, ACROSS = 10, DOWN = 8, WARPS = 4, THREADS = 32 * WARPS };
enum { PITCH = 71, GROUPS = 4 };
typedef shape<N, STRIDE, ACROSS, DOWN, PITCH> own_shape;
enum { BUFFER = transposition<N>::WORDS };

// The weights of a frame in a lane: of the groups, and of the first two rows, which the gate of the
// DC sets apart in some lanes.
enum { WEIGHTS = GROUPS + 2 };
DEVICE constexpr int weight_of(int v) { return v < 2 ? GROUPS + v : v / 4; }

// A patch's mean over the frames, with the sums of the weights and of their squares.
struct fused {
	float mean[N], weight[WEIGHTS], square[WEIGHTS];
};

constexpr float LEAST_ENERGY = 1e-20f; // keeps the gain 1 without a share of the noise

struct frequencies {
	float scale[N / 2];   // 1 / the standard deviation here, of two rows each
	float gate0, gate1;   // factors of the gate of the DC and the slopes, in rows 0 and 1
};

DEVICE float from_lane(float v, int lane) { return bits_float(shuffle(float_bits(v), lane)); }

// collect adds up the values of four lanes, which have the same groups: lane k gets
// group k.
DEVICE float collect(const float *v, int lane) {
	auto half = [&](float a, float b, int bit) {
		float keep = lane & bit ? b : a, give = lane & bit ? a : b;
		return keep + bits_float(shuffle_xor(float_bits(give), bit));
	};
	return half(half(v[0], v[2], 2), half(v[1], v[3], 2), 1);
}

// weights_of returns a neighbour's weights, by its mean excess over all frequencies and over
// groups, of which a lane has one, and by the excess in the first two rows.
DEVICE void weights_of(const vd_args &args, const frequencies &f, const patch &b, float whole, float own, const float *e, float *weights) {
	auto weight = [&](float mean) { return whole * reciprocal(fma(args.frequency, most(0.0f, mean - 1), 1.0f)); };
	float w = weight(own), first = from_lane(own, b.lane & ~3);
	UNROLL
	for (int i = 0; i < GROUPS; i++) weights[i] = from_lane(w, (b.lane & ~3) + i);
	weights[GROUPS] = weight(most(first, f.gate0 * e[0]));
	weights[GROUPS + 1] = weight(most(first, f.gate1 * e[1]));
}

// weigh adds a neighbour's coefficients. The pilot is scaled.
DEVICE void weigh(const vd_args &args, const frequencies &f, const patch &b, const float *pilot, const float *t, bool out, fused &all) {
	float group[GROUPS], e[2];
	UNROLL
	for (int v = 0; v < N; v++) {
		float d = fma(t[v], f.scale[v / 2], -pilot[v]);
		if (v < 2) e[v] = d * d;
		group[v / 4] = v == 1 ? e[0] + e[1] : v % 4 ? fma(d, d, group[v / 4]) : d * d;
	}
	float own = collect(group, b.lane);
	float whole = whole_weight(args, in_square<N>(own) * (1.0f / 256), 1);
	if (out) whole = 0;
	own *= 1.0f / 16;
	float weights[WEIGHTS];
	weights_of(args, f, b, whole, own, e, weights);
	UNROLL
	for (int i = 0; i < WEIGHTS; i++) {
		all.weight[i] += weights[i];
		all.square[i] = fma(weights[i], weights[i], all.square[i]);
	}
	UNROLL
	for (int v = 0; v < N; v++) all.mean[v] = fma(weights[weight_of(v)], t[v], all.mean[v]);
}

// extend adds the coefficients of the mean of count frames before the window, which are compared
// with the mean so far. The DC, which changes as the light does, is judged by itself.
DEVICE void extend(const vd_args &args, const frequencies &f, const patch &b, const float *t, float count, bool out, fused &all) {
	// The weight becomes 1 / variance: the frames that the mean so far is worth.
	float scale[WEIGHTS], left[WEIGHTS], expected[WEIGHTS];
	UNROLL
	for (int i = 0; i < WEIGHTS; i++) {
		scale[i] = all.weight[i] * reciprocal(all.square[i]);
		all.weight[i] *= scale[i];
		all.square[i] = all.weight[i];
		left[i] = reciprocal(all.weight[i]);
		expected[i] = reciprocal(left[i] + reciprocal(count));
	}
	float e[N], group[GROUPS];
	UNROLL
	for (int v = 0; v < N; v++) {
		all.mean[v] *= scale[weight_of(v)];
		float d = fma(all.mean[v], -left[weight_of(v)], t[v]);
		d *= f.scale[v / 2];
		e[v] = d * d * expected[weight_of(v)];
	}
	UNROLL
	for (int i = 0; i < GROUPS; i++) group[i] = ((i || b.u ? e[4 * i] : 0) + e[4 * i + 1]) + (e[4 * i + 2] + e[4 * i + 3]);
	float own = collect(group, b.lane);
	float whole = whole_weight(args, in_square<N>(own) * (1.0f / 255), 1);
	if (out) whole = 0;
	float weights[WEIGHTS];
	weights_of(args, f, b, whole, own * (b.u ? 1.0f / 16 : 1.0f / 15), e, weights);
	UNROLL
	for (int i = 0; i < WEIGHTS; i++) {
		float more = count * weights[i];
		all.weight[i] += more;
		all.square[i] = fma(more, weights[i], all.square[i]);
		weights[i] = more;
	}
	UNROLL
	for (int v = 0; v < N; v++) all.mean[v] = fma(weights[weight_of(v)], t[v], all.mean[v]);
}

// in_mean is the mean variance over the frequencies; a lane has those of its weights.
DEVICE float in_mean(const float *s) {
	return in_square<N>((s[GROUPS] + s[GROUPS + 1]) + 2 * s[0] + 4 * (s[1] + s[2] + s[3])) * (1.0f / 256);
}

// quiet reports whether a patch stands still, by the vector to the nearest neighbour that fits, and
// enough frames agree.
DEVICE bool quiet(const vd_args &args, const patch &b, int nearest, const fused &all) {
	vector v = vector_of<16>(args, nearest, b);
	bool moves = most(v.x, -v.x) + most(v.y, -v.y) > args.past_reach;
	if (shuffle(moves, b.lane & 15) + shuffle(moves, b.lane | 16) == 2) return false; // both patches
	float left[WEIGHTS];
	UNROLL
	for (int i = 0; i < WEIGHTS; i++) {
		float r = reciprocal(all.weight[i]);
		left[i] = all.square[i] * r * r;
	}
	float mean = in_mean(left);
	return !moves && mean <= args.past_most;
}

// shrink replaces the sums by the coefficients of the result, which include the pilot's share, and
// returns the noise left.
DEVICE float shrink(const vd_args &args, const frequencies &f, const patch &b, const float *pilot, fused &all) {
	UNROLL
	for (int i = 0; i < WEIGHTS; i++) {
		float r = reciprocal(all.weight[i]);
		all.weight[i] = r;
		all.square[i] *= r * r;
	}
	float share = args.share * unit_clamped((in_mean(all.square) - args.share_from) * args.share_rise);
	float left = 0, unscale[N / 2];
	UNROLL
	for (int v = 0; v < N / 2; v++) unscale[v] = reciprocal(f.scale[v]);
	UNROLL
	for (int v = 0; v < N; v++) {
		float energy = fma(pilot[v], pilot[v], LEAST_ENERGY), variance = all.square[weight_of(v)];
		float gain = energy * reciprocal(fma(args.noise_share, variance, energy));
		float own = all.mean[v] * (gain * all.weight[weight_of(v)]);
		all.mean[v] = fma(share, fma(pilot[v], unscale[v / 2], -own), own);
		left = fma(gain * gain, variance, left);
	}
	return in_square<N>(left);
}

// patch_at is the patch of a lane in a round.
DEVICE patch patch_at(const vd_args &args, const tile &t, int round) {
	const vd_plane &p = args.noisy[t.plane];
	int lane = thread_x() % 32, n = 2 * (round * WARPS + thread_x() / 32) + lane / 16, row = n / ACROSS;
	int x = (t.x * ACROSS + n - row * ACROSS) * STRIDE, y = (t.y * DOWN + row) * STRIDE;
	// Patches begin each stride, and one at the edge.
	bool idle = x >= p.width - N + STRIDE || y >= p.height - N + STRIDE;
	patch b = {least(x, p.width - N), least(y, p.height - N), idle, lane, lane % 16, 0};
	set_vector<N>(args, t.plane, b);
	return b;
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	const vd_plane &p = args.noisy[t.plane];
	block_sums sums = {(int32_t *)shared_memory(), (int32_t *)shared_memory() + own_shape::SAMPLES};
	float *inverse = (float *)(sums.weights + own_shape::SAMPLES), *curve = inverse + 64;
	float *buffer = curve + 256 + thread_x() / 32 * BUFFER;
	clear<own_shape>(sums, THREADS);
	load_noise(args, t.plane, inverse, curve, THREADS);
	uint32_t used = fitting(args);
	barrier();
	int nearest = -1;
	if (args.pasts)
		for (int i = args.nears - 1; i >= 0; i--)
			if (used >> (args.nearest[i] - args.first) & 1) nearest = args.nearest[i];
	float pilot_unit = 1.0f / (1 << (args.pilot_bits - 8));
	int x0 = least(t.x * ACROSS * STRIDE, p.width - N), y0 = least(t.y * DOWN * STRIDE, p.height - N);
	NO_UNROLL
	for (int round = 0; round < ACROSS * DOWN / (2 * WARPS); round++) {
		patch b = patch_at(args, t, round);
		samples_row<N, 2> pilot_row;
		load_row(pilot_row, (const uint8_t *)(args.pilot[t.plane] + (int64_t)(b.y + b.u) * args.pilot_pitch[t.plane] + 2 * b.x));
		samples_row<N, BYTES> raw;
		load_row(raw, row_of(plane_of(p, args.centre, 0), b.y + b.u) + b.x * BYTES);
		float pilot[N];
		put_exactly(pilot, pilot_row, pilot_unit);
		fused all;
		put_row(all.mean, raw, args.depth);
		bool out = false;
		uint32_t matches = find<N>(args, t.plane, b), row = (uint32_t)(b.u * p.pitch);
		uint32_t near = ballot(matches != OUT), left = used & (near | near >> 16); // to one of both patches
		bool more = false;
		auto load_next = [&] { // the samples of the next neighbour are on their way meanwhile
			more = left;
			if (!more) return;
			int number = __builtin_ctz(left);
			left &= left - 1;
			uint32_t at = shuffle(matches, (b.lane & 16) | number);
			out = at == OUT;
			load_row(raw, plane_in(args, t.plane, number) + (row + (out ? 0 : at)));
		};
		load_next();
		forward<N>(pilot, buffer, b.lane);
		forward<N, true>(all.mean, buffer, b.lane);
		float mean = from_lane(pilot[0], b.lane & ~15) * (1.0f / N);
		float factor = square_root(inverse_factor(args, t.plane, curve, mean));
		frequencies f;
		UNROLL
		for (int v = 0; v < N / 2; v++) f.scale[v] = inverse[v * 8 + b.u / 2] * factor;
		f.gate0 = !args.dc_gate ? 0 : b.u == 0 ? 1 : b.u == 1 ? 0.5f : 0;
		f.gate1 = args.dc_gate && b.u == 0 ? 0.5f : 0;
		UNROLL
		for (int v = 0; v < N; v++) pilot[v] *= f.scale[v / 2];
		UNROLL
		for (int i = 0; i < WEIGHTS; i++) all.weight[i] = all.square[i] = 1;
		NO_UNROLL
		while (more) {
			float own[N];
			put_row(own, raw, args.depth);
			bool skip = out;
			load_next();
			forward<N, true>(own, buffer, b.lane);
			weigh(args, f, b, pilot, own, skip, all);
		}
		bool still = nearest >= 0 && quiet(args, b, nearest, all);
		if (nearest >= 0 && shuffle(still, b.lane & 15) + shuffle(still, b.lane | 16) > 0) {
			NO_UNROLL
			for (int i = 0; i < args.pasts; i++) {
				float own[N];
				load_row(pilot_row, (const uint8_t *)(args.past[i][t.plane] + (int64_t)(b.y + b.u) * args.pilot_pitch[t.plane] + 2 * b.x));
				put_exactly(own, pilot_row, args.past_unit[i]);
				forward<N>(own, buffer, b.lane);
				extend(args, f, b, own, args.past_count[i], !still, all);
			}
		}
		float weight = args.weight_unit * reciprocal(most(shrink(args, f, b, pilot, all), 0.1f));
		centre<N>(all.mean, b.u);
		::inverse<N>(all.mean, buffer, b.lane);
		if (!b.idle) add_row<N>(args, sums, all.mean, weight, b.u, (b.y - y0 + b.u) * PITCH + b.x - x0);
	}
	barrier();
	flush<own_shape, PITCH, WARPS>(args, t.plane, sums, x0, y0);
}
