// The search at level level_now, below the coarsest: from the best of no motion and four vectors of
// the level above, two moves to the best of eight neighbours at the most. With VF_FINEST the last
// move is of half a pel, and the differences of the cells at their vectors, in whole pels, are
// added up for the gate. Half a warp takes a cell.
//
// A cell reads up to five times 16 x 16 samples, 21 x 21, and for the half-pels three times 17 x
// 17; each is compared at up to 8 places, twice at the most.
#include "search.h"

enum {
	STARTS = 5, START = words(SIDE) * SIDE,
	MOST = 3, REACH = SIDE + MOST + 2, // of two moves, and one more to the left and up for the gate
	BETWEEN = words(REACH) * REACH + 4, // the place of the half-pels, behind
	TO_START = STARTS * START + 4, TO_MOVE = BETWEEN + 3 * words(SIDE + 1) * (SIDE + 1) + 4,
	SIZE = (TO_START > TO_MOVE ? TO_START : TO_MOVE) | 1, // odd: the halves use other banks
};

DEVICE vector parent_at(const vd_args &args, int neighbour, int x, int y) {
	const vd_plane &p = args.level[args.level_now + 1];
	int cell = clamp(y, 0, p.cells_y - 1) * p.cells_x + clamp(x, 0, p.cells_x - 1);
	vector v = unpacked(load_u32(vectors_of(args, neighbour, args.level_now + 1) + 4 * cell));
	return {2 * v.x, 2 * v.y};
}

// inherited is the best of the vectors to start from.
DEVICE match inherited(const vd_args &args, int neighbour, int x, int y, const window &w, const plane &to, uint32_t *region) {
	const vd_plane &p = args.level[args.level_now + 1];
	int px = least(x / 2, p.cells_x - 1), py = least(y / 2, p.cells_y - 1);
	int sx = px + 2 * (x & 1) - 1, sy = py + 2 * (y & 1) - 1;
	vector v[STARTS] = {{0, 0}, parent_at(args, neighbour, px, py), parent_at(args, neighbour, sx, py), parent_at(args, neighbour, px, sy), parent_at(args, neighbour, sx, sy)};
	uint32_t sums[8] = {};
	bool again[STARTS] = {false, v[1] == v[0], v[2] == v[0] || v[2] == v[1], v[3] == v[0] || v[3] == v[1] || v[3] == v[2],
	                      v[4] == v[0] || v[4] == v[1] || v[4] == v[2] || v[4] == v[3]}; // tried before
	int byte[STARTS] = {};
	warp_barrier();
	UNROLL
	for (int i = 0; i < STARTS; i++) {
		if (!again[i]) byte[i] = load_region<SIDE, SIDE>(region + i * START, to, w.x + v[i].x, w.y + v[i].y, w.lane);
	}
	warp_barrier();
	int number = w.lane / 2;
	bool skip = number >= STARTS, free = false;
	UNROLL
	for (int i = 0; i < STARTS; i++) {
		if (!again[i]) sums[i] = at_place<words(SIDE)>(w, region + i * START, byte[i], 0);
		if (number == i) skip = again[i], free = v[i] == v[1];
	}
	int cost = scaled(w, total_of_eight(sums, w.lane)) + (free ? 0 : args.penalty);
	int key = least_of_eight(skip ? FAR_COST : cost, w.lane), best = key % 8;
	match m = {v[0], key / 8};
	UNROLL
	for (int i = 1; i < STARTS; i++) m.v.x = best == i ? +v[i].x : +m.v.x, m.v.y = best == i ? +v[i].y : +m.v.y;
	return m;
}

// descend moves twice at the most. It returns the byte in the region of the place MOST to the left
// of the vector it starts from.
DEVICE int descend(const vd_args &args, const window &w, const plane &to, match &best, uint32_t *region) {
	vector from = best.v;
	warp_barrier();
	int byte = load_region<REACH, REACH>(region, to, w.x + from.x - MOST, w.y + from.y - MOST, w.lane);
	warp_barrier();
	uint32_t moved = 1;
	NO_UNROLL
	for (int i = 0; i < 2; i++) {
		uint32_t sums[9];
		nine<words(REACH)>(w, region, byte + (MOST - 1 + best.v.x - from.x) * BYTES, MOST - 1 + best.v.y - from.y, sums);
		skip_middle(sums);
		match next = best;
		uint32_t better = try_eight(w, next, sums, args.penalty, 1);
		moved &= better;
		if (moved) best = next;
		if (!(moved | from_lane(moved, 16))) break; // neither half
	}
	return byte;
}

#if VF_FINEST
// misfit is the cell's sum of differences at a place of the region.
DEVICE int misfit(const vd_args &args, window w, const plane &to, const uint32_t *region, int byte, int row) {
	if (args.cell < SIDE) { // only the samples of the cell
		int full = w.full;
		if (full) set_inside(w, to, args.cell);
		UNROLL
		for (int k = 0; k < ROW; k++) {
			bool out = w.row < SIDE / 4 || w.row >= SIDE * 3 / 4 || k < ROW / 4 || k >= ROW * 3 / 4;
			if (!full && out) w.mask[k] = 0;
			w.own[k] &= w.mask[k];
		}
	}
	return scaled(w, total(at_place<words(REACH)>(w, region, byte, row)));
}
#endif

KERNEL_OF(vd_args, VF_NAME, THREADS, 3) {
	int lane = thread_x() % 16, level = args.level_now, neighbour = args.first + block_y();
	const vd_plane &p = args.level[level];
	plane from = plane_of(p, args.centre, 0), to = plane_of(p, args.to[neighbour], 0);
	uint32_t *region = region_of_half<SIZE>();
#if VF_FINEST
	uint64_t sum = 0;
#endif
	for (int i = 0; i < PER_HALF; i++) {
		dealt c = cell_of(p, i);
		if (c.none) break;
		window w = window_of(from, args.cell, c.x, c.y, lane);
		match best = inherited(args, neighbour, c.x, c.y, w, to, region);
#if VF_FINEST
		vector start = best.v;
		int byte = descend(args, w, to, best, region);
		best.v = {2 * best.v.x, 2 * best.v.y};
		try_between(w, p, args.to[neighbour], best, args.penalty, region + BETWEEN);
		int x = (best.v.x >> 1) - start.x + MOST, y = (best.v.y >> 1) - start.y + MOST;
		int differs = misfit(args, w, to, region, byte + x * BYTES, y);
		if (c.own) sum += (uint32_t)differs;
		if (lane == 0 && c.own) store_u32(field_of(args, neighbour) + 4 * c.cell, packed(best.v));
#else
		descend(args, w, to, best, region);
		if (lane == 0 && c.own) store_u32(vectors_of(args, neighbour, level) + 4 * c.cell, packed(best.v));
#endif
	}
#if VF_FINEST
	if (lane == 0 && sum) add_u64((uint8_t *)(args.gates + 8 * neighbour), sum);
#endif
}
