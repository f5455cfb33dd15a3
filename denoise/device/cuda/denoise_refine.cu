// The vectors again, from the pilot's luma: the best of those one pel about the given one, then
// half a pel about. Frames further away start from the vectors of the nearest one that was searched
// in that direction, as if all went on as it does up to there.
//
// A cell is compared at 9 places, with 18 x 18 samples, and at 8, with three times 17 x 17.
#include "search.h"

// given is the vector to start from.
DEVICE vector given(const vd_args &args, int neighbour, int cell) {
	int from = args.from[neighbour];
	vector v = unpacked(read_u32(field_of(args, from) + 4 * cell));
	if (from == neighbour) return v;
	int n = args.distance[from], to = args.distance[neighbour];
	if (n < 0) n = -n, to = -to;
	return {divide(v.x * to, n), divide(v.y * to, n)};
}

template <bool EDGE> DEVICE void refine(const vd_args &args, int neighbour, const cell &c) {
	const vd_plane &p = args.level[0];
	plane from = {(const uint8_t *)args.pilot_luma, p.pitch, p.width, p.height};
	window<EDGE> w = window_of<EDGE>(from, args.cell, c.x, c.y, part_of_lane());
	match best = {given(args, neighbour, c.number), 0};
	uint32_t sums[9];
	differences<3, 3>(w, plane_of(p, args.to[neighbour], phase_of(best.v)), w.x + (best.v.x >> 1) - 1, w.y + (best.v.y >> 1) - 1, sums);
	best.cost = scaled(w, total(sums[4]));
	skip_middle(sums);
	try_eight(w, best, sums, args.refined, 2);
	try_between(w, p, args.to[neighbour], best, args.refined);
	if (w.part == 0 && c.own) store_u32(field_of(args, neighbour) + 4 * c.number, packed(best.v));
}

KERNEL_OF(vd_args, VF_NAME, THREADS, BLOCKS) {
	int neighbour = args.first + block_y();
	cell c = cell_of(args.level[0], args.cell);
	if (c.none || !fits(args, neighbour)) return;
	if (c.edge)
		refine<true>(args, neighbour, c);
	else
		refine<false>(args, neighbour, c);
}
