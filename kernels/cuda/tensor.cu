// The tensor form of the bilateral filter: the joint distance in RGB at larger radii, on tensor
// cores (compute capability 8.0 and up).
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q)),  D^2 = dR^2 + dG^2 + dB^2
//
// D^2 = |q|^2 - 2 q.p + |p|^2 is a scalar product, and so is each sum of w I(q). Every pixel of
// the block's tile and halo becomes a record of 8 halves, colours centred on 128 and divided by 8,
//
//   q = (r, g, b, 0, m high, m low, 1/8, 1/8)
//
// with m = |rgb|^2 + K/2 in two halves and K = 2 sigma_r^2 / 64. With a row made from p's own
// record,
//
//   (2 r, 2 g, 2 b, 0, -1, -1, -8 m high, -8 m low)
//
// one m16n8k8 multiply gives
//
//   -x = -(D^2 / 64 + K)
//
// for 16 pixels p (a square of 4 x 4) and 8 neighbours q (GROUP_W x GROUP_H).
//
// The weight is K / x times the spatial one, in pairs of halves: an integer subtraction
// approximates 1 / x, a Newton step improves it to 0.2 %, and VF_MIX of VF_OF groups use the
// otherwise idle reciprocal unit instead. A second multiply, weights by records, adds up W r, W g,
// W b and W / 8 in float32: the 1/8 in the record counts the weights, in units of the colours. For
// the Gaussian, K is 0 and the weight is 2^(log2 Gs - x log2(e) 32 / sigma_r^2).
//
// Both multiplies read the same records from shared memory, by rows and by columns (ldmatrix). The
// weights err by 0.2 %, the means by at most 0.05 levels before rounding. Borders by args.border;
// rounded to nearest; not in place. Reads and writes 4 bytes each a pixel for RGBA, 1.5 for 4:2:0.
// The window of 16 pixels is (4 + 2 r)^2, rounded up to groups, which is why other forms are
// faster at small radii; a weight costs 2.5 instructions.
#include "planes.h"

enum {
	R = VF_RADIUS,
	WIDTH = VF_WIDTH, HEIGHT = VF_HEIGHT, // pixels of a block
	WARPS = VF_WARPS, THREADS = 32 * WARPS,
	GROUP_W = VF_GROUP, GROUP_H = 8 / GROUP_W, // neighbours of one multiply
	STEP = GROUP_W > 4 ? GROUP_W : 4,          // from one square of a job to the next
	// filtered by a warp at a time, side by side, with shared records
	SQUARES = VF_SQUARES,
	ACROSS = (4 + 2 * R + GROUP_W - 1) / GROUP_W, // groups across the windows of a square
	DOWN = (4 + 2 * R + GROUP_H - 1) / GROUP_H,
	// groups in a row that the squares of a job read
	LOADS = ACROSS + (SQUARES - 1) * (STEP / GROUP_W),
	ROWS = HEIGHT - 4 + DOWN * GROUP_H,
	COLUMNS = WIDTH - 4 + ACROSS * GROUP_W,
	// columns before the tile, to load whole vectors of pixels
	SHIFT = -R & 3,
	VECTORS = (SHIFT + COLUMNS + 3) / 4,
	// records. The rows of a group fall into different banks
	PITCH = (4 * VECTORS + 3) / 8 * 8 + 4,
	JOBS_X = WIDTH / (SQUARES * STEP) * (STEP / 4), JOBS = JOBS_X * (HEIGHT / 4),
};
static_assert(WIDTH % (SQUARES * STEP) == 0 && HEIGHT % 4 == 0, "squares must fill the tile");

// record converts a word to its record; bias is K / 2. Samples of two bytes have up to 12 bits,
// which a half holds once they are centred; scale makes their levels eighths of 8-bit ones.
#if VF_BYTES == 2
DEVICE uint4 record(lanes word, float bias, float middle, float scale) {
	float r = (lane_float(word, 0) - middle) * scale, g = (lane_float(word, 1) - middle) * scale, b = (lane_float(word, 2) - middle) * scale;
	float m = fma(r, r, fma(g, g, fma(b, b, bias))), high = low_float(half2_of(m, 0));
	return uint4{half2_of(r, g), half2_of(b, 0), half2_of(high, m - high), 0x30003000};
}
#else
DEVICE uint4 record(uint32_t word, float bias, float, float) {
	// A byte n under 0x64 is the half 1024 + n; subtract 1024 + 128 and divide by 8. The 0x80
	// stands for the missing fourth colour.
	const half2 eighth = 0x30003000, centre = 0xD880D880;
	half2 rg = half2_fma(byte_perm(word, 0x64648064, 0x4140), eighth, centre);
	half2 b0 = half2_fma(byte_perm(word, 0x64648064, 0x4542), eighth, centre);
	uint32_t v = word ^ 0x808080; // the centred bytes, signed
	float m = fma(bits_float(dot4_signed(v, v, float_bits(ROUND))) - ROUND, 1.0f / 64, bias);
	float high = low_float(half2_of(m, 0));
	return uint4{rg, b0, half2_of(high, m - high), 0x30003000};
}
#endif

// A level of 8 bits in levels of the depth.
DEVICE float unit_of(const vf_args &args) { return middle_of(args) * (1.0f / 128); }
DEVICE float two_var_of(const vf_args &args) { return args.two_var / (unit_of(args) * unit_of(args)); }
DEVICE float gauss_of(const vf_args &args) { return args.gauss * (unit_of(args) * unit_of(args)); }

// load fills the records of the tile, whose first vector begins at the pixel x0, y0. A lane makes
// four adjacent records, so its neighbours' are 64 bytes away: lanes start with different ones of
// their four, or eight lanes would meet in two banks.
DEVICE void load(const vf_args &args, uint4 *records, int thread, int x0, int y0, float bias) {
	const int turn = thread / 2 & 3;
	const float middle = middle_of(args), scale = 1 / (8 * unit_of(args));
	load_tile<VECTORS, ROWS, THREADS>(args, thread, x0, y0, words_of, [=](int row, int x, word4 w) {
		if (turn & 1) w = word4{w.y, w.x, w.w, w.z};
		if (turn & 2) w = word4{w.z, w.w, w.x, w.y};
		uint4 *to = records + row * PITCH + x;
		UNROLL
		for (int k = 0; k < 4; k++) to[k ^ turn] = record(word_of(w, k), bias, middle, scale);
	});
}

// A warp's state of a square: the 16 pixels' own rows, and the sums.
struct square {
	half2 own[2];
	float sum[4];
};

// weights turns -x into weights, in place; space is their spatial part.
DEVICE half2 weights(half2 x, half2 space, half2 scale) {
	if (VF_RANGE == VF_GAUSSIAN) return half2_exp2(half2_fma(x, scale, space));
	// Subtracts the exponents and approximately the mantissas. The signs cancel.
	half2 guess = 0xF79BF79B - x;
	half2 rest = half2_fma(x, guess, 0x40014001);
	return half2_mul(half2_mul(guess, rest), space);
}

DEVICE half2 weights_by_unit(const float *x, half2 space) {
	return half2_mul(half2_of(reciprocal(-x[0]), reciprocal(-x[1])), space);
}

// by_unit reports whether the reciprocal unit takes group j of square i: VF_MIX of VF_OF groups,
// spread evenly in the order of work.
DEVICE constexpr bool by_unit(int i, int j) { return VF_RANGE == VF_LORENTZIAN && (j * SQUARES + i) * VF_MIX % VF_OF < VF_MIX; }

// weigh computes the weights w of a square for the group of neighbours q.
DEVICE void weigh(half2 *w, const square &s, uint32_t q, half2 space0, half2 space1, half2 scale, bool unit) {
	if (unit) {
		float x[4];
		mma_k8_float(x, s.own, q);
		w[0] = weights_by_unit(x, space0);
		w[1] = weights_by_unit(x + 2, space1);
		return;
	}
	half2 x[2];
	mma_k8_half(x, s.own, q);
	w[0] = weights(x[0], space0, scale);
	w[1] = weights(x[1], space1, scale);
}

DEVICE half2 both(half2 across, half2 down) {
	return VF_RANGE == VF_GAUSSIAN ? half2_add(across, down) : half2_mul(across, down);
}

// filter_row adds one row of groups to the sums of a job's squares. down has the spatial weights
// of the row for the upper and the lower pixels of a square. Two groups are added at a time, the
// first an even one of the job: their records then lie in a pair of registers, as the multiply
// requires.
DEVICE void filter_row(square *s, const uint4 *row, const half2 *across, half2 down0, half2 down1, half2 scale) {
	const int step = STEP / GROUP_W;
	uint32_t by_row[LOADS + 3], by_column[LOADS + 3];
	UNROLL
	for (int m = 0; m < LOADS; m += 4) {
		const uint4 *at = row + m * GROUP_W;
		if (LOADS - m > 2) {
			load_matrices<4, false>(by_row + m, at);
			load_matrices<4, true>(by_column + m, at);
		} else {
			load_matrices<2, false>(by_row + m, at);
			load_matrices<2, true>(by_column + m, at);
		}
	}
	half2 w[SQUARES][4];
	UNROLL
	for (int j = 0; j < ACROSS; j++) {
		const half2 space0 = both(across[j], down0), space1 = both(across[j], down1);
		UNROLL
		for (int i = 0; i < SQUARES; i++) {
			const int at = i * step + j, odd = at & 1;
			weigh(w[i] + 2 * odd, s[i], by_row[at], space0, space1, scale, by_unit(i, j));
			if (odd && j > 0) mma_k16_add(s[i].sum, w[i], by_column[at - 1], by_column[at]);
			else if (odd || j == ACROSS - 1) mma_k8_add(s[i].sum, w[i] + 2 * odd, by_column[at]);
		}
	}
}

// axis is the spatial weight at the distance d along one axis; beyond the radius 0, or an exponent
// that makes 2^x 0.
DEVICE float axis(const vf_args &args, int d) {
	d = d < 0 ? -d : d;
	return d > R ? VF_RANGE == VF_GAUSSIAN ? -100.0f : 0 : args.axis[d];
}

// finish writes the words of one square to the stage: of each four lanes, the first holds r and g
// of two pixels, the second b, the last the sums of their weights.
DEVICE void finish(const vf_args &args, const square &s, lanes *stage, int lane) {
	const float unit = unit_of(args), middle = 128 * unit + TIE_UP;
	UNROLL
	for (int half = 0; half < 2; half++) {
		float weight = bits_float(shuffle(float_bits(s.sum[2 * half + 1]), lane | 3));
		float scale = reciprocal(weight) * unit;
		float a = fma(s.sum[2 * half], scale, middle) + ROUND, b = fma(s.sum[2 * half + 1], scale, middle) + ROUND;
#if VF_BYTES == 1
		uint32_t pair = byte_perm(float_bits(a), float_bits(b), lane & 1 ? 0x5550 : 0x5540);
		if (lane % 4 < 2) ((uint16_t *)(stage + half * 2 * WIDTH))[lane & 1] = (uint16_t)pair;
#else
		if (lane % 4 < 2) ((uint32_t *)(stage + half * 2 * WIDTH))[lane & 1] = lane & 1 ? float_bits(a) & 0xffff : pair(a, b);
#endif
	}
}

KERNEL(VF_NAME, THREADS, VF_BLOCKS) {
	uint4 *tile = (uint4 *)shared_memory(), *records = tile + SHIFT;
	lanes *stage = (lanes *)(tile + PITCH * ROWS);
	const int lane = thread_x(), warp = thread_y(), thread = warp * 32 + lane, g = lane / 4, t = lane % 4;
	const int x0 = block_x() * WIDTH, y0 = block_y() * HEIGHT;
	// The spatial weights of rows, duplicated in both halves: index i is the distance i - R - 3.
	half2 *down = (half2 *)(stage + WIDTH * HEIGHT);
	if (thread < 2 * R + 8) down[thread] = half2_of(axis(args, thread - R - 3), axis(args, thread - R - 3));
	load(args, tile, thread, x0 - R - SHIFT, y0 - R, VF_RANGE == VF_GAUSSIAN ? 0 : two_var_of(args) / 128);
	barrier();

	// Lane g holds the pixels (g % 4, g / 4) and (g % 4, g / 4 + 2) of a square, lane t the
	// neighbours 2 t and 2 t + 1 of a group.
	const int px = g % 4, py = g / 4, qx = 2 * t % GROUP_W, qy = 2 * t / GROUP_W;
	const float k = two_var_of(args) / 64;
	half2 across[ACROSS];
	UNROLL
	for (int j = 0; j < ACROSS; j++) {
		int d = j * GROUP_W + qx - R - px;
		across[j] = VF_RANGE == VF_GAUSSIAN ? half2_of(axis(args, d), axis(args, d + 1)) : half2_of(k * axis(args, d), k * axis(args, d + 1));
	}
	// A lane's part of a pixel's own row: the halves of its record times a, plus b.
	const half2 a = t < 2 ? 0x40004000 : t == 2 ? 0 : 0xC800C800, b = t == 2 ? 0xBC00BC00 : 0;
	const half2 scale = VF_RANGE == VF_GAUSSIAN ? half2_of(gauss_of(args), gauss_of(args)) : 0;
	// The address that each lane gives to load_matrices: record lane % 8 of group lane / 8.
	const int from = lane % 8 / GROUP_W * PITCH + lane % 8 % GROUP_W + lane / 8 * GROUP_W;

	for (int job = warp; job < JOBS; job += WARPS) {
		const int x = job % JOBS_X / (STEP / 4) * SQUARES * STEP + job % JOBS_X % (STEP / 4) * 4, y = job / JOBS_X * 4;
		square s[SQUARES];
		UNROLL
		for (int i = 0; i < SQUARES; i++) {
			s[i].sum[0] = s[i].sum[1] = s[i].sum[2] = s[i].sum[3] = 0;
			UNROLL
			for (int half = 0; half < 2; half++) {
				const uint32_t *own = (const uint32_t *)(records + (y + R + py + 2 * half) * PITCH + x + i * STEP + R + px);
				s[i].own[half] = half2_fma(own[t == 3 ? 2 : t], a, b);
			}
		}
		const uint4 *row = records + y * PITCH + x + from;
		const half2 *dy = down + 3 + qy - py;
		UNROLL_BY(VF_UNROLL)
		for (int j = 0; j < DOWN; j++, row += GROUP_H * PITCH, dy += GROUP_H) {
			filter_row(s, row, across, dy[0], dy[-2], scale);
		}
		UNROLL
		for (int i = 0; i < SQUARES; i++) finish(args, s[i], stage + (y + py) * WIDTH + x + i * STEP + px, lane);
	}
	barrier();
	store_tile<WIDTH, WIDTH, HEIGHT, THREADS>(args, stage, thread, x0, y0);
}
