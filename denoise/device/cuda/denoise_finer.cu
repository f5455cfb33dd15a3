// The search at level level_now, below the coarsest: from the best of no motion and four vectors of
// the level above, two moves to the best of eight neighbours at the most. With VF_FINEST the last
// move is of half a pel, and the differences of the cells at their vectors, in whole pels, are
// added up for the gate.
//
// A cell is compared at up to 5 places, twice at 8, with 18 x 18 samples, and for the half-pels at
// 8, with three times 17 x 17.
#include "search.h"

enum { STARTS = 5 };

DEVICE vector parent_at(const vd_args &args, int neighbour, int x, int y) {
	const vd_plane &p = args.level[args.level_now + 1];
	int cell = clamp(y, 0, p.cells_y - 1) * p.cells_x + clamp(x, 0, p.cells_x - 1);
	vector v = unpacked(load_u32(vectors_of(args, neighbour, args.level_now + 1) + 4 * cell));
	return {2 * v.x, 2 * v.y};
}

// picked is v[n], without an address, so that v stays in registers.
DEVICE vector picked(const vector *v, int n) {
	vector out = v[0];
	UNROLL
	for (int i = 1; i < STARTS; i++) out.x = n == i ? +v[i].x : +out.x, out.y = n == i ? +v[i].y : +out.y;
	return out;
}

// inherited is the best of the vectors to start from.
template <bool EDGE> DEVICE match inherited(const vd_args &args, int neighbour, const cell &c, const window<EDGE> &w, const plane &to) {
	const vd_plane &p = args.level[args.level_now + 1];
	int px = least(c.x / 2, p.cells_x - 1), py = least(c.y / 2, p.cells_y - 1);
	int sx = px + 2 * (c.x & 1) - 1, sy = py + 2 * (c.y & 1) - 1;
	vector v[STARTS] = {{0, 0}, parent_at(args, neighbour, px, py), parent_at(args, neighbour, sx, py), parent_at(args, neighbour, px, sy), parent_at(args, neighbour, sx, sy)};
	// A bit for each: tried before, without penalty.
	uint32_t sums[8] = {}, again = ~0u << STARTS, free = 0;
	UNROLL
	for (int i = 0; i < STARTS; i++) {
		UNROLL
		for (int k = 0; k < i; k++) again |= (uint32_t)(v[i] == v[k]) << i;
		free |= (uint32_t)(v[i] == v[1]) << i;
	}
	NO_UNROLL
	for (int i = 0; i < STARTS; i++) {
		if (again >> i & 1) continue;
		vector own = picked(v, i);
		uint32_t sum;
		differences<1, 1>(w, to, w.x + own.x, w.y + own.y, &sum);
		UNROLL
		for (int k = 0; k < STARTS; k++) sums[k] = i == k ? +sum : +sums[k];
	}
	int key = least_of_eight(w, sums, [&](uint32_t sum, int i) {
		return again >> i & 1 ? +FAR_COST : scaled(w, sum) + (free >> i & 1 ? 0 : args.penalty);
	});
	return {picked(v, key % 8), key / 8};
}

// descend moves twice at the most.
template <bool EDGE> DEVICE void descend(const vd_args &args, const window<EDGE> &w, const plane &to, match &best) {
	NO_UNROLL
	for (int i = 0; i < 2; i++) {
		uint32_t sums[9];
		differences<3, 3>(w, to, w.x + best.v.x - 1, w.y + best.v.y - 1, sums);
		skip_middle(sums);
		uint32_t moved = try_eight(w, best, sums, args.penalty, 1);
		UNROLL
		for (int k = 1; k < ACROSS; k *= 2) moved |= shuffle_xor(moved, k);
		if (!moved) break; // no cell of the warp
	}
}

template <bool EDGE> DEVICE void search(const vd_args &args, int neighbour, const cell &c) {
	int level = args.level_now;
	const vd_plane &p = args.level[level];
	plane from = plane_of(p, args.centre, 0), to = plane_of(p, args.to[neighbour], 0);
	window<EDGE> w = window_of<EDGE>(from, args.cell, c.x, c.y, part_of_lane());
	match best = inherited(args, neighbour, c, w, to);
	descend(args, w, to, best);
	bool first = w.part == 0 && c.own;
#if VF_FINEST
	best.v = {2 * best.v.x, 2 * best.v.y};
	try_between(w, p, args.to[neighbour], best, args.penalty);
	if (first) store_u32(field_of(args, neighbour) + 4 * c.number, packed(best.v));
	uint32_t sum;
	int x = w.x + (best.v.x >> 1), y = w.y + (best.v.y >> 1), rim = (SIDE - args.cell) / 2;
	if (rim)
		differences<1, 1, SIDE / 4>(w, to, x, y, &sum);
	else
		differences<1, 1>(w, to, x, y, &sum);
	sum = total(sum);
	if (EDGE) sum = (uint32_t)whole(sum, count_inside(from, w.x, w.y, rim), args.cell);
	if (!c.own) sum = 0;
	UNROLL
	for (int k = 1; k < ACROSS; k *= 2) sum += shuffle_xor(sum, k);
	if (thread_x() % 32 == 0 && sum) add_u64((uint8_t *)(args.gates + 8 * neighbour), sum);
#else
	if (first) store_u32(vectors_of(args, neighbour, level) + 4 * c.number, packed(best.v));
#endif
}

KERNEL_OF(vd_args, VF_NAME, THREADS, BLOCKS) {
	cell c = cell_of(args.level[args.level_now], args.cell);
	if (c.none) return;
	if (c.edge)
		search<true>(args, args.first + block_y(), c);
	else
		search<false>(args, args.first + block_y(), c);
}
