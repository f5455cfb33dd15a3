// The planes between the samples: half a pel to the right, down, and both, by 8 taps, each rounded
// to a sample, for the planes of a picture. With VF_SMOOTH they are bytes, of the luma smoothed by
// (1,6,1)/8 or (1,2,1)/4 both ways; otherwise a frame's samples, enlarged to at least 16x16.
//
// A block makes 64 x 32 samples of the four planes. It reads 1.4 samples for each and writes 4, and
// spends 6 dot products of four bytes on them, or 12 of two samples of 16 bits.
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

// -1, 4, -11, 40 and 40, -11, 4, -1
enum { TAPS = 0x28f504ffu, LAST_TAPS = 0xff04f528u };

#if VF_BYTES == 1 || VF_SMOOTH
typedef uint8_t made; // a sample of the result
enum { SIGN = 0x80808080u };
typedef uint32_t four; // samples
DEVICE void store_four(uint8_t *p, four v) { store_u32(p, v); }

// interpolate is the value half way between the fourth and the fifth of eight bytes less 128.
DEVICE uint32_t interpolate(uint32_t low, uint32_t high) {
	int sum = dot4_signed((int32_t)low, (int32_t)TAPS, dot4_signed((int32_t)high, (int32_t)LAST_TAPS, 32 + 128 * 64));
	return (uint32_t)most(least(sum >> 6, 255), 0);
}
DEVICE four four_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return byte_perm(byte_perm(a, b, 0x0040), byte_perm(c, d, 0x0040), 0x5410); }

// right_of interpolates four samples between the places 4 and 5 to 7 and 8 from the given one.
DEVICE four right_of(const vd_args &args, const made *at) {
	const uint32_t *p = (const uint32_t *)at;
	uint32_t a = p[0] ^ SIGN, b = p[1] ^ SIGN, c = p[2] ^ SIGN;
	return four_of(interpolate(funnel(a, b, 8), funnel(b, c, 8)), interpolate(funnel(a, b, 16), funnel(b, c, 16)),
	               interpolate(funnel(a, b, 24), funnel(b, c, 24)), interpolate(b, c));
}

// columns_of has the columns of four rows of four bytes.
DEVICE uint4 columns_of(const made *p, int pitch) {
	auto row = [&](int i) { return *(const uint32_t *)(p + i * pitch) ^ SIGN; };
	uint32_t a = row(0), b = row(1), c = row(2), d = row(3);
	uint32_t ab = byte_perm(a, b, 0x5140), cd = byte_perm(c, d, 0x5140), ab2 = byte_perm(a, b, 0x7362), cd2 = byte_perm(c, d, 0x7362);
	return uint4{byte_perm(ab, cd, 0x5410), byte_perm(ab, cd, 0x7632), byte_perm(ab2, cd2, 0x5410), byte_perm(ab2, cd2, 0x7632)};
}

// down interpolates four samples of a tile between its rows 3 and 4 from the given place on.
DEVICE four down(const vd_args &args, const made *p, int pitch) {
	uint4 a = columns_of(p, pitch), b = columns_of(p + 4 * pitch, pitch);
	return four_of(interpolate(a.x, b.x), interpolate(a.y, b.y), interpolate(a.z, b.z), interpolate(a.w, b.w));
}
#else
typedef uint16_t made;
typedef uint2 four;
DEVICE void store_four(uint8_t *p, four v) { store_u64(p, v); }

// interpolate is the value half way between the fourth and the fifth of eight samples, in pairs.
DEVICE uint32_t interpolate(const vd_args &args, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
	int sum = dot2_low(a, TAPS, dot2_high(b, TAPS, dot2_low(c, LAST_TAPS, dot2_high(d, LAST_TAPS, 32))));
	return (uint32_t)most(least(sum >> 6, (1 << args.depth) - 1), 0);
}
DEVICE four four_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return four{byte_perm(a, b, 0x5410), byte_perm(c, d, 0x5410)}; }

DEVICE four right_of(const vd_args &args, const made *at) {
	const uint32_t *p = (const uint32_t *)at;
	uint32_t odd[5];
	UNROLL
	for (int i = 0; i < 5; i++) odd[i] = funnel(p[i], p[i + 1], 16);
	return four_of(interpolate(args, odd[0], odd[1], odd[2], odd[3]), interpolate(args, p[1], p[2], p[3], p[4]),
	               interpolate(args, odd[1], odd[2], odd[3], odd[4]), interpolate(args, p[2], p[3], p[4], p[5]));
}

DEVICE four down(const vd_args &args, const made *p, int pitch) {
	uint32_t even[2][4], odd[2][4]; // columns, of two rows each
	UNROLL
	for (int i = 0; i < 4; i++) {
		const uint32_t *a = (const uint32_t *)(p + 2 * i * pitch), *b = (const uint32_t *)(p + (2 * i + 1) * pitch);
		UNROLL
		for (int k = 0; k < 2; k++) even[k][i] = byte_perm(a[k], b[k], 0x5410), odd[k][i] = byte_perm(a[k], b[k], 0x7632);
	}
	auto column = [&](const uint32_t *c) { return interpolate(args, c[0], c[1], c[2], c[3]); };
	return four_of(column(even[0]), column(odd[0]), column(even[1]), column(odd[1]));
}
#endif

// load_tile fills ROWS rows of SIDE samples, from BEFORE to the left and ABOVE.
DEVICE void load_tile(const vd_args &args, const vd_samples &from, const plane &to, const place &at, made *tile) {
	for (int i = at.thread; i < ROWS * SIDE; i += THREADS) {
		int row = i / SIDE, column = i - row * SIDE;
		int x = clamp(at.x + column - BEFORE, 0, from.width - 1), y = clamp(at.y + row - ABOVE, 0, from.height - 1);
		uint32_t v = load_sample((const uint8_t *)from.at + (int64_t)y * from.pitch + x * from.step);
		tile[i] = (made)(BYTES == 1 ? v : (uint32_t)least((int)(v >> args.shift), (1 << args.depth) - 1));
	}
}

// load_smoothed is load_tile of a plane, smoothed. Between, it keeps the noisy samples in noisy.
DEVICE void load_smoothed(const vd_args &args, const plane &from, const place &at, made *tile, sample *noisy) {
	for (int i = at.thread; i < (ROWS + 2) * WIDE; i += THREADS) {
		int row = i / WIDE, column = i - row * WIDE;
		noisy[i] = (sample)clamped(from, at.x + column - BEFORE - RIM, at.y + row - ABOVE - RIM);
	}
	barrier();
	int centre = args.coarse ? 2 : 6, shift = (args.coarse ? 4 : 6) + (BYTES == 1 ? 0 : args.depth - 8);
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
		sum = (sum + (1 << (shift - 1))) >> shift;
		tile[i] = (made)(BYTES == 1 ? sum : least(sum, 255));
	}
}

// go_right makes the plane to the right of the tile.
DEVICE void go_right(const vd_args &args, const made *tile, made *right, int thread) {
	for (int i = thread; i < ROWS * (WIDTH / 4); i += THREADS) {
		int row = i / (WIDTH / 4), x = i % (WIDTH / 4) * 4;
		*(four *)(right + row * WIDTH + x) = right_of(args, tile + row * SIDE + x);
	}
}

KERNEL_OF(vd_args, VF_NAME, THREADS, 4) {
	tile t = tile_of(args);
	place at = {t.x * WIDTH, t.y * HEIGHT, thread_x()};
	const vd_plane &to = VF_SMOOTH ? args.level[0] : args.noisy[t.plane];
	plane out = plane_of(to, args.centre, 0);
	made *tile = (made *)shared_memory(), *right = tile + ROWS * SIDE;
	if (VF_SMOOTH)
		load_smoothed(args, plane_of(args.noisy[0], args.centre, 0), at, tile, (sample *)right);
	else
		load_tile(args, args.source[t.plane], out, at, tile);
	barrier();
	go_right(args, tile, right, at.thread);
	barrier();
	for (int i = at.thread; i < HEIGHT * (WIDTH / 4); i += THREADS) {
		int row = i / (WIDTH / 4), column = i % (WIDTH / 4) * 4, x = at.x + column, y = at.y + row;
		if (x >= to.width || y >= to.height) continue; // rows have room for four samples
		uint8_t *p = (uint8_t *)row_of(out, y) + x * sizeof(made);
		const made *here = tile + row * SIDE + column + BEFORE, *beside = right + row * WIDTH + column;
		store_four(p, *(const four *)(here + ABOVE * SIDE));
		store_four(p + to.phase, *(const four *)(beside + ABOVE * WIDTH));
		store_four(p + 2 * to.phase, down(args, here, SIDE));
		store_four(p + 3 * to.phase, down(args, beside, WIDTH));
	}
}
