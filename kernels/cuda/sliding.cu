// The sliding form of the bilateral filter, for the joint distance in RGB and small radii.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q)),  D^2 = dR^2 + dG^2 + dB^2
//
// The weight of two pixels is the same from both sides. A thread walks down four columns and keeps the last VF_RADIUS + 1 rows of
// words and of sums in registers: as a row comes in, the weight of each pair of a new and an older pixel is worked out once and
// added to the sums of both (as far as they are the thread's own), and the row that has then met all its neighbours is finished. There is no
// shared memory and no barrier: what lies left and right of the four columns comes from the neighbouring lanes. The first
// and the last lane of a warp only lend their words, so that a warp filters 120 columns. The thesis (000) slides a window over shared
// memory, and 003 uses the symmetry; here both are in registers.
//
// Borders by args.border; results are rounded to nearest. Not in place. Reads and writes 4 bytes each a pixel for RGBA, 1.5 for
// 4:2:0; of (2 r + 1)^2 weights a pixel between 58 % (radius 1) and 70 % (3) are worked out.
#include "scalar.h"

enum {
	R = VF_RADIUS,
	SPAN = 4 + 2 * R, // words of one row that matter to a thread; its own are R to R + 3
	ROWS = VF_ROWS,   // that a thread filters, an even number; with 2 R more, a multiple of VF_UNROLL
	WARPS = VF_WARPS, // in a block
	WIDTH = 120,
};

struct line {
	uint32_t word[SPAN];
	sums s[4];
};

DEVICE bool own(int i) { return i >= R && i < R + 4; }

// gather makes a line of a thread's own four words and those of its neighbours. A pixel's weight for itself is 1.
DEVICE void gather(line &l, uint4 w) {
	UNROLL
	for (int i = 0; i < 4; i++) {
		l.word[R + i] = w[i];
		l.s[i] = sums{0, 0, 0, 0};
		add(l.s[i], 0x1p110f, w[i]);
	}
	UNROLL
	for (int i = 0; i < R; i++) {
		l.word[i] = shuffle_up(w[4 - R + i], 1);
		l.word[R + 4 + i] = shuffle_down(w[i], 1);
	}
}

// age moves a line on. The compiler must not know that the words are the same ones: it would keep them taken apart, in three registers each.
DEVICE void age(line &older, const line &l) {
	older = l;
	UNROLL
	for (int i = 0; i < SPAN; i++) now(older.word[i]);
}

// meet adds up what the pixels of the new line and of one dy rows older are to each other; within one line (dy = 0) each pair counts once.
// The older words are the outer loop, so that only one of them at a time is taken apart.
DEVICE void meet(line &old, line &fresh, int dy, const float (*tap)[2]) {
	UNROLL
	for (int j = 0; j < SPAN; j++) {
		UNROLL
		for (int i = 0; i < SPAN; i++) {
			int dx = i < j ? j - i : i - j;
			if (dx > R || (dy == 0 && i >= j) || (!own(i) && !own(j))) continue;
			float w = weight(old.word[j], fresh.word[i], tap[dx][0], tap[dx][1]);
			if (own(j)) add(old.s[j - R], w, fresh.word[i]);
			if (own(i)) add(fresh.s[i - R], w, old.word[j]);
		}
	}
}

// The compiler would put off all additions until a sum is known to be used, and keep their hundred weights until then.
DEVICE void add_now(line &l) {
	UNROLL
	for (int k = 0; k < 4; k++) now(l.s[k].w), now(l.s[k].r), now(l.s[k].g), now(l.s[k].b);
}

// store writes a finished line, the chroma that two rows share with the second of them; above is the result of the line before.
DEVICE void store(const vf_args &args, int x, int y, uint4 out, uint4 above) {
	int lane = thread_x();
	if (lane == 0 || lane == 31) return;
	if (!args.sub_y) return store_rows(args, x, y, out, out);
	if (y % 2) return store_rows(args, x, y - 1, above, out);
	if (y == args.height - 1) store_rows(args, x, y, out, out);
}

// step takes in the line y, and stores the one that it completes if that is the line first or lies below.
DEVICE void step(const vf_args &args, line *l, samples &next, uint4 &above, int x, int y, int first) {
	UNROLL
	for (int d = R; d > 0; d--) age(l[d], l[d - 1]);
	gather(l[0], words_of(args, next, x));
	next = load_samples(args, x, y + 1); // on its way while the sums are added up
	if (y < first) return;
	UNROLL
	for (int d = 0; d <= R; d++) {
		meet(l[d], l[0], d, args.tap[d + again()]);
		add_now(l[d]);
	}
	add_now(l[0]);
	if (y < first + R) return;
	const line &done = l[R];
	uint4 out = {finish(done.s[0]), finish(done.s[1]), finish(done.s[2]), finish(done.s[3])};
	out = kept(args, out, uint4{done.word[R], done.word[R + 1], done.word[R + 2], done.word[R + 3]}, x, y - R);
	store(args, x, y - R, out, above);
	above = out;
}

KERNEL(VF_NAME, 32 * WARPS, VF_BLOCKS) {
	int x = block_x() * WIDTH + 4 * (thread_x() - 1), y0 = (block_y() * WARPS + thread_y()) * ROWS;
	if (y0 >= args.height) return;
	line l[R + 1] = {};
	uint4 above = {0, 0, 0, 0};
	samples next = load_samples(args, x, y0 - R);
	NO_UNROLL
	for (int i = 0; i < ROWS + 2 * R; i += VF_UNROLL) {
		UNROLL
		for (int k = 0; k < VF_UNROLL; k++) step(args, l, next, above, x, y0 - R + i + k, y0);
	}
}
