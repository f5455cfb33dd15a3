// The kernels of Agarwal et al. (003): the naive form (algorithm 1) and the pair-symmetric one
// (algorithm 2), channel by channel.
//
//   out(p) = D1(p) / D2(p),  D1(p) = sum w s(q),  D2(p) = sum w
//   w = Gs(p - q) exp(-(s(p) - s(q))^2 / (2 sigma_r^2))
//
// Pixels whose window leaves the picture stay unchanged (the paper does not define the border). A
// block is 32 threads across and VF_HEIGHT down, one a pixel: "there is only one warp per row". It
// loads its pixels and their halo into shared memory as floats.
//
// VF_NAIVE: each thread goes through the window of its pixel. For each channel: reads (32 + 2 r) (H
// + 2 r) / (32 H) times 4 bytes a pixel, H = VF_HEIGHT. The last one writes 4 bytes. (2 r + 1)^2
// taps of 6 operations and an exp_float, with one read of shared memory.
//
// Else pair-symmetric (sections II-B and III): each pair of pixels is weighted once. A thread goes
// through the half of its window below its pixel and to the left of it. It accumulates the sums of
// its own pixel in registers, and adds the neighbours' shares to maps of D1 and D2 in shared
// memory. The threads of a warp take each step to the side together, so that no two of them ever
// add to one place (the paper's implicit synchronization). All warps take each step down together,
// by the block's barrier, so that each has a row of the maps to itself. Then the block adds its
// maps to the picture's maps in scratch memory.
//
// Blocks: the maps of a tile reach r beyond it to the left, to the right and below. Tiles filtered
// at the same time are spaced so that no two add to the same pixel: every second one across
// (32 >= 2 r), one of 1 + ceil(r / H) down. So there are 2 (1 + ceil(r / H)) successive launches,
// preceded by one that clears the maps and followed by one that divides. No sum depends on the
// order of concurrent work: the result is always the same bits.
//
// For each channel and the share f = (32 + 2 r) (H + r) / (32 H) of the tile with its halo: reads
// 4 f bytes a pixel, reads and writes 8 f each of the maps, writes 8 to clear them, reads 8 to
// divide; 4 bytes a pixel out. 2 r (r + 1) taps, half of the naive form's, of 12 operations and an
// exp_float, with three reads of shared memory and two writes.
//
// Changed: algorithm 2 lets l run to 0 in its last loop, so that a pixel's own sample counts
// twice; here it counts once. Algorithm 1 lacks k in s[i,j+l]. Since Volta the threads of a warp
// may diverge, so each step has a barrier of the warp. Spatial weights lie in constant memory and
// are multiplied in ("can be computed in advance"), where the algorithms have one exp of a sum.
// The paper's grid has a fixed number of blocks, which go from tile to tile; here each tile has
// its own block. Three channels, and bytes out, rounded to nearest.
#include "papers.h"

enum { WIDTH = 32, HEIGHT = VF_HEIGHT, THREADS = WIDTH * HEIGHT };

// A tile with its halo: rows of pitch floats; s is the channel of the picture, 0 outside of it.
struct tile {
	float *s, *d1, *d2;
	int x0, y0, pitch, rows;
};

DEVICE bool in_picture(const paper_args &args, int x, int y) { return x >= 0 && x < args.width && y >= 0 && y < args.height; }

DEVICE float channel(uint32_t word, int c) { return (float)(word >> 8 * c & 255); }

// load reads a channel from x, y on, one row a warp.
DEVICE void load(const paper_args &args, const tile &t, int c) {
	for (int j = thread_y(); j < t.rows; j += HEIGHT)
		for (int i = thread_x(); i < t.pitch; i += WIDTH) {
			int x = t.x0 + i, y = t.y0 + j;
			t.s[j * t.pitch + i] = in_picture(args, x, y) ? channel(read_u32(source(args, y) + 4 * x), c) : 0;
		}
}

// store writes the result of a pixel, or the pixel itself if it stays unchanged. Alpha is kept.
DEVICE void store(const paper_args &args, int x, int y, const float *mean) {
	uint32_t own = read_u32(source(args, y) + 4 * x), out = own & 0xff000000;
	for (int c = 0; c < 3; c++) out |= nearest(mean[c]) << 8 * c;
	store_u32(target(args, y) + 4 * x, keeps(args, x, y) ? own : out);
}

#if VF_NAIVE

DEVICE float filter(const paper_args &args, const tile &t) {
	const int r = args.radius, at = (thread_y() + r) * t.pitch + thread_x() + r;
	const float centre = t.s[at], c2 = -1 / args.two_var;
	float x1 = 0, x2 = 0;
	for (int k = -r; k <= r; k++)
		for (int l = -r; l <= r; l++) {
			float s = t.s[at + k * t.pitch + l], d = centre - s;
			float temp = args.tap[k < 0 ? -k : k][l < 0 ? -l : l] * exp_float(d * d * c2);
			x1 = fma(temp, s, x1);
			x2 += temp;
		}
	return x1 / x2;
}

KERNEL_OF(paper_args, VF_NAME, THREADS, 1) {
	const int r = args.radius, x = block_x() * WIDTH + thread_x(), y = block_y() * HEIGHT + thread_y();
	tile t = {(float *)shared_memory(), 0, 0, block_x() * WIDTH - r, block_y() * HEIGHT - r, WIDTH + 2 * r, HEIGHT + 2 * r};
	float mean[3];
	for (int c = 0; c < 3; c++) {
		load(args, t, c);
		barrier();
		mean[c] = filter(args, t);
		barrier();
	}
	if (x < args.width && y < args.height) store(args, x, y, mean);
}

#else

// The maps of the picture, for a channel D1, then D2: floats in scratch memory.
DEVICE uint8_t *map_at(const paper_args &args, int map, int x, int y) {
	return (uint8_t *)args.scratch + 4 * (((size_t)map * args.height + y) * args.width + x);
}

// A thread's pixel and its own sums.
struct pixel {
	float s, x1, x2, c2;
	int x, y, at; // in the picture; in the tile
};

// pair weights one pair. Tiles at the edge of the picture need CHECK: they may lack either pixel.
// All threads of a warp call it together.
template <bool CHECK> DEVICE void pair(const paper_args &args, const tile &t, pixel &p, int k, int l) {
	const int q = p.at + k * t.pitch + l;
	const float s = t.s[q], d = p.s - s;
	float temp = args.tap[k][l < 0 ? -l : l] * exp_float(d * d * p.c2);
	if (CHECK && !(in_picture(args, p.x, p.y) && in_picture(args, p.x + l, p.y + k))) temp = 0;
	p.x1 = fma(temp, s, p.x1);
	p.x2 += temp;
	t.d1[q] = fma(temp, p.s, t.d1[q]);
	t.d2[q] += temp;
	warp_barrier();
}

template <bool CHECK> DEVICE void filter(const paper_args &args, const tile &t) {
	const int r = args.radius, at = thread_y() * t.pitch + thread_x() + r;
	pixel p = {t.s[at], t.s[at], 1, -1 / args.two_var, t.x0 + r + thread_x(), t.y0 + thread_y(), at};
	for (int k = 1; k <= r; k++) {
		for (int l = -r; l <= r; l++) pair<CHECK>(args, t, p, k, l);
		barrier();
	}
	for (int l = -r; l <= -1; l++) pair<CHECK>(args, t, p, 0, l);
	t.d1[at] += p.x1;
	t.d2[at] += p.x2;
}

DEVICE void add_to_map(uint8_t *to, float x) { store_u32(to, float_bits(bits_float(read_u32(to)) + x)); }

// filter_tile filters one channel and adds the results to the maps of the picture.
DEVICE void filter_tile(const paper_args &args, const tile &t, int c) {
	load(args, t, c);
	for (int i = thread_y() * WIDTH + thread_x(); i < t.rows * t.pitch; i += THREADS) t.d1[i] = t.d2[i] = 0;
	barrier();
	if (t.x0 >= 0 && t.x0 + t.pitch <= args.width && t.y0 + t.rows <= args.height)
		filter<false>(args, t);
	else
		filter<true>(args, t);
	barrier();
	for (int j = thread_y(); j < t.rows; j += HEIGHT)
		for (int i = thread_x(); i < t.pitch; i += WIDTH) {
			int x = t.x0 + i, y = t.y0 + j;
			if (!in_picture(args, x, y)) continue;
			add_to_map(map_at(args, 2 * c, x, y), t.d1[j * t.pitch + i]);
			add_to_map(map_at(args, 2 * c + 1, x, y), t.d2[j * t.pitch + i]);
		}
	barrier();
}

// filter_phase filters the tiles of a phase: one of each group of 2 across and `down` down, at the
// position given by the phase's number.
DEVICE void filter_phase(const paper_args &args, int phase) {
	const int r = args.radius, down = 1 + (r + HEIGHT - 1) / HEIGHT;
	const int x0 = (2 * block_x() + phase % 2) * WIDTH, y0 = (down * block_y() + phase / 2) * HEIGHT;
	if (x0 >= args.width || y0 >= args.height) return;
	float *floats = (float *)shared_memory();
	const int pitch = WIDTH + 2 * r, rows = HEIGHT + r, size = pitch * rows;
	tile t = {floats, floats + size, floats + 2 * size, x0 - r, y0, pitch, rows};
	for (int c = 0; c < 3; c++) filter_tile(args, t, c);
}

DEVICE void divide(const paper_args &args, int x, int y) {
	float mean[3];
	for (int c = 0; c < 3; c++)
		mean[c] = bits_float(read_u32(map_at(args, 2 * c, x, y))) / bits_float(read_u32(map_at(args, 2 * c + 1, x, y)));
	store(args, x, y, mean);
}

KERNEL_OF(paper_args, VF_NAME, THREADS, 1) {
	const int phases = 2 * (1 + (args.radius + HEIGHT - 1) / HEIGHT);
	const int x = block_x() * WIDTH + thread_x(), y = block_y() * HEIGHT + thread_y();
	if (args.pass >= 1 && args.pass <= phases) return filter_phase(args, args.pass - 1);
	if (x >= args.width || y >= args.height) return;
	if (args.pass > phases) return divide(args, x, y);
	for (int map = 0; map < 6; map++) store_u32(map_at(args, map, x, y), 0);
}

#endif
