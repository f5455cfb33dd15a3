// The vectors of smaller cells, from the pilot's luma: the best of the nearest three, then half a
// pel about. For frames further away it starts from the vector of the nearest one that was searched
// in that direction, as if all went on as it does up to there.
//
// A cell is compared at up to 3 places, and at 8, with three times 17 x 17 samples.
#include "search.h"

DEVICE uint8_t *refined_of(const vd_args &args, int neighbour) { return (uint8_t *)(args.refined + neighbour * args.refined_stride); }

// given sets the vectors to start from.
DEVICE void given(const vd_args &args, int neighbour, const cell &c, vector *v) {
	int from = args.from[neighbour];
	if (from == neighbour) {
		nearest(args, neighbour, 0, c.x, c.y, 1, v);
		return;
	}
	vector near = unpacked(read_u32(refined_of(args, from) + 4 * c.number));
	int n = args.distance[from], to = args.distance[neighbour];
	if (n < 0) n = -n, to = -to;
	v[0] = v[1] = v[2] = {divide(near.x * to, n), divide(near.y * to, n)};
}

template <bool EDGE> DEVICE void refine(const vd_args &args, int neighbour, const cell &c) {
	const vd_plane &p = args.level[0];
	plane from = {(const uint8_t *)args.pilot_luma, p.pitch, p.width, p.height};
	window<EDGE> w = window_of<EDGE>(from, VD_REFINED_CELL, c.x, c.y, part_of_lane());
	vector v[4];
	given(args, neighbour, c, v);
	match best = best_of<3, 0>(w, v, args.refine_penalty, [&](vector own) {
		uint32_t sum;
		differences<1, 1>(w, plane_of(p, args.to[neighbour], phase_of(own)), w.x + (own.x >> 1), w.y + (own.y >> 1), &sum);
		return sum;
	});
	try_between(w, p, args.to[neighbour], best, args.refine_penalty);
	if (w.part == 0 && c.own) store_u32(refined_of(args, neighbour) + 4 * c.number, packed(best.v));
}

KERNEL_OF(vd_args, VF_NAME, THREADS, BLOCKS) {
	int neighbour = args.first + block_y();
	cell c = cell_of(args.level[0], VD_REFINED_CELL);
	if (c.none || !fits(args, neighbour)) return;
	if (c.edge)
		refine<true>(args, neighbour, c);
	else
		refine<false>(args, neighbour, c);
}
