// The sliding form of the bilateral filter, for the joint distance in RGB and small radii.
//
//   out(p) = sum w(p,q) I(q) / sum w(p,q),  w(p,q) = Gs(p-q) R(D(p,q)),  D^2 = dR^2 + dG^2 + dB^2
//
// The weight of two pixels is symmetric. A thread walks down four columns and keeps the last
// VF_RADIUS + 1 rows of words and sums in registers. As a row comes in, the weight of each pair of
// a new and an older pixel is computed once and added to both sums (if they are the thread's own).
// The row that has then met all its neighbours is finished. There is no shared memory and no
// barrier: words left and right of the four columns come from the neighbouring lanes. The first and
// the last lane of a warp only lend their words, so a warp filters 120 columns. The thesis (000)
// slides a window over shared memory, and 003 uses the symmetry; here both are in registers.
//
// The loop takes in VF_RADIUS + 1 rows at a time, so that no registers move, and no more: unrolled
// for the whole strip the code would exceed the instruction cache. Strips at the border take the
// same path as the others, since the slowest strip determines the total time.
//
// Borders by args.border; results are rounded to nearest. Not in place. Reads and writes 4 bytes
// each a pixel for RGBA, 1.5 for 4:2:0; of (2 r + 1)^2 weights a pixel, 58 % (radius 1) to 70 %
// (3) are computed. A weight takes 4 operations (5 for the Gaussian), each sum that it is added to
// 4, and unpacking each word 3: about 80 a pixel at radius 1.
#include "scalar.h"

enum {
	R = VF_RADIUS,
	SPAN = 4 + 2 * R, // words of a row that a thread needs; its own are R to R + 3
	ROWS = VF_ROWS,   // rows per thread, an even number
	WARPS = VF_WARPS, // per block
	WIDTH = 120,
	// end of the loop that takes in R + 1 lines at a time
	LOOPED = 2 * R + (ROWS - R) / (R + 1) * (R + 1),
};

struct line {
	uint32_t word[SPAN];
	uint32_t alpha; // of the own words if they are packed RGBA
	sums s[4];
};

DEVICE bool own(int i) { return i >= R && i < R + 4; }

// gather makes a line from a thread's own four words and its neighbours' words. A pixel's weight
// for itself is 1.
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

// age moves a line on. It hides from the compiler that the words are the same: unpacked, it would
// keep each in three registers.
DEVICE void age(line &older, const line &l) {
	older = l;
	UNROLL
	for (int i = 0; i < SPAN; i++) now(older.word[i]);
}

// add_now stops the compiler from postponing all additions until a sum is known to be used, with a
// hundred weights in registers until then.
DEVICE void add_now(line &l) {
	UNROLL
	for (int k = 0; k < 4; k++) now(l.s[k].w), now(l.s[k].r), now(l.s[k].g), now(l.s[k].b);
}

// meet adds the weights between the pixels of the new line and of a line dy rows older to their
// sums. Within one line (dy = 0) each pair counts once. The older words are the outer loop, so only
// one of them is unpacked at a time. Lines that are only read keep their sums.
DEVICE void meet(line &old, line &fresh, int dy, const float (*tap)[2], bool old_counts, bool fresh_counts) {
	UNROLL
	for (int j = 0; j < SPAN; j++) {
		UNROLL
		for (int i = 0; i < SPAN; i++) {
			bool to_old = own(j) && old_counts, to_fresh = own(i) && fresh_counts;
			int dx = i < j ? j - i : i - j;
			if (dx > R || (dy == 0 && i >= j) || (!to_old && !to_fresh)) continue;
			float w = weight(old.word[j], fresh.word[i], tap[dx][0], tap[dx][1]);
			if (to_old) add(old.s[j - R], w, fresh.word[i]);
			if (to_fresh) add(fresh.s[i - R], w, old.word[j]);
		}
	}
	if (old_counts) add_now(old);
	if (fresh_counts) add_now(fresh);
}

// A thread's position. FAST, the path for packed RGBA that can be read by vectors alone, ignores
// formats.
struct place {
	int x, y;            // the first column and row
	int rows;            // rows that it writes
	bool edge;           // the block reads beyond the picture
	bool vectors;        // the picture can be read by vectors alone
	// with vectors: column of the vector to read, x or the nearest one in the picture
	int near;
	const uint8_t *from; // FAST: row 0 in that column
	uint8_t *to;         // FAST: the first word to write
};

// row maps line i to a row of the picture.
DEVICE int row(const vf_args &args, const place &p, int i) {
	int y = p.y - R + i;
	return p.edge ? border_index(y, args.height, args.border) : y;
}

template <bool FAST>
DEVICE samples load(const vf_args &args, const place &p, int i) {
	if (!FAST && !p.vectors) return load_samples(args, p.x, p.y - R + i);
	int y = row(args, p, i);
	return FAST ? load_u128(p.from + (int64_t)y * args.src_pitch[0]) : load_vector(args, p.near, y);
}

// beyond derives the words of the first three pixels beyond the picture from the last four in it.
DEVICE uint4 beyond(const vf_args &args, uint4 w, bool left) {
	if (args.border == VF_REFLECT) return left ? w.xwzy : w.zyxx;
	return left ? w.xxxx : w.wwww;
}

// words returns the words of line i from the result of load.
template <bool FAST>
DEVICE uint4 words(const vf_args &args, const place &p, const samples &s, int i) {
	if (!FAST && !p.vectors) return words_of(args, s, inside(args, p.x));
	uint4 w = FAST ? s & 0xffffff : words_of(args, spread(args, s), true);
	return !p.edge || p.near == p.x ? w : beyond(args, w, p.x < 0);
}

// store writes a finished line, row i of the thread. Chroma shared by two rows is written with the
// second; above is the result of the previous line.
template <bool FAST>
DEVICE void store(const vf_args &args, const place &p, int i, uint4 out, uint32_t alpha, uint4 above) {
	if (i >= p.rows) return;
	int y = p.y + i;
	if (FAST) {
		out = uint4{byte_perm(out.x, alpha, 0x4210), byte_perm(out.y, alpha, 0x5210), byte_perm(out.z, alpha, 0x6210), byte_perm(out.w, alpha, 0x7210)};
		return store_u128(p.to + i * args.dst_pitch[0], out);
	}
	if (!args.sub_y) return store_rows(args, p.x, y, out, out);
	if (y % 2) return store_rows(args, p.x, y - 1, above, out);
	if (y == args.height - 1) store_rows(args, p.x, y, out, out);
}

// step takes in line i of ROWS + 2 R and stores the line that it completes. ends means that i is a
// compile-time constant: lines above and below the strip then get no sums.
template <bool FAST>
DEVICE void step(const vf_args &args, line *l, samples &next, uint4 &above, const place &p, int i, bool ends) {
	UNROLL
	for (int d = R; d > 0; d--) age(l[d], l[d - 1]);
	gather(l[0], words<FAST>(args, p, next, i));
	if (FAST) l[0].alpha = byte_perm(byte_perm(next.x, next.y, 0x7373), byte_perm(next.z, next.w, 0x7373), 0x7610);
	if (i + 1 < ROWS + 2 * R) next = load<FAST>(args, p, i + 1); // overlaps adding up the sums
	if (i < R) return;
	const bool fresh_counts = !ends || i < ROWS + R;
	UNROLL
	for (int d = R; d >= 0; d--) {
		const bool old_counts = !ends || (i >= R + d && i < ROWS + R + d);
		meet(l[d], l[0], d, args.tap[d + again()], old_counts, fresh_counts);
		if (d < R || i < 2 * R) continue;
		const line &done = l[R]; // It has met all neighbours; finishing now frees its registers.
		uint4 out = {word_of(finish(done.s[0])), word_of(finish(done.s[1])), word_of(finish(done.s[2])), word_of(finish(done.s[3]))};
		store<FAST>(args, p, i - 2 * R, out, done.alpha, above);
		above = out;
	}
}

KERNEL(VF_NAME, 32 * WARPS, VF_BLOCKS) {
	place p;
	const int lane = thread_x(), left = block_x() * WIDTH - 4, top = block_y() * WARPS * ROWS;
	p.x = left + 4 * lane, p.y = top + thread_y() * ROWS;
	if (p.y >= args.height) return;
	p.rows = lane == 0 || lane == 31 || p.x >= args.width ? 0 : args.height - p.y;
	now(p.rows);
	p.edge = left < 0 || left + 128 > args.width || top < R || top + WARPS * ROWS + R > args.height;
	p.vectors = args.aligned && args.width % 4 == 0 && args.width >= 8;
	p.near = p.x < 0 ? 0 : p.x < args.width ? p.x : args.width - 4;
	p.from = source(args, 0, 0) + 4 * p.near, p.to = target(args, 0, p.y) + 4 * p.x;
	line l[R + 1] = {};
	uint4 above = {0, 0, 0, 0};
	if (p.vectors && args.layout == VF_RGBA) {
		samples next = load<true>(args, p, 0);
		UNROLL
		for (int i = 0; i < 2 * R; i++) step<true>(args, l, next, above, p, i, true);
		NO_UNROLL
		for (int i = 2 * R; i < LOOPED; i += R + 1) {
			UNROLL
			for (int k = 0; k <= R; k++) step<true>(args, l, next, above, p, i + k, false);
		}
		UNROLL
		for (int i = LOOPED; i < ROWS + 2 * R; i++) step<true>(args, l, next, above, p, i, true);
		return;
	}
	samples next = load<false>(args, p, 0);
	NO_UNROLL
	for (int i = 0; i < ROWS + 2 * R; i++) step<false>(args, l, next, above, p, i, false);
}
