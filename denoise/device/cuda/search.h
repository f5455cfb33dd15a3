// Sums of absolute differences between windows of 16 x 16 samples and places in another picture.
// A window lies in the registers of LANES lanes of a warp, ROWS of its rows in each; a warp has
// ACROSS cells in a row, so that its loads are of long rows where vectors are alike. A word of
// the other picture is read once for all places about a vector, without shared memory. The planes
// go on VD_RIM samples beyond their edges, far enough for all.
#pragma once

#include "picture.h"

enum {
	SIDE = 16,              // of a window
	ROW = SIDE / 4,         // words of one of its rows
	LANES = 2, ROWS = SIDE / LANES, ACROSS = 32 / LANES,
	WARPS = 4, THREADS = 32 * WARPS,
	FAR_COST = 0x0fffffff, // more than any sum
	BLOCKS = 5, // of a multiprocessor
};

// words is the number of words that hold a number of samples from any position.
DEVICE constexpr int words(int samples) { return (samples + 6) / 4; }

// A window about a cell. With EDGE it may reach beyond the picture, and has 0 there.
template <bool EDGE> struct window {
	int x, y;  // of its first sample
	int part;  // of the lane
	uint32_t own[ROWS][ROW];
	int count, y0, y1;  // with EDGE: samples inside; the lane's rows inside
	uint32_t mask[ROW]; // and columns
};

// count_inside is how many samples of a window are inside the picture.
DEVICE int count_inside(const plane &p, int x, int y) {
	return (least(x + SIDE, p.width) - most(x, 0)) * (least(y + SIDE, p.height) - most(y, 0));
}

// whole is the sum of a whole window, rounded down.
DEVICE int whole(uint32_t sum, int count) { return (int)((uint64_t)sum * (SIDE * SIDE) / (uint32_t)count); }
template <bool EDGE> DEVICE int scaled(const window<EDGE> &w, uint32_t sum) { return EDGE ? whole(sum, w.count) : (int)sum; }

// mask_of has the bits of the samples inside the picture of a word from column x on.
DEVICE uint32_t mask_of(const plane &p, int x) {
	uint32_t mask = 0;
	UNROLL
	for (int i = 0; i < 4; i++)
		if (x + i >= 0 && x + i < p.width) mask |= 0xffu << 8 * i;
	return mask;
}

template <bool EDGE> DEVICE window<EDGE> window_of(const plane &p, int cell, int x, int y, int part) {
	window<EDGE> w;
	int rim = (SIDE - cell) / 2;
	w.x = x * cell - rim, w.y = y * cell - rim, w.part = part;
	if (EDGE) {
		w.count = count_inside(p, w.x, w.y);
		w.y0 = -w.y - part * ROWS, w.y1 = w.y0 + p.height;
		UNROLL
		for (int k = 0; k < ROW; k++) w.mask[k] = mask_of(p, w.x + 4 * k);
	}
	const uint8_t *from = row_of(p, w.y + part * ROWS) + w.x;
	UNROLL
	for (int i = 0; i < ROWS; i++) {
		UNROLL
		for (int k = 0; k < ROW; k++) {
			w.own[i][k] = load_u32(from + (int64_t)i * p.pitch + 4 * k);
			if (EDGE) w.own[i][k] = i >= w.y0 && i < w.y1 ? w.own[i][k] & w.mask[k] : 0;
		}
	}
	return w;
}

// from_line is a word of a line's bytes, from one on.
DEVICE uint32_t from_line(const uint32_t *line, int byte) { return byte % 4 ? funnel(line[byte / 4], line[byte / 4 + 1], 8 * (byte % 4)) : line[byte / 4]; }

// differences makes the lane's parts of the sums for A x D places, the first at (x, y).
template <int A, int D, bool EDGE>
DEVICE void differences(const window<EDGE> &w, const plane &p, int x, int y, uint32_t *sums) {
	enum { NEED = words(SIDE + A - 1), LINE = (SIDE + A - 1 + 3) / 4 };
	// Further out all samples repeat the edge.
	x = clamp(x, -(SIDE + A - 1), p.width), y = clamp(y, -(SIDE + D - 1), p.height);
	int shift = 8 * (x & 3), first = w.part * ROWS;
	const uint8_t *from = row_of(p, y + first) + (x & ~3);
	UNROLL
	for (int i = 0; i < A * D; i++) sums[i] = 0;
	UNROLL
	for (int j = 0; j < ROWS + D - 1; j++) {
		uint32_t all[NEED + 1], line[LINE + 1];
		UNROLL
		for (int k = 0; k < NEED; k++) all[k] = load_u32(from + (int64_t)j * p.pitch + 4 * k);
		all[NEED] = line[LINE] = 0;
		UNROLL
		for (int k = 0; k < LINE; k++) line[k] = funnel(all[k], all[k + 1], shift);
		UNROLL
		for (int i = 0; i < A; i++) {
			UNROLL
			for (int k = 0; k < ROW; k++) {
				uint32_t there = from_line(line, 4 * k + i);
				if (EDGE) there &= w.mask[k];
				UNROLL
				for (int d = 0; d < D; d++) {
					int row = j - d;
					if (row < 0 || row >= ROWS) continue;
					if (!EDGE || (row >= w.y0 && row < w.y1)) sums[d * A + i] = sad4(w.own[row][k], there, sums[d * A + i]);
				}
			}
		}
	}
}

// from_part is a value of the lane of the same cell whose part differs in a bit.
DEVICE uint32_t from_part(uint32_t v, int bit) { return shuffle_xor(v, bit * ACROSS); }

// Warp: the sum of the values of the cell's lanes.
DEVICE uint32_t total(uint32_t v) {
	UNROLL
	for (int bit = LANES / 2; bit; bit /= 2) v += from_part(v, bit);
	return v;
}

// A vector and its cost; of equal costs the first tried wins. All lanes of a cell have the same.
struct match {
	vector v;
	int cost;
};

// Warp: the least of eight costs times 8 plus its number. Lanes have parts of the sums; cost_of
// makes a cost of a sum and its number.
template <bool EDGE, class F> DEVICE int least_of_eight(const window<EDGE> &w, const uint32_t *parts, F cost_of) {
	uint32_t v[8];
	UNROLL
	for (int i = 0; i < 8; i++) v[i] = parts[i];
	// Values are picked, not their places, which would keep them from registers.
	int n = 8;
	UNROLL
	for (int bit = LANES / 2; bit; bit /= 2) {
		if (n == 1) {
			v[0] += from_part(v[0], bit);
			continue;
		}
		n /= 2;
		UNROLL
		for (int i = 0; i < n; i++) {
			if (LANES > 2) now(v[i]), now(v[i + n]); // with one round they are picked so by themselves
			uint32_t keep = w.part & bit ? v[i + n] : v[i], give = w.part & bit ? v[i] : v[i + n];
			v[i] = keep + from_part(give, bit);
		}
	}
	int first = w.part * 8 / LANES, key = FAR_COST * 8;
	UNROLL
	for (int i = 0; i < n; i++) key = least(key, cost_of(v[i], first + i) * 8 + first + i);
	UNROLL
	for (int bit = LANES / 2; bit; bit /= 2) key = least(key, (int)from_part((uint32_t)key, bit));
	return key;
}

// Warp: try_eight tries the eight vectors around the best one, row by row; v has the lanes' parts
// of their sums. It reports whether one is better.
template <bool EDGE> DEVICE bool try_eight(const window<EDGE> &w, match &best, const uint32_t *v, int penalty, int step) {
	int key = least_of_eight(w, v, [&](uint32_t sum, int) { return scaled(w, sum) + penalty; });
	if (key / 8 >= best.cost) return false;
	int i = key % 8;
	i += i >= 4;
	best = {{best.v.x + (i % 3 - 1) * step, best.v.y + (i / 3 - 1) * step}, key / 8};
	return true;
}

// skip_middle takes the fifth of nine out.
DEVICE void skip_middle(uint32_t *v) {
	UNROLL
	for (int i = 4; i < 8; i++) v[i] = v[i + 1];
}

// Warp: try_between tries the eight vectors in half-pels around the best one.
template <bool EDGE> DEVICE void try_between(const window<EDGE> &w, const vd_plane &to, uint64_t picture, match &best, int penalty) {
	int phase = phase_of(best.v), x = w.x + ((best.v.x - 1) >> 1), y = w.y + ((best.v.y - 1) >> 1);
	uint32_t beside[2], above[2], corners[4];
	differences<2, 1>(w, plane_of(to, picture, phase ^ 1), x, w.y + (best.v.y >> 1), beside);
	differences<1, 2>(w, plane_of(to, picture, phase ^ 2), w.x + (best.v.x >> 1), y, above);
	differences<2, 2>(w, plane_of(to, picture, phase ^ 3), x, y, corners);
	uint32_t sums[8] = {corners[0], above[0], corners[1], beside[0], beside[1], corners[2], above[1], corners[3]};
	try_eight(w, best, sums, penalty, 1);
}

// The vectors of a neighbour.
DEVICE uint8_t *vectors_of(const vd_args &args, int neighbour, int level) {
	if (level == 0) return (uint8_t *)(args.found + neighbour * args.found_stride);
	return (uint8_t *)(args.vectors + neighbour * args.vector_stride) + 4 * (int64_t)args.level[level].first_cell;
}

// nearest sets the vectors that were found at a level for the cell around a cell of half the side,
// and for those beside, above or below, and at the corner; all times unit.
DEVICE void nearest(const vd_args &args, int neighbour, int level, int x, int y, int unit, vector *v) {
	const vd_plane &p = args.level[level];
	const uint8_t *found = vectors_of(args, neighbour, level);
	int across = cells(p.width, SIDE), down = cells(p.height, SIDE);
	int px = least(x / 2, across - 1), py = least(y / 2, down - 1);
	UNROLL
	for (int i = 0; i < 4; i++) {
		int cx = clamp(px + i % 2 * (2 * (x & 1) - 1), 0, across - 1), cy = clamp(py + i / 2 * (2 * (y & 1) - 1), 0, down - 1);
		vector one = unpacked(load_u32(found + 4 * (cy * across + cx)));
		v[i] = {unit * one.x, unit * one.y};
	}
}

// picked is v[n], without an address, so that v stays in registers.
template <int N> DEVICE vector picked(const vector *v, int n) {
	vector out = v[0];
	UNROLL
	for (int i = 1; i < N; i++) out.x = n == i ? +v[i].x : +out.x, out.y = n == i ? +v[i].y : +out.y;
	return out;
}

// Warp: best_of is the best of N vectors, of which v[EXPECTED] has no penalty. differ makes the
// lane's part of the sum for a vector.
template <int N, int EXPECTED, bool EDGE, class F> DEVICE match best_of(const window<EDGE> &w, const vector *v, int penalty, F differ) {
	// A bit for each: tried before, without penalty.
	uint32_t sums[8] = {}, again = ~0u << N, free = 0;
	UNROLL
	for (int i = 0; i < N; i++) {
		UNROLL
		for (int k = 0; k < i; k++) again |= (uint32_t)(v[i] == v[k]) << i;
		free |= (uint32_t)(v[i] == v[EXPECTED]) << i;
	}
	NO_UNROLL
	for (int i = 0; i < N; i++) {
		if (again >> i & 1) continue;
		uint32_t sum = differ(picked<N>(v, i));
		UNROLL
		for (int k = 0; k < N; k++) sums[k] = i == k ? +sum : +sums[k];
	}
	int key = least_of_eight(w, sums, [&](uint32_t sum, int i) {
		return again >> i & 1 ? +FAR_COST : scaled(w, sum) + (free >> i & 1 ? 0 : penalty);
	});
	return {picked<N>(v, key % 8), key / 8};
}

// The cell of a lane. A block takes ACROSS x WARPS of them, of one neighbour, and a warp a row.
struct cell {
	bool none; // for the warp
	bool edge; // the block has windows that reach beyond the picture
	bool own;  // false: it is another's, and the result is dropped
	int x, y, number;
};
DEVICE cell cell_of(const vd_plane &p, int side) {
	int cells_x = cells(p.width, side), cells_y = cells(p.height, side);
	int across = cells(cells_x, ACROSS), row = block_x() / across, rim = (SIDE - side) / 2;
	int x0 = (block_x() - row * across) * ACROSS, y0 = row * WARPS;
	int x = x0 + thread_x() % ACROSS, y = y0 + thread_x() / 32;
	bool edge = x0 * side < rim || (x0 + ACROSS) * side + rim > p.width || y0 * side < rim || (y0 + WARPS) * side + rim > p.height;
	cell c = {y >= cells_y, edge, x < cells_x, least(x, cells_x - 1), y, 0};
	c.number = c.y * cells_x + c.x;
	return c;
}
DEVICE int part_of_lane() { return thread_x() % 32 / ACROSS; }
