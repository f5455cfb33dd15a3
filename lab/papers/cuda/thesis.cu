// The kernels of the thesis (000), sections 5.2.1 to 5.2.3: VF_VERSION is
//
//   1  naive: a thread a pixel; picture and spatial weights in global memory
//   2  constant memory for the spatial weights, as in all that follow
//   3  shared memory: the block's pixels and their halo, three bytes each (algorithm 1)
//   4  padded shared memory: a word a pixel, rows padded so that the lines of a warp fall into
//      different banks (5.3)
//   5  1 x N tiling: a block filters VF_FACTOR tiles, side by side in one array; bytes as in 3
//   6  the same padded, words as in 4 (5.4)
//   7  the other tiling: an array of one tile that moves along: pixels shared with the next tile
//      are moved in shared memory, the rest loaded
//   8  version 6 with the loop over the tiles unrolled
//
// Each of the three channels is filtered separately, borders are skipped:
//
//   out_c(p) = sum w_c(p,q) I_c(q) / sum w_c(p,q)
//   w_c(p,q) = Gs(p-q) exp(-(I_c(p) - I_c(q))^2 / (2 sigma_r^2))
//
// Blocks are squares of VF_BLOCK threads. VF_EXP is the source of the range weight: FLOAT, DOUBLE,
// or TABLE, the experiment of section 7.1, by the difference from a table in constant memory. The
// text does not give the precision of exp. Its times are some 250 clocks of a core for one weight,
// five times the cost of FLOAT and near to DOUBLE: a GTX 760 does one double-precision operation
// for 24 others.
//
// Reads, a pixel: 3 (2 r + 1)^2 bytes of global memory in versions 1 and 2, 4 ((b + 2 r) / b)^2
// (b: VF_BLOCK) in 3 and 4, less across with tiles; writes 4. A tap is about 25 operations for
// each channel with FLOAT. Rounded to nearest; not in place.
//
// Changed: pixels are RGBA in global memory. Three bytes of each are read, or the whole word in
// versions that keep words, and results are stored with the alpha of the source. The same kernel
// copies the borders, since its result is a frame of its own. The side of a block is a
// compile-time constant, as the number of tiles has to be in version 8. Only loops that the thesis
// unrolls are unrolled.
#include "thesis.h"

enum { FLOAT, DOUBLE, TABLE };
enum {
	FACTOR = VF_FACTOR,
	WORDS = VERSION == 4 || VERSION >= 6, // else three bytes a pixel
	TILES = VERSION == 7 ? 1 : FACTOR,    // side by side in the array
};
#if VF_VERSION == 8
#define EACH_TILE UNROLL
#else
#define EACH_TILE NO_UNROLL
#endif

// range is the range weight of a difference of levels.
DEVICE float range(const paper_args &args, int d) {
	if (VF_EXP == TABLE) return args.range[d < 0 ? -d : d];
	if (VF_EXP == DOUBLE) return (float)exp_double(-(double)(d * d) / (double)args.two_var);
	float x = (float)d;
	return exp_float(-(x * x) / args.two_var);
}

// filter filters the pixel x, y; neighbour(dx, dy) gives the pixels of its window.
template <class NEIGHBOUR>
DEVICE void filter(const paper_args &args, int x, int y, NEIGHBOUR neighbour) {
	const int r = args.radius;
	const pixel p = neighbour(0, 0);
	float sum[3] = {0, 0, 0}, weights[3] = {0, 0, 0};
	NO_UNROLL
	for (int dy = -r; dy <= r; dy++) {
		NO_UNROLL
		for (int dx = -r; dx <= r; dx++) {
			const pixel q = neighbour(dx, dy);
			const float gs = spatial(args, dx, dy);
			UNROLL
			for (int c = 0; c < 3; c++) {
				float w = gs * range(args, p.level[c] - q.level[c]);
				sum[c] = fma(w, (float)q.level[c], sum[c]);
				weights[c] += w;
			}
		}
	}
	store_mean(args, x, y, sum, weights);
}

// Versions 1 and 2.
DEVICE void filter_global(const paper_args &args) {
	const int x = block_x() * BLOCK + thread_x(), y = block_y() * BLOCK + thread_y();
	if (x >= args.width || y >= args.height) return;
	if (keeps(args, x, y)) return copy_border(args, x, y);
	filter(args, x, y, [&](int dx, int dy) { return pixel_at(args, x + dx, y + dy); });
}

// The array in shared memory from which the other versions filter.
struct tile {
	uint8_t *bytes;
	uint32_t *words;
	int width; // pixels from one row to the next
};

DEVICE tile tile_of(int r) {
	tile t;
	t.bytes = shared_memory();
	t.words = (uint32_t *)t.bytes;
	t.width = BLOCK * TILES + 2 * r;
	if (WORDS) t.width = (2 * r + BLOCK * (TILES - 1) + 31) / 32 * 32 + BLOCK; // (5.3) and (5.4)
	return t;
}

DEVICE void load_pixel_of(const paper_args &args, const tile &t, int i, int x, int y) {
	if (WORDS) {
		t.words[i] = read_u32(source(args, y) + 4 * x);
		return;
	}
	pixel p = pixel_at(args, x, y);
	UNROLL
	for (int c = 0; c < 3; c++) t.bytes[3 * i + c] = (uint8_t)p.level[c];
}

DEVICE pixel get(const tile &t, int i) {
	if (WORDS) return {{(int)(t.words[i] & 255), (int)(t.words[i] >> 8 & 255), (int)(t.words[i] >> 16 & 255)}};
	return {{t.bytes[3 * i], t.bytes[3 * i + 1], t.bytes[3 * i + 2]}};
}

// load fills the columns from `from` to `to` of the array, whose first pixel is x0, y0 of the
// picture: algorithm 1.
DEVICE void load(const paper_args &args, const tile &t, int from, int to, int x0, int y0) {
	NO_UNROLL
	for (int y = thread_y(); y < BLOCK + 2 * args.radius && y0 + y < args.height; y += BLOCK) {
		NO_UNROLL
		for (int x = from + thread_x(); x < to && x0 + x < args.width; x += BLOCK) load_pixel_of(args, t, x + y * t.width, x0 + x, y0 + y);
	}
}

// move_on moves the last 2 r columns of the array, which the next tile shares with this one, to
// its left end. A thread moves columns and rows that no other reads.
DEVICE void move_on(const paper_args &args, const tile &t) {
	NO_UNROLL
	for (int y = thread_y(); y < BLOCK + 2 * args.radius; y += BLOCK) {
		NO_UNROLL
		for (int x = thread_x(); x < 2 * args.radius; x += BLOCK) t.words[x + y * t.width] = t.words[x + BLOCK + y * t.width];
	}
}

// filter_tile filters the pixels whose windows begin in the BLOCK columns from `column` on of the
// array.
DEVICE void filter_tile(const paper_args &args, const tile &t, int column, int x, int y) {
	const int r = args.radius;
	if (x >= args.width - r || y >= args.height - r) return;
	const int centre = column + thread_x() + r + (thread_y() + r) * t.width;
	filter(args, x, y, [&](int dx, int dy) { return get(t, centre + dx + dy * t.width); });
}

// Versions 3 to 8. The array begins where the windows of the first pixels do, so a block filters
// the pixels shifted by r to the right and down.
DEVICE void filter_shared(const paper_args &args) {
	const int r = args.radius, x0 = block_x() * BLOCK * FACTOR, y0 = block_y() * BLOCK;
	const tile t = tile_of(r);
	load(args, t, 0, BLOCK * TILES + 2 * r, x0, y0);
	barrier();
	EACH_TILE
	for (int i = 0; i < FACTOR; i++) {
		const int x = x0 + i * BLOCK + thread_x(), y = y0 + thread_y();
		copy_border(args, x, y);
		if (VERSION == 7 && i > 0) {
			barrier();
			move_on(args, t);
			barrier();
			load(args, t, 2 * r, 2 * r + BLOCK, x0 + i * BLOCK, y0);
			barrier();
		}
		filter_tile(args, t, VERSION == 7 ? 0 : i * BLOCK, x + r, y + r);
	}
}

KERNEL_OF(paper_args, VF_NAME, BLOCK *BLOCK, 1) {
	if (VERSION <= 2) return filter_global(args);
	filter_shared(args);
}
