// The tile form of the bilateral filter, for the joint distance in RGB and a radius known to the compiler.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q)),  D^2 = dR^2 + dG^2 + dB^2
//
// A block loads its 128 x VF_HEIGHT pixels with a halo of VF_RADIUS into shared memory, one 32-bit word a pixel (the halo block of 001,
// section 1.2.5, without its idle threads), and each thread filters four pixels of a row, which share the words they read. Borders by
// args.border; results are rounded to nearest. Not in place.
//
// A tap costs about 9 instructions: the bytes' absolute differences, their sum of squares, one multiply-add for b + a D^2, one
// reciprocal (or exponential), and four to add up W, WR, WG, WB; see scalar.h.
//
// Reads and writes 4 bytes each a pixel for RGBA, 1.5 for 4:2:0; 9 (2 r + 1)^2 operations.
#include "scalar.h"

enum {
	R = VF_RADIUS,
	HALO = (R + 3) & ~3, // whole vectors
	WIDTH = 128,
	HEIGHT = VF_HEIGHT,
	PITCH = WIDTH + 2 * HALO,
	ROWS = HEIGHT + 2 * R,
	THREADS = 32 * HEIGHT,
	SPAN = 4 + 2 * R, // words that the windows of four pixels reach over
};

// filter_row adds one row of the window to the sums of the four pixels p.
DEVICE void filter_row(sums *s, const uint32_t *p, const uint32_t *row, const float (*tap)[2]) {
	uint32_t q[4 + 2 * HALO];
	UNROLL
	for (int i = 0; i < 4 + 2 * HALO; i += 4) {
		uint4 v = *(const uint4 *)(row + i);
		q[i] = v.x, q[i + 1] = v.y, q[i + 2] = v.z, q[i + 3] = v.w;
	}
	UNROLL
	for (int i = 0; i < SPAN; i++) {
		UNROLL
		for (int k = 0; k < 4; k++) {
			if (i < k || i > k + 2 * R) continue;
			int dx = i - k < R ? R - (i - k) : i - k - R;
			uint32_t word = q[i + HALO - R];
			add(s[k], weight(p[k], word, tap[dx][0], tap[dx][1]), word);
		}
	}
}

DEVICE uint4 filter(const vf_args &args, const uint32_t *window, uint4 own) {
	uint32_t p[4] = {own.x, own.y, own.z, own.w};
	sums s[4] = {};
	UNROLL_BY(VF_UNROLL)
	for (int dy = -R; dy <= R; dy++, window += PITCH) filter_row(s, p, window, args.tap[dy < 0 ? -dy : dy]);
	return uint4{finish(s[0]), finish(s[1]), finish(s[2]), finish(s[3])};
}

KERNEL(VF_NAME, THREADS, VF_BLOCKS) {
	uint32_t *words = (uint32_t *)shared_memory();
	int tx = thread_x(), ty = thread_y(), thread = ty * 32 + tx;
	int x0 = block_x() * WIDTH, y0 = block_y() * HEIGHT;
	load_tile<PITCH, ROWS, THREADS>(args, words, thread, x0 - HALO, y0 - R);
	barrier();
	const uint32_t *window = words + ty * PITCH + 4 * tx;
	uint4 own = *(const uint4 *)(window + R * PITCH + HALO);
	uint4 out = kept(args, filter(args, window, own), own, x0 + 4 * tx, y0 + ty);
	if (args.layout == VF_RGBA) return store_rows(args, x0 + 4 * tx, y0 + ty, out, out);
	barrier();
	*(uint4 *)(words + ty * WIDTH + 4 * tx) = out;
	barrier();
	store_tile<WIDTH, WIDTH, HEIGHT, THREADS>(args, words, thread, x0, y0);
}
