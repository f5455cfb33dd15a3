// The search at level level_now, below the coarsest: from the best of no motion and four vectors of
// the level above, two moves to the best of eight neighbours at the most. With VF_FINEST the last
// move is of half a pel, and the differences of the cells at their vectors, in whole pels, are
// added up for the gate. A warp takes a cell.
//
// A cell reads up to five times 16 x 16 samples, 20 x 20, and for the half-pels three times 17 x 17
// and 16 x 16; each is compared at 8 places or one.
#include "search.h"

enum {
	STARTS = 5, START = words(SIDE) * SIDE, REACH = SIDE + 4, // of two moves
	SIZE = STARTS * START + 4,
};
static_assert(SIZE >= words(REACH) * REACH + 4 && SIZE >= 3 * words(SIDE + 1) * (SIDE + 1) + 4, "the region is too small");

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
	int number = w.lane / 4;
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

// descend moves twice at the most.
DEVICE void descend(const vd_args &args, const window &w, const plane &to, match &best, uint32_t *region) {
	vector from = best.v;
	warp_barrier();
	int byte = load_region<REACH, REACH>(region, to, w.x + from.x - 2, w.y + from.y - 2, w.lane);
	warp_barrier();
	NO_UNROLL
	for (int i = 0; i < 2; i++) {
		uint32_t sums[9];
		nine<words(REACH)>(w, region, byte + (1 + best.v.x - from.x) * BYTES, 1 + best.v.y - from.y, sums);
		skip_middle(sums);
		if (!try_eight(w, best, sums, args.penalty, 1)) break;
	}
}

#if VF_FINEST
// misfit is the cell's sum of differences at whole pels.
DEVICE int misfit(const vd_args &args, window w, const plane &to, vector v, uint32_t *region) {
	set_inside(w, to, args.cell);
	UNROLL
	for (int k = 0; k < HALF; k++) w.own[k] &= w.mask[k];
	warp_barrier();
	int byte = load_region<SIDE, SIDE>(region, to, w.x + (v.x >> 1), w.y + (v.y >> 1), w.lane);
	warp_barrier();
	return scaled(w, total(at_place<words(SIDE)>(w, region, byte, 0), w.lane));
}
#endif

KERNEL_OF(vd_args, VF_NAME, THREADS, 3) {
	int lane = thread_x() % 32, level = args.level_now, neighbour = args.first + block_y();
	const vd_plane &p = args.level[level];
	plane from = plane_of(p, args.centre, 0), to = plane_of(p, args.to[neighbour], 0);
	uint32_t *region = region_of_warp<SIZE>();
#if VF_FINEST
	uint64_t sum = 0;
#endif
	for (int i = 0; i < PER_WARP; i++) {
		int cell = cell_of(i);
		if (cell >= p.cells_x * p.cells_y) break;
		int y = cell / p.cells_x, x = cell - y * p.cells_x;
		window w = window_of(from, args.cell, x, y, lane);
		match best = inherited(args, neighbour, x, y, w, to, region);
		descend(args, w, to, best, region);
#if VF_FINEST
		best.v = {2 * best.v.x, 2 * best.v.y};
		try_between(w, p, args.to[neighbour], best, args.penalty, region);
		sum += (uint32_t)misfit(args, w, to, best.v, region);
		if (lane == 0) store_u32(field_of(args, neighbour) + 4 * cell, packed(best.v));
#else
		if (lane == 0) store_u32(vectors_of(args, neighbour, level) + 4 * cell, packed(best.v));
#endif
	}
#if VF_FINEST
	if (lane == 0 && sum) add_u64((uint8_t *)(args.gates + 8 * neighbour), sum);
#endif
}
