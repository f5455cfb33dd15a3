// The search at the coarsest level: every vector up to 6 pels each way, and a penalty for its
// length. A block takes a cell, and each thread one vector. It also clears the gates.
//
// A cell reads 28 x 28 samples into shared memory, and a thread 16 x 16 of them.
#include "search.h"

enum { RANGE = 6, REGION = SIDE + 2 * RANGE, WORDS = words(REGION), WIDE = 2 * RANGE + 1, PLACES = WIDE * WIDE, BLOCK = 192 };

// The match that comes first of two.
struct candidate {
	int cost, order; // no motion comes before all others
};
DEVICE candidate least_of(candidate a, candidate b) {
	bool other = b.cost < a.cost || (b.cost == a.cost && b.order < a.order);
	return {other ? b.cost : a.cost, other ? b.order : a.order};
}

KERNEL_OF(vd_args, VF_NAME, BLOCK, 5) {
	int thread = thread_x(), lane = thread % 32, level = args.levels - 1, neighbour = args.first + block_y();
	const vd_plane &p = args.level[level];
	if (block_x() == 0 && block_y() == 0 && thread < VD_NEIGHBOURS) store_u64((uint8_t *)(args.gates + 8 * thread), uint2{0, 0});
	plane from = plane_of(p, args.centre, 0), to = plane_of(p, args.to[neighbour], 0);
	int across = cells(p.width, SIDE), row = block_x() / across;
	int x = (block_x() - row * across) * SIDE, y = row * SIDE;
	uint32_t *region = (uint32_t *)shared_memory(), *own = region + REGION * WORDS, *mask = own + SIDE * ROW;
	candidate *firsts = (candidate *)(mask + SIDE * ROW);
	int byte = (x - RANGE) & ~3, rest = (x - RANGE) & 3;
	for (int i = thread; i < REGION * WORDS; i += BLOCK) region[i] = load_u32(row_of(to, y - RANGE + i / WORDS) + byte + i % WORDS * 4);
	for (int i = thread; i < SIDE * ROW; i += BLOCK) {
		int row = y + i / ROW, k = i % ROW;
		mask[i] = row >= 0 && row < from.height ? mask_of(from, x + 4 * k) : 0;
		own[i] = load_u32(row_of(from, row) + x + 4 * k) & mask[i];
	}
	barrier();
	candidate best = {FAR_COST, PLACES + 1};
	if (thread < PLACES) {
		int dx = thread % WIDE, dy = thread / WIDE, first = rest + dx;
		uint32_t sum = 0;
		UNROLL_BY(4)
		for (int i = 0; i < SIDE; i++) {
			const uint32_t *there = region + (i + dy) * WORDS + first / 4;
			UNROLL
			for (int k = 0; k < ROW; k++)
				sum = sad4(own[i * ROW + k], funnel(there[k], there[k + 1], 8 * (first & 3)) & mask[i * ROW + k], sum);
		}
		dx -= RANGE, dy -= RANGE;
		best = {whole(sum, count_inside(from, x, y)) + args.length[dx * dx + dy * dy], thread == PLACES / 2 ? 0 : thread + 1};
	}
	UNROLL
	for (int i = 16; i; i /= 2) best = least_of(best, {(int)shuffle_xor((uint32_t)best.cost, i), (int)shuffle_xor((uint32_t)best.order, i)});
	if (lane == 0) firsts[thread / 32] = best;
	barrier();
	if (thread > 0) return;
	for (int i = 1; i < BLOCK / 32; i++) best = least_of(best, firsts[i]);
	int n = best.order ? best.order - 1 : PLACES / 2;
	store_u32(vectors_of(args, neighbour, level) + 4 * block_x(), packed({n % WIDE - RANGE, n / WIDE - RANGE}));
}
