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

// Where a thread is: its first column and row, and whether all that its warp reads lies inside an aligned picture of packed RGBA. FAST, the
// way through the latter, needs no look at borders and formats.
struct place {
	int x, y;
	const uint8_t *from; // FAST: the first word that is read
	uint8_t *to;         // FAST: the first word that is written
};

template <bool FAST>
DEVICE samples load(const vf_args &args, const place &p, int i) {
	if (FAST) return load_u128(p.from + i * args.src_pitch[0]);
	return load_samples(args, p.x, p.y - R + i);
}

// store writes a finished line, the row i of the thread; the chroma that two rows share with the second of them. above is the result of the
// line before.
template <bool FAST>
DEVICE void store(const vf_args &args, const place &p, int i, uint4 out, uint4 own, uint4 above) {
	int lane = thread_x(), y = p.y + i;
	if (lane == 0 || lane == 31) return;
	if (FAST) {
		uint4 alpha = load_u128(p.from + (i + R) * args.src_pitch[0]) & 0xff000000;
		return store_u128(p.to + i * args.dst_pitch[0], out | alpha);
	}
	if (!args.sub_y) return store_rows(args, p.x, y, out, out);
	if (y % 2) return store_rows(args, p.x, y - 1, above, out);
	if (y == args.height - 1) store_rows(args, p.x, y, out, out);
}

// step takes in the line i of ROWS + 2 R, and stores the one that it completes.
template <bool FAST>
DEVICE void step(const vf_args &args, line *l, samples &next, uint4 &above, const place &p, int i) {
	UNROLL
	for (int d = R; d > 0; d--) age(l[d], l[d - 1]);
	gather(l[0], FAST ? next & 0xffffff : words_of(args, next, p.x));
	if (i + 1 < ROWS + 2 * R) next = load<FAST>(args, p, i + 1); // on its way while the sums are added up
	if (i < R) return;
	UNROLL
	for (int d = 0; d <= R; d++) {
		meet(l[d], l[0], d, args.tap[d + again()]);
		add_now(l[d]);
	}
	add_now(l[0]);
	if (i < 2 * R) return;
	const line &done = l[R];
	uint4 out = {finish(done.s[0]), finish(done.s[1]), finish(done.s[2]), finish(done.s[3])};
	uint4 own = {done.word[R], done.word[R + 1], done.word[R + 2], done.word[R + 3]};
	if (!FAST) out = kept(args, out, own, p.x, p.y + i - 2 * R);
	store<FAST>(args, p, i - 2 * R, out, own, above);
	above = out;
}

KERNEL(VF_NAME, 32 * WARPS, VF_BLOCKS) {
	place p;
	const int left = block_x() * WIDTH - 4;
	p.x = left + 4 * thread_x(), p.y = (block_y() * WARPS + thread_y()) * ROWS;
	if (p.y >= args.height) return;
	p.from = source(args, 0, p.y - R) + 4 * p.x, p.to = target(args, 0, p.y) + 4 * p.x;
	line l[R + 1] = {};
	uint4 above = {0, 0, 0, 0};
	bool inner = left >= 0 && left + 128 <= args.width && p.y >= R && p.y + ROWS + R <= args.height;
	if (inner && args.layout == VF_RGBA && args.aligned && args.border != VF_SKIP) {
		samples next = load<true>(args, p, 0);
		UNROLL_BY(VF_UNROLL)
		for (int i = 0; i < ROWS + 2 * R; i++) step<true>(args, l, next, above, p, i);
		return;
	}
	samples next = load<false>(args, p, 0);
	NO_UNROLL
	for (int i = 0; i < ROWS + 2 * R; i++) step<false>(args, l, next, above, p, i);
}
