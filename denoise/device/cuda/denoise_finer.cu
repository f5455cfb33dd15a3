// The search at level level_now, below the coarsest: from the best of no motion and four vectors of
// the level above, two moves to the best of eight neighbours at the most. With VF_FINEST the last
// move is of half a pel, and the differences of the cells at their vectors, in whole pels, are
// added up for the gate.
//
// A cell is compared at up to 5 places, twice at 8, with 18 x 18 samples, and for the half-pels at
// 8, with three times 17 x 17.
#include "search.h"

// inherited is the best of the vectors to start from.
template <bool EDGE> DEVICE match inherited(const vd_args &args, int neighbour, const cell &c, const window<EDGE> &w, const plane &to) {
	vector v[5] = {};
	nearest(args, neighbour, args.level_now + 1, c.x, c.y, 2, v + 1);
	return best_of<5, 1>(w, v, args.penalty, [&](vector own) {
		uint32_t sum;
		differences<1, 1>(w, to, w.x + own.x, w.y + own.y, &sum);
		return sum;
	});
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
	window<EDGE> w = window_of<EDGE>(from, SIDE, c.x, c.y, part_of_lane());
	match best = inherited(args, neighbour, c, w, to);
	descend(args, w, to, best);
#if VF_FINEST
	best.v = {2 * best.v.x, 2 * best.v.y};
	try_between(w, p, args.to[neighbour], best, args.penalty);
	uint32_t sum;
	differences<1, 1>(w, to, w.x + (best.v.x >> 1), w.y + (best.v.y >> 1), &sum);
	sum = (uint32_t)scaled(w, total(sum));
	if (!c.own) sum = 0;
	UNROLL
	for (int k = 1; k < ACROSS; k *= 2) sum += shuffle_xor(sum, k);
	if (thread_x() % 32 == 0 && sum) add_u64((uint8_t *)(args.gates + 8 * neighbour), sum);
#endif
	if (w.part == 0 && c.own) store_u32(vectors_of(args, neighbour, level) + 4 * c.number, packed(best.v));
}

KERNEL_OF(vd_args, VF_NAME, THREADS, BLOCKS) {
	cell c = cell_of(args.level[args.level_now], SIDE);
	if (c.none) return;
	if (c.edge)
		search<true>(args, args.first + block_y(), c);
	else
		search<false>(args, args.first + block_y(), c);
}
