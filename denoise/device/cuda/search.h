// Sums of absolute differences between windows of 16 x 16 samples and places in another picture. A
// warp works on two windows, each of its halves on one: a lane has a row in registers. What it is
// compared with comes from a region in shared memory, in words as they lie in the picture, so that
// each is read once, whatever the number of places. Lanes are counted within their half.
#pragma once

#include "picture.h"

enum {
	SIDE = 16,                   // of a window
	ROW = SIDE * BYTES / 4,      // words of a lane's samples
	FAR_COST = 0x0fffffff,       // more than any sum
	WARPS = 8, THREADS = 32 * WARPS,
};

// words is how many words hold so many samples from any one on.
DEVICE constexpr int words(int samples) { return (samples * BYTES + 6) / 4; }

struct window {
	int x, y; // of its first sample; may be outside
	uint32_t own[ROW], mask[ROW]; // own is 0 where mask is
	int count; // samples inside the picture
	int full;  // 0 if all are, otherwise how many there could be
	int lane, row; // the same
};

// word_at assembles a word of a row, with clamped places.
DEVICE uint32_t word_at(const plane &p, int byte, int y) {
	uint32_t word = 0;
	UNROLL
	for (int i = 0; i < 4 / BYTES; i++) word |= clamped(p, byte / BYTES + i, y) << 8 * BYTES * i;
	return word;
}

// set_inside sets mask and count to the window's samples inside the picture, if side is less than
// 16 only those of the square of that side in its middle.
DEVICE void set_inside(window &w, const plane &p, int side) {
	int rim = (SIDE - side) / 2;
	int x0 = most(w.x + rim, 0), x1 = least(w.x + rim + side, p.width);
	int y0 = most(w.y + rim, 0), y1 = least(w.y + rim + side, p.height);
	w.count = (x1 - x0) * (y1 - y0);
	w.full = w.count == SIDE * SIDE ? 0 : side * side;
	int y = w.y + w.row;
	UNROLL
	for (int k = 0; k < ROW; k++) {
		w.mask[k] = 0;
		UNROLL
		for (int i = 0; i < 4 / BYTES; i++) {
			int x = w.x + k * 4 / BYTES + i;
			if (x >= x0 && x < x1 && y >= y0 && y < y1) w.mask[k] |= (BYTES == 1 ? 0xffu : 0xffffu) << 8 * BYTES * i;
		}
	}
}

// window_of is that about a cell.
DEVICE window window_of(const plane &p, int cell, int x, int y, int lane) {
	window w;
	int rim = (SIDE - cell) / 2;
	w.x = x * cell - rim, w.y = y * cell - rim;
	w.row = w.lane = lane;
	set_inside(w, p, SIDE);
	UNROLL
	for (int k = 0; k < ROW; k++) {
		int byte = w.x * BYTES + 4 * k, row = w.y + w.row;
		w.own[k] = w.full ? word_at(p, byte, row) & w.mask[k] : load_u32(row_of(p, row) + byte);
	}
	return w;
}

// load_region copies rows of so many samples from (x, y) on, and returns the byte of the first
// sample in the region's rows of words(SAMPLES) words.
template <int ROWS, int SAMPLES>
DEVICE int load_region(uint32_t *to, const plane &p, int x, int y, int lane) {
	enum { WORDS = words(SAMPLES) };
	int byte = x * BYTES & ~3;
	if (x >= 0 && x + SAMPLES <= p.width && y >= 0 && y + ROWS <= p.height) {
		// Two rows at a time, or word by word if they are long.
		enum { ACROSS = WORDS <= 8 ? 8 : 16, STEP = 16 / ACROSS };
		int column = lane % ACROSS;
		const uint8_t *from = row_of(p, y + lane / ACROSS) + byte + 4 * column;
		uint32_t *own = to + lane / ACROSS * WORDS + column;
		UNROLL
		for (int i = 0; i < ROWS; i += STEP)
			if (column < WORDS && (ROWS % STEP == 0 || i + lane / ACROSS < ROWS)) own[i * WORDS] = load_u32(from + (int64_t)i * p.pitch);
	} else {
		NO_UNROLL
		for (int i = lane; i < ROWS * WORDS; i += 16) to[i] = word_at(p, byte + i % WORDS * 4, y + i / WORDS);
	}
	return x * BYTES & 3;
}

#if VF_BYTES == 1
DEVICE uint32_t sad_word(uint32_t a, uint32_t b, uint32_t sum) { return sad4(a, b, sum); }
#else
DEVICE uint32_t sad_word(uint32_t a, uint32_t b, uint32_t sum) {
	int low = (int)(a & 0xffff) - (int)(b & 0xffff), high = (int)(a >> 16) - (int)(b >> 16);
	return sum + (uint32_t)most(low, -low) + (uint32_t)most(high, -high);
}
#endif

DEVICE uint32_t difference(const window &w, const uint32_t *words) {
	uint32_t sum = 0;
	UNROLL
	for (int k = 0; k < ROW; k++) sum = sad_word(w.own[k], words[k] & w.mask[k], sum);
	return sum;
}

// at_place is the lane's part of the sum for the place at a byte and a row of a region.
template <int WORDS> DEVICE uint32_t at_place(const window &w, const uint32_t *region, int byte, int row) {
	const uint32_t *p = region + (row + w.row) * WORDS + byte / 4;
	uint32_t all[ROW + 1], own[ROW];
	UNROLL
	for (int k = 0; k <= ROW; k++) all[k] = p[k];
	UNROLL
	for (int k = 0; k < ROW; k++) own[k] = funnel(all[k], all[k + 1], 8 * (byte & 3));
	return difference(w, own);
}

// nine is at_place for the nine places of which the first is at a byte and a row of a region.
template <int WORDS> DEVICE void nine(const window &w, const uint32_t *region, int byte, int row, uint32_t *sums) {
	enum { NEED = (18 * BYTES + 3) / 4 };
	UNROLL
	for (int j = 0; j < 3; j++) {
		const uint32_t *p = region + (row + j + w.row) * WORDS + byte / 4;
		uint32_t all[NEED + 1], line[NEED + 1];
		UNROLL
		for (int k = 0; k <= NEED; k++) all[k] = p[k];
		UNROLL
		for (int k = 0; k < NEED; k++) line[k] = funnel(all[k], all[k + 1], 8 * (byte & 3));
		line[NEED] = 0;
		UNROLL
		for (int i = 0; i < 3; i++) {
			uint32_t own[ROW];
			UNROLL
			for (int k = 0; k < ROW; k++) {
				int first = k + i * BYTES / 4, rest = i * BYTES % 4;
				own[k] = rest ? funnel(line[first], line[first + 1], 8 * rest) : line[first];
			}
			sums[3 * j + i] = difference(w, own);
		}
	}
}

DEVICE uint32_t from_lane(uint32_t v, int bit) { return shuffle(v, thread_x() % 32 ^ bit); }

// Warp: the sum of all values of the half.
DEVICE uint32_t total(uint32_t v) {
	UNROLL
	for (int i = 8; i; i /= 2) v += from_lane(v, i);
	return v;
}
// Warp: lane l gets the sum of the values number l / 2 of the half.
DEVICE uint32_t total_of_eight(const uint32_t *v, int lane) {
	uint32_t four[4], two[2];
	// Values are picked, not their places, which would keep them from registers.
	auto half = [&](uint32_t a, uint32_t b, int bit) {
		uint32_t keep = lane & bit ? b : a, give = lane & bit ? a : b;
		return keep + from_lane(give, bit);
	};
	UNROLL
	for (int i = 0; i < 4; i++) four[i] = half(v[i], v[i + 4], 8);
	UNROLL
	for (int i = 0; i < 2; i++) two[i] = half(four[i], four[i + 2], 4);
	uint32_t one = half(two[0], two[1], 2);
	return one + from_lane(one, 1);
}

// scaled is the sum of a whole window, rounded down.
DEVICE int scaled(const window &w, uint32_t sum) {
	return w.full ? (int)((uint64_t)sum * (uint32_t)w.full / (uint32_t)w.count) : (int)sum;
}

// A vector and its cost; of equal costs the first tried wins. All lanes of a half have the same.
struct match {
	vector v;
	int cost;
};

// Warp: the least of the costs that each two lanes have for a number, times 8 plus the number.
DEVICE int least_of_eight(int cost, int lane) {
	int key = cost * 8 + lane / 2;
	UNROLL
	for (int i = 2; i < 16; i *= 2) key = least(key, (int)from_lane((uint32_t)key, i));
	return key;
}

// Warp: try_eight tries the eight vectors around the best one, row by row; v has the lanes' parts
// of their sums. It says whether one is better.
DEVICE bool try_eight(const window &w, match &best, const uint32_t *v, int penalty, int step) {
	int key = least_of_eight(scaled(w, total_of_eight(v, w.lane)) + penalty, w.lane);
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

// Warp: try_between tries the eight vectors in half-pels around the best one. region is for three
// times 17 rows.
DEVICE void try_between(const window &w, const vd_plane &to, uint64_t picture, match &best, int penalty, uint32_t *region) {
	enum { WORDS = words(SIDE + 1), SIZE = WORDS * (SIDE + 1) };
	int x = (best.v.x - 1) >> 1, y = (best.v.y - 1) >> 1, phase = phase_of(best.v), byte = 0;
	warp_barrier();
	UNROLL
	for (int i = 1; i < 4; i++) byte = load_region<SIDE + 1, SIDE + 1>(region + (i - 1) * SIZE, plane_of(to, picture, phase ^ i), w.x + x, w.y + y, w.lane);
	warp_barrier();
	uint32_t sums[8];
	UNROLL
	for (int i = 0; i < 8; i++) {
		int n = i + (i >= 4), dx = n % 3 - 1, dy = n / 3 - 1, plane = (dx & 1) + 2 * (dy & 1) - 1;
		int column = ((best.v.x + dx) >> 1) - x, row = ((best.v.y + dy) >> 1) - y;
		sums[i] = at_place<WORDS>(w, region + plane * SIZE, byte + column * BYTES, row);
	}
	try_eight(w, best, sums, penalty, 1);
}

// The vectors of a neighbour.
DEVICE uint8_t *vectors_of(const vd_args &args, int neighbour, int level) {
	return (uint8_t *)(args.vectors + neighbour * args.vector_stride) + 4 * (int64_t)args.level[level].first_cell;
}
DEVICE uint8_t *field_of(const vd_args &args, int neighbour) { return (uint8_t *)(args.fields + neighbour * args.field_stride); }

// A half's region in shared memory.
template <int SIZE> DEVICE uint32_t *region_of_half() { return (uint32_t *)shared_memory() + thread_x() / 16 * SIZE; }

// Cells are dealt to halves: each block takes PER_HALF for each of its halves, of one neighbour.
enum { PER_HALF = 2 };
struct dealt {
	bool none; // for the warp
	bool own;  // false: it is another's, and nothing is kept
	int cell, x, y;
};
DEVICE dealt cell_of(const vd_plane &p, int i) {
	int half = thread_x() / 16, first = (block_x() * PER_HALF + i) * 2 * WARPS, all = p.cells_x * p.cells_y;
	dealt d = {first + (half & ~1) >= all, first + half < all, least(first + half, all - 1), 0, 0};
	d.y = d.cell / p.cells_x, d.x = d.cell - d.y * p.cells_x;
	return d;
}
