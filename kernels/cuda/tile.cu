// The tile form of the bilateral filter, for the joint distance in RGB and a radius known at
// compile time.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q)),  D^2 = dR^2 + dG^2 + dB^2
//
// A block loads its 128 x VF_HEIGHT pixels with a halo of VF_RADIUS into shared memory, one 32-bit
// word a pixel (the halo block of 001, section 1.2.5, without its idle threads). Each thread
// filters four pixels of a row, which share the words they read. A warp has a row of RGBA, or two
// rows of 64 pixels of planes, so that a shuffle can combine the changes for a chroma sample.
// Borders by args.border; results are rounded to nearest. Not in place.
//
// A tap costs about 9 instructions: the bytes' absolute differences, their sum of squares, one
// multiply-add for b + a D^2, one reciprocal (or exponential), and four to add up W, WR, WG, WB;
// see scalar.h.
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
	SIZE = PITCH * ROWS,
	THREADS = 32 * HEIGHT,
	SPAN = 4 + 2 * R, // words across the windows of four pixels
};

// filter_row adds one row of the window to the sums of the four pixels p.
DEVICE void filter_row(sums *s, const centre *p, const stored *row, const float (*tap)[2]) {
	tone q[4 + 2 * HALO];
	read_row<SIZE, HALO - R, HALO + R + 4>(q, row);
	UNROLL
	for (int i = 0; i < SPAN; i++) {
		UNROLL
		for (int k = 0; k < 4; k++) {
			if (i < k || i > k + 2 * R) continue;
			int dx = i - k < R ? R - (i - k) : i - k - R;
			add_tap(s[k], p[k], q[i + HALO - R], tap[dx][0], tap[dx][1]);
		}
	}
}

// filter adds the windows of the four pixels own to their sums; quotients finishes them.
DEVICE void filter(const vf_args &args, const stored *window, const tone4 &own, sums *s) {
	centre p[4] = {centre_of(own.x), centre_of(own.y), centre_of(own.z), centre_of(own.w)};
	UNROLL_BY(VF_UNROLL)
	for (int dy = -R; dy <= R; dy++, window += PITCH) filter_row(s, p, window, args.tap[dy < 0 ? -dy : dy]);
}
DEVICE quad quotients(const vf_args &args, const sums *s) {
	return {{finish(args, s[0]), finish(args, s[1]), finish(args, s[2]), finish(args, s[3])}};
}

DEVICE changes changes_of(const vf_args &args, const tone4 &own, const quad &m) {
	return {{change_of(args, own.x, m.of[0]), change_of(args, own.y, m.of[1]), change_of(args, own.z, m.of[2]), change_of(args, own.w, m.of[3])}};
}
DEVICE changes changes_of(const vf_args &args, const tone4 &own, const quad &m, int x) {
	changes c = changes_of(args, own, m);
	fill_pairs(args, x, c);
	return c;
}

DEVICE float other_row(float v) { return bits_float(shuffle(float_bits(v), thread_x() ^ 16)); }

// meet exchanges changes between two rows that share their chroma, by all threads of the warp:
// threads of the upper row make the chroma of the first two columns, threads of the lower row the
// rest.
struct meeting {
	change mine, yours;
};
DEVICE meeting meet(const changes &c, bool lower) {
	change left = sum(c.of[0], c.of[1]), right = sum(c.of[2], c.of[3]), yours = lower ? left : right;
	return {lower ? right : left, {other_row(yours.r), other_row(yours.g), other_row(yours.b)}};
}

// store_halved stores chroma that is halved vertically.
DEVICE void store_halved(const vf_args &args, int x, int y, const samples &s, const changes &c) {
	bool lower = y & 1;
	meeting m = meet(c, lower);
	int pair = lower, cx = x / 2 + pair, cy = y >> 1;
	if (2 * cx >= args.width || cy >= args.chroma_write) return;
	change total = sum(m.mine, m.yours);
	if (2 * cy + 1 >= args.height) total = lower ? sum(m.yours, m.yours) : sum(m.mine, m.mine);
	store_pair(args, cx, cy, chroma_pair(args, s, pair, total));
}

// store_inside stores luma and chroma of 4:2:0 for blocks inside the picture, without the checks
// of the general path.
DEVICE void store_inside(const vf_args &args, int x, int y, const tone4 &own, const quad &m) {
	bool lower = y & 1, pairs = in_pairs(args);
	int cx = x / 2 + lower, cy = y >> 1;
	samples s = {load4(source(args, 0, y) + BYTES * x), 0, 0, 0};
	if (pairs) s.y = load2(source(args, 1, chroma_row(args, y)) + 2 * BYTES * cx);
	else s.y = in_lane(load1(source(args, 1, chroma_row(args, y)) + BYTES * cx), 0), s.z = in_lane(load1(source(args, 2, chroma_row(args, y)) + BYTES * cx), 0);
	s = lowered(args, s);
	if (pairs) s.z = second(s.y);
	changes c = changes_of(args, own, m);
	meeting met = meet(c, lower);
	store4(args, target(args, 0, y) + BYTES * x, sample4_of(args, s.x, args.color.y, c, 1));
	if (cy < args.chroma_write) store_pair(args, cx, cy, chroma_pair(args, s, 0, sum(met.mine, met.yours)));
}

KERNEL(VF_NAME, THREADS, VF_BLOCKS) {
	stored *tones = (stored *)shared_memory();
	int lane = thread_x(), warp = thread_y();
	int left = block_x() * WIDTH, top = block_y() * HEIGHT, column = 4 * lane, row = warp;
	if (args.layout != VF_RGBA) column = warp % 2 * 64 + lane % 16 * 4, row = warp / 2 * 2 + lane / 16;
	load_tile<PITCH / 4, ROWS, THREADS>(args, warp * 32 + lane, left - HALO, top - R, tones_of,
	                                    [=](int row, int x, const tone4 &t) { write_tones<SIZE>(tones + row * PITCH + x, t); });
	barrier();
	const stored *window = tones + row * PITCH + column;
	tone4 own = read_tones<SIZE>(window + R * PITCH + HALO);
	sums s[4] = {};
	filter(args, window, own, s);
	int x = left + column, y = top + row;
	bool exists = x < args.width && y < args.height;
#if VF_BYTES == 1
	if (args.layout == VF_RGBA) {
		now(s[0].w); // or the sums would be finished before the branch, in more registers
		quad m = quotients(args, s);
		uint4 out = {word_of(m.of[0]), word_of(m.of[1]), word_of(m.of[2]), word_of(m.of[3])};
		if (exists) store_rgba(args, x, y, out);
		return;
	}
#endif
	quad m = quotients(args, s);
	if (args.sub_x && args.sub_y && args.aligned && left + WIDTH <= args.width && top + HEIGHT <= args.height)
		return store_inside(args, x, y, own, m);
	changes c = changes_of(args, own, m, x);
	// Below an odd last row, that row supplies the chroma.
	samples was = load_samples(args, x, y < args.height ? y : args.height - 1);
	if (exists) store_luma(args, x, y, was, c);
	if (args.sub_y) return store_halved(args, x, y, was, c);
	if (exists) store_chroma(args, x, y, was, sum(c, c));
}
