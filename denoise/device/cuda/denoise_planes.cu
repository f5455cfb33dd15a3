// The planes between the samples: half a pel to the right, down, and both, by 8 taps, each rounded
// to a sample, for the planes of a picture. With VF_SMOOTH they are those of the luma smoothed by
// (1,6,1)/8 or (1,2,1)/4 both ways, otherwise those of a frame's samples, which are enlarged to at
// least 16x16.
//
// A block makes 64 x 32 samples of the four planes. It reads 1.4 samples for each and writes 4, and
// spends some 24 multiply-adds.
#include "picture.h"

enum {
	WIDTH = 64,
	HEIGHT = 32,
	THREADS = 256,
	BEFORE = 4, // samples in shared memory to the left; three are read
	SIDE = WIDTH + 2 * BEFORE,
	ABOVE = 3,
	ROWS = HEIGHT + 7,
	RIM = 1, // more for the smoothing, each way
	WIDE = SIDE + 2 * RIM + 2,
};

struct place {
	int x, y; // of the block's first sample
	int thread;
};

// interpolate is the value half way between the fourth and the fifth.
DEVICE int interpolate(const int *v) {
	int sum = 32 - v[0] + 4 * v[1] - 11 * v[2] + 40 * v[3] + 40 * v[4] - 11 * v[5] + 4 * v[6] - v[7];
	return sum >> 6;
}
DEVICE sample cut(int v, int depth) { return (sample)clamp(v, 0, (1 << depth) - 1); }

// load_tile fills ROWS rows of SIDE samples, from BEFORE to the left and ABOVE.
DEVICE void load_tile(const vd_args &args, const vd_samples &from, const plane &to, const place &at, sample *tile) {
	for (int i = at.thread; i < ROWS * SIDE; i += THREADS) {
		int row = i / SIDE, column = i - row * SIDE;
		int x = clamp(at.x + column - BEFORE, 0, from.width - 1), y = clamp(at.y + row - ABOVE, 0, from.height - 1);
		tile[i] = (sample)load_sample((const uint8_t *)from.at + (int64_t)y * from.pitch + x * from.step);
	}
}

// load_smoothed is load_tile of a plane, smoothed. Between, it keeps the noisy samples in noisy.
DEVICE void load_smoothed(const vd_args &args, const plane &from, const place &at, sample *tile, sample *noisy) {
	for (int i = at.thread; i < (ROWS + 2) * WIDE; i += THREADS) {
		int row = i / WIDE, column = i - row * WIDE;
		noisy[i] = (sample)clamped(from, at.x + column - BEFORE - RIM, at.y + row - ABOVE - RIM);
	}
	barrier();
	int centre = args.coarse ? 2 : 6, shift = args.coarse ? 4 : 6;
	for (int i = at.thread; i < ROWS * SIDE; i += THREADS) {
		int row = i / SIDE, column = i - row * SIDE;
		int x = clamp(at.x + column - BEFORE, 0, from.width - 1), y = clamp(at.y + row - ABOVE, 0, from.height - 1);
		const sample *here = noisy + (y - at.y + ABOVE + RIM) * WIDE + x - at.x + BEFORE + RIM;
		int sum = 0;
		UNROLL
		for (int j = -1; j <= 1; j++) {
			const sample *p = here + j * WIDE;
			sum += (p[-1] + centre * p[0] + p[1]) * (j ? 1 : centre);
		}
		tile[i] = (sample)((sum + (1 << (shift - 1))) >> shift);
	}
}

// go_right makes the plane to the right of the tile.
DEVICE void go_right(const sample *tile, sample *right, int thread, int depth) {
	for (int i = thread; i < ROWS * (WIDTH / 4); i += THREADS) {
		int row = i / (WIDTH / 4), x = i % (WIDTH / 4) * 4;
		const sample4 *p = (const sample4 *)(tile + row * SIDE + x);
		sample4 a = p[0], b = p[1], c = p[2];
		int v[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
		*(sample4 *)(right + row * WIDTH + x) = sample4{cut(interpolate(v + 1), depth), cut(interpolate(v + 2), depth),
		                                                cut(interpolate(v + 3), depth), cut(interpolate(v + 4), depth)};
	}
}

// down interpolates four samples of a tile between its rows 3 and 4 from the given place on.
DEVICE sample4 down(const sample *p, int pitch, int depth) {
	int v[4][8];
	UNROLL
	for (int i = 0; i < 8; i++) {
		sample4 s = *(const sample4 *)(p + i * pitch);
		v[0][i] = s.x, v[1][i] = s.y, v[2][i] = s.z, v[3][i] = s.w;
	}
	return sample4{cut(interpolate(v[0]), depth), cut(interpolate(v[1]), depth), cut(interpolate(v[2]), depth), cut(interpolate(v[3]), depth)};
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	place at = {t.x * WIDTH, t.y * HEIGHT, thread_x()};
	const vd_plane &to = VF_SMOOTH ? args.level[0] : args.noisy[t.plane];
	plane out = plane_of(to, args.centre, 0);
	sample *tile = (sample *)shared_memory(), *right = tile + ROWS * SIDE;
	if (VF_SMOOTH)
		load_smoothed(args, plane_of(args.noisy[0], args.centre, 0), at, tile, right);
	else
		load_tile(args, args.source[t.plane], out, at, tile);
	barrier();
	go_right(tile, right, at.thread, args.depth);
	barrier();
	for (int i = at.thread; i < HEIGHT * (WIDTH / 4); i += THREADS) {
		int row = i / (WIDTH / 4), column = i % (WIDTH / 4) * 4, x = at.x + column, y = at.y + row;
		if (x >= to.width || y >= to.height) continue; // rows have room for four samples
		uint8_t *p = (uint8_t *)row_of(out, y) + x * BYTES;
		const sample *here = tile + row * SIDE + column + BEFORE, *beside = right + row * WIDTH + column;
		store_four(p, *(const sample4 *)(here + ABOVE * SIDE));
		store_four(p + to.phase, *(const sample4 *)(beside + ABOVE * WIDTH));
		store_four(p + 2 * to.phase, down(here, SIDE, args.depth));
		store_four(p + 3 * to.phase, down(beside, WIDTH, args.depth));
	}
}
