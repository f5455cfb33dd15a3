// The vectors again, from the pilot's luma: the best of those one pel about the given one, then
// half a pel about. Frames further away start from the vectors of the nearest one that was searched
// in that direction, as if all went on as it does up to there. Half a warp takes a cell.
//
// A cell reads 18 x 18 samples, compared at 9 places, and three times 17 x 17, compared at 8.
#include "search.h"

enum { REACH = SIDE + 2, SIZE = 3 * words(SIDE + 1) * (SIDE + 1) + 4 };
static_assert(SIZE >= words(REACH) * REACH + 4, "the region is too small");

// given is the vector to start from.
DEVICE vector given(const vd_args &args, int neighbour, int cell) {
	int from = args.from[neighbour];
	vector v = unpacked(read_u32(field_of(args, from) + 4 * cell));
	if (from == neighbour) return v;
	int n = args.distance[from], to = args.distance[neighbour];
	if (n < 0) n = -n, to = -to;
	return {divide(v.x * to, n), divide(v.y * to, n)};
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 3) {
	int lane = thread_x() % 16, neighbour = args.first + block_y();
	if (!fits(args, neighbour)) return;
	const vd_plane &p = args.level[0];
	plane from = {(const uint8_t *)args.pilot_luma, p.pitch, p.width, p.height};
	uint32_t *region = region_of_half<SIZE>();
	for (int i = 0; i < PER_HALF; i++) {
		dealt c = cell_of(p, i);
		if (c.none) return;
		window w = window_of(from, args.cell, c.x, c.y, lane);
		match best = {given(args, neighbour, c.cell), 0};
		plane to = plane_of(p, args.to[neighbour], phase_of(best.v));
		warp_barrier();
		int byte = load_region<REACH, REACH>(region, to, w.x + (best.v.x >> 1) - 1, w.y + (best.v.y >> 1) - 1, lane);
		warp_barrier();
		uint32_t sums[9];
		nine<words(REACH)>(w, region, byte, 0, sums);
		best.cost = scaled(w, total(sums[4]));
		skip_middle(sums);
		try_eight(w, best, sums, args.refined, 2);
		try_between(w, p, args.to[neighbour], best, args.refined, region);
		if (lane == 0 && c.own) store_u32(field_of(args, neighbour) + 4 * c.cell, packed(best.v));
	}
}
