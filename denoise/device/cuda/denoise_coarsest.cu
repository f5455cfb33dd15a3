// The search at the coarsest level: every vector up to 6 pels each way, and a penalty for its
// length. Half a warp takes a cell, and its lanes the vectors in turn. It clears the gates, too.
//
// A cell reads 28 x 28 samples, and 169 x 64 words of them from shared memory.
#include "search.h"

enum { RANGE = 6, REGION = SIDE + 2 * RANGE, WORDS = words(REGION), SIZE = WORDS * REGION + 4, PLACES = (2 * RANGE + 1) * (2 * RANGE + 1) };
enum { OWN = SIDE * SIDE * BYTES / 4 };

KERNEL_OF(vd_args, VF_NAME, THREADS, 2) {
	int lane = thread_x() % 16, level = args.levels - 1, neighbour = args.first + block_y();
	const vd_plane &p = args.level[level];
	if (block_x() == 0 && block_y() == 0 && thread_x() < VD_NEIGHBOURS) store_u64((uint8_t *)(args.gates + 8 * thread_x()), uint2{0, 0});
	plane from = plane_of(p, args.centre, 0), to = plane_of(p, args.to[neighbour], 0);
	uint32_t *region = region_of_half<SIZE + OWN>(), *own = region + SIZE;
	for (int i = 0; i < PER_HALF; i++) {
		dealt c = cell_of(p, i);
		if (c.none) return;
		window w = window_of(from, args.cell, c.x, c.y, lane);
		warp_barrier();
		int byte = load_region<REGION, REGION>(region, to, w.x - RANGE, w.y - RANGE, lane);
		UNROLL
		for (int k = 0; k < ROW; k++) own[w.row * ROW + k] = w.own[k];
		warp_barrier();
		int x0 = most(w.x, 0) - w.x, x1 = least(w.x + SIDE, from.width) - w.x;
		int y0 = most(w.y, 0) - w.y, y1 = least(w.y + SIDE, from.height) - w.y;
		int best = FAR_COST, order = 0; // no motion comes before all others
		for (int n = lane; n < PLACES; n += 16) {
			int dx = n % (2 * RANGE + 1) - RANGE, dy = n / (2 * RANGE + 1) - RANGE;
			int first = byte + (dx + RANGE) * BYTES;
			uint32_t sum = 0;
			for (int y = y0; y < y1; y++) {
				const uint32_t *there = region + (y + dy + RANGE) * WORDS + first / 4, *here = own + y * ROW;
				if (!w.full) {
					UNROLL
					for (int k = 0; k < ROW; k++) sum = sad_word(here[k], funnel(there[k], there[k + 1], 8 * (first & 3)), sum);
				} else {
					for (int x = x0; x < x1; x++) {
						int a = ((const sample *)here)[x], b = ((const sample *)there)[x + (first & 3) / BYTES];
						sum += (uint32_t)most(a - b, b - a);
					}
				}
			}
			int cost = scaled(w, sum) + args.length[dx * dx + dy * dy], number = n == PLACES / 2 ? 0 : n + 1;
			if (cost < best || (cost == best && number < order)) best = cost, order = number;
		}
		int cost = best;
		UNROLL
		for (int k = 8; k; k /= 2) cost = least(cost, (int)from_lane((uint32_t)cost, k));
		if (best > cost) order = PLACES + 1;
		UNROLL
		for (int k = 8; k; k /= 2) order = least(order, (int)from_lane((uint32_t)order, k));
		int n = order ? order - 1 : PLACES / 2;
		vector v = {n % (2 * RANGE + 1) - RANGE, n / (2 * RANGE + 1) - RANGE};
		if (lane == 0 && c.own) store_u32(vectors_of(args, neighbour, level) + 4 * c.cell, packed(v));
	}
}
