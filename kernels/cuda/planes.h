// Converts planes to packed words when a block loads its tile; when it stores the tile, the
// changes of words are added to the samples. So only planes cross the bus (1.5 bytes a pixel for
// 4:2:0), never RGBA. The alpha of RGBA is copied from input to output. With VF_GBR the planes are
// G, B and R, which words hold as they are.
#pragma once

#include "samples.h"

#ifndef VF_GBR
#define VF_GBR 0
#endif

// Exact ties of the formulas must not depend on the last bit of a float, so all ties round up.
#define TIE_UP (1.0f / 16384)

// border_index maps a coordinate into 0 to n - 1.
DEVICE int border_index(int i, int n, int border) {
	if ((uint32_t)i < (uint32_t)n) return i;
	if (border == VF_REFLECT && n > 1) {
		int period = 2 * (n - 1);
		i = (i < 0 ? -i : i) % period; // The mirrored picture is periodic and symmetric.
		return i < n ? i : period - i;
	}
	return i < 0 ? 0 : n - 1;
}

// From planes to words.

DEVICE const uint8_t *source(const vf_args &args, int plane, int y) {
	return (const uint8_t *)args.src[plane] + (int64_t)y * args.src_pitch[plane];
}
DEVICE uint8_t *target(const vf_args &args, int plane, int y) {
	return (uint8_t *)args.dst[plane] + (int64_t)y * args.dst_pitch[plane];
}
DEVICE int chroma_row(const vf_args &args, int y) {
	int cy = y >> args.sub_y;
	return cy < args.chroma_read ? cy : args.chroma_read - 1;
}

// inside reports whether the pixels x to x + 3 may be read and written as one vector; x is a
// multiple of 4.
DEVICE bool inside(const vf_args &args, int x) { return x >= 0 && x + 3 < args.width && args.aligned; }

// Samples are four pixels as read, including alpha; for planes x, y, z are four each of Y, U, V,
// the first pixel lowest.

// load_vector only reads, so other work can overlap the loads; spread then lowers samples of two
// bytes, and turns subsampled chroma into one sample a pixel.
DEVICE samples load_vector(const vf_args &args, int x, int y) {
#if VF_GBR
	x *= BYTES;
	return samples{load4(source(args, 0, y) + x), load4(source(args, 1, y) + x), load4(source(args, 2, y) + x), 0};
#endif
	const uint8_t *row = source(args, 0, y);
#if VF_BYTES == 1
	if (args.layout == VF_RGBA) return load_u128(row + 4 * x);
#endif
	int cy = chroma_row(args, y);
	lanes y4 = load4(row + BYTES * x);
#if VF_BYTES == 2
	if (in_pairs(args) && !args.sub_x) {
		const uint8_t *at = source(args, 1, cy) + 2 * BYTES * x;
		return samples{y4, load4(at), load4(at + 4 * BYTES), 0};
	}
#endif
	if (in_pairs(args)) return samples{y4, load4(source(args, 1, cy) + BYTES * x), 0, 0};
	if (args.sub_x) return samples{y4, load2(source(args, 1, cy) + BYTES * x / 2), load2(source(args, 2, cy) + BYTES * x / 2), 0};
	return samples{y4, load4(source(args, 1, cy) + BYTES * x), load4(source(args, 2, cy) + BYTES * x), 0};
}
DEVICE samples spread(const vf_args &args, const samples &read) {
	const samples &s = lowered(args, read);
#if VF_BYTES == 2
	if (in_pairs(args) && !args.sub_x) return samples{s.x, lanes{firsts(s.y.x, s.y.y), firsts(s.z.x, s.z.y)}, lanes{seconds(s.y.x, s.y.y), seconds(s.z.x, s.z.y)}, 0};
#endif
	if (in_pairs(args)) return samples{s.x, even(s.y), odd(s.y), 0};
	if (args.layout != VF_RGBA && args.sub_x) return samples{s.x, twice(s.y), twice(s.z), 0};
	return s;
}

// One pixel at index k of four.
DEVICE samples load_pixel(const vf_args &args, int x, int y, int k) {
#if VF_GBR
	uint32_t sample[3] = {};
	for (int p = 0; p < 3; p++) sample[p] = load1(source(args, p, y) + BYTES * x);
	return samples{in_lane(sample[0], k), in_lane(sample[1], k), in_lane(sample[2], k), 0};
#endif
#if VF_BYTES == 1
	if (args.layout == VF_RGBA) {
		uint32_t word = 0;
		for (int c = 0; c < 3; c++) word |= load_u8(source(args, 0, y) + 4 * x + c) << 8 * c;
		return samples{k == 0 ? word : 0, k == 1 ? word : 0, k == 2 ? word : 0, k == 3 ? word : 0};
	}
#endif
	int cx = x >> args.sub_x, cy = chroma_row(args, y);
	bool pairs = in_pairs(args);
	const uint8_t *at = source(args, 1, cy) + BYTES * (cx << pairs);
	uint32_t luma = load1(source(args, 0, y) + BYTES * x), u = load1(at);
	uint32_t v = load1(pairs ? at + BYTES : source(args, 2, cy) + BYTES * cx);
	return samples{in_lane(luma, k), in_lane(u, k), in_lane(v, k), 0};
}

// The pixels x to x + 3, inside the picture or not; x is a multiple of 4.
DEVICE samples load_samples(const vf_args &args, int x, int y) {
	y = border_index(y, args.height, args.border);
	if (inside(args, x)) return spread(args, load_vector(args, x, y));
	samples all = {0, 0, 0, 0};
	NO_UNROLL
	for (int k = 0; k < 4; k++) all |= load_pixel(args, border_index(x + k, args.width, args.border), y, k);
	return lowered(args, all);
}

// The contribution of U and V to the colours of a pixel, 0 to 1.
struct chroma {
	float r, g, b;
};
DEVICE chroma chroma_of(const vf_args &args, const samples &s, int k) {
	const vf_color &c = args.color;
	float u = lane_float(s.y, k), v = lane_float(s.z, k);
	return {fma(c.r_v, v, c.r_0), fma(c.g_u, u, fma(c.g_v, v, c.g_0)), fma(c.b_u, u, c.b_0)};
}

// The colours of a pixel, whole levels with ROUND added.
struct levels {
	float r, g, b;
};
DEVICE levels levels_of(const vf_args &args, const samples &s, int k, const chroma &c) {
	float gain = args.color.y_gain, y = lane_float(s.x, k), most = most_of(args);
	return {fma(fma_unit(gain, y, c.r), most, ROUND), fma(fma_unit(gain, y, c.g), most, ROUND), fma(fma_unit(gain, y, c.b), most, ROUND)};
}
DEVICE lanes word_of(const levels &l) { return pack(l.r, l.g, l.b); }

// The levels of four adjacent pixels; levels_of computes them from samples s of planes. whole means
// that all four are inside the picture; beyond it, a border may split pairs.
struct quad {
	levels of[4];
};
DEVICE quad levels_of(const vf_args &args, const samples &s, bool whole) {
	chroma c0 = chroma_of(args, s, 0), c1 = c0, c2 = chroma_of(args, s, 2), c3 = c2;
	if (!args.sub_x || !whole) c1 = chroma_of(args, s, 1), c3 = chroma_of(args, s, 3);
	return {{levels_of(args, s, 0, c0), levels_of(args, s, 1, c1), levels_of(args, s, 2, c2), levels_of(args, s, 3, c3)}};
}

// The words of four adjacent pixels, read as s.
DEVICE word4 words_of(const vf_args &args, const samples &s, bool whole) {
#if VF_GBR
	auto word = [&](int k) { return pack(raised(s.z, k), raised(s.x, k), raised(s.y, k)); };
	return word4{word(0), word(1), word(2), word(3)};
#endif
#if VF_BYTES == 1
	if (args.layout == VF_RGBA) return s & 0xffffff;
#endif
	quad q = levels_of(args, s, whole);
	return word4{word_of(q.of[0]), word_of(q.of[1]), word_of(q.of[2]), word_of(q.of[3])};
}

// From words to planes.

// The change of a pixel, or the sum over several: whole levels.
struct change {
	float r, g, b;
};
DEVICE change change_of(const levels &was, lanes is) { return {raised(is, 0) - was.r, raised(is, 1) - was.g, raised(is, 2) - was.b}; }
DEVICE change sum(const change &a, const change &b) { return {a.r + b.r, a.g + b.g, a.b + b.b}; }

// The changes of four adjacent pixels.
struct changes {
	change of[4];
};
DEVICE changes changes_of(const quad &was, word4 is) {
	return {{change_of(was.of[0], is.x), change_of(was.of[1], is.y), change_of(was.of[2], is.z), change_of(was.of[3], is.w)}};
}
DEVICE changes sum(const changes &a, const changes &b) {
	return {{sum(a.of[0], b.of[0]), sum(a.of[1], b.of[1]), sum(a.of[2], b.of[2]), sum(a.of[3], b.of[3])}};
}

// fill_pairs makes an odd last column stand in for the missing one.
DEVICE void fill_pairs(const vf_args &args, int x, changes &c) {
	if (x + 3 < args.width) return; // nearly always, and cheaper than a select
	if (x + 1 == args.width) c.of[1] = c.of[0];
	if (x + 3 == args.width) c.of[3] = c.of[2];
}

// sample_of adds part of a change, converted by k of vf_color, to one of four samples. The result
// has ROUND added.
DEVICE float sample_of(const vf_args &args, lanes samples, int lane, const float *k, const change &c, float part) {
	float most = most_of(args), inverse = inverse_of(args), in = fma(lane_float(samples, lane), inverse, TIE_UP * inverse);
	if (part == 1) return fma(fma_unit(c.r, k[0], fma(c.g, k[1], fma(c.b, k[2], in))), most, ROUND);
	return fma(fma_unit(fma(c.r, k[0], fma(c.g, k[1], c.b * k[2])), part, in), most, ROUND);
}

DEVICE lanes sample4_of(const vf_args &args, lanes samples, const float *k, const changes &c, float part) {
	return pack4(sample_of(args, samples, 0, k, c.of[0], part), sample_of(args, samples, 1, k, c.of[1], part), sample_of(args, samples, 2, k, c.of[2], part),
	             sample_of(args, samples, 3, k, c.of[3], part));
}

// The functions from here on ask for each vector whether it lies inside the picture, unless WHOLE
// guarantees it, also for the row below.

// store_vector stores a plane's samples of the pixels x to x + 3 that exist.
template <bool WHOLE = false>
DEVICE void store_vector(const vf_args &args, int plane, int x, int y, lanes samples) {
	uint8_t *to = target(args, plane, y) + BYTES * x;
	if (WHOLE || inside(args, x)) return store4(args, to, samples);
	NO_UNROLL
	for (int k = 0; k < 4 && x + k < args.width; k++) store1(args, to + BYTES * k, lane_of(samples, k));
}

// store_luma stores a row of the four pixels read as s.
template <bool WHOLE = false>
DEVICE void store_luma(const vf_args &args, int x, int y, const samples &s, const changes &c) {
	store_vector<WHOLE>(args, 0, x, y, sample4_of(args, s.x, args.color.y, c, 1));
}

// chroma_pair makes U and V of two columns (number 0 or 1 of s), U in the lowest lane, V in the
// next; c is the sum over four pixels.
DEVICE uint32_t chroma_pair(const vf_args &args, const samples &s, int number, const change &c) {
	float u = sample_of(args, s.y, 2 * number, args.color.u, c, 0.25f), v = sample_of(args, s.z, 2 * number, args.color.v, c, 0.25f);
	return pair(u, v);
}

DEVICE void store_pair(const vf_args &args, int cx, int cy, uint32_t uv) {
	bool pairs = in_pairs(args);
	if (pairs && args.aligned) return store2(args, target(args, 1, cy) + 2 * BYTES * cx, uv);
	store1(args, target(args, 1, cy) + BYTES * (cx << pairs), uv);
	store1(args, pairs ? target(args, 1, cy) + 2 * BYTES * cx + BYTES : target(args, 2, cy) + BYTES * cx, uv >> 8 * BYTES);
}

// store_chroma stores chroma of the four pixels read as s; c is the sum over two rows, or twice the
// sum of one.
template <bool WHOLE = false>
DEVICE void store_chroma(const vf_args &args, int x, int cy, const samples &s, const changes &c) {
	if (cy >= args.chroma_write) return;
	if (!args.sub_x) {
#if VF_BYTES == 2
		if (in_pairs(args)) {
			lanes u = sample4_of(args, s.y, args.color.u, c, 0.5f), v = sample4_of(args, s.z, args.color.v, c, 0.5f);
			NO_UNROLL
			for (int k = 0; k < 4 && x + k < args.width; k++) store_pair(args, x + k, cy, lane_of(u, k) | lane_of(v, k) << 16);
			return;
		}
#endif
		store_vector<WHOLE>(args, 1, x, cy, sample4_of(args, s.y, args.color.u, c, 0.5f));
		store_vector<WHOLE>(args, 2, x, cy, sample4_of(args, s.z, args.color.v, c, 0.5f));
		return;
	}
	uint32_t a = chroma_pair(args, s, 0, sum(c.of[0], c.of[1])), b = chroma_pair(args, s, 1, sum(c.of[2], c.of[3]));
	if (!WHOLE && !inside(args, x)) {
		store_pair(args, x / 2, cy, a);
		if (x + 2 < args.width) store_pair(args, x / 2 + 1, cy, b);
		return;
	}
	if (in_pairs(args)) return store_pairs(args, target(args, 1, cy) + BYTES * x, a, b);
	store2(args, target(args, 1, cy) + BYTES * x / 2, firsts(a, b));
	store2(args, target(args, 2, cy) + BYTES * x / 2, seconds(a, b));
}

#if VF_BYTES == 1
// store_rgba stores the words of the existing pixels among the four from x on.
DEVICE void store_rgba(const vf_args &args, int x, int y, uint4 w) {
	const uint8_t *from = source(args, 0, y) + 4 * x;
	uint8_t *to = target(args, 0, y) + 4 * x;
	if (inside(args, x)) return store_u128(to, w | (load_u128(from) & 0xff000000));
	NO_UNROLL
	for (int k = 0; k < 4 && x + k < args.width; k++) {
		uint32_t word = k < 2 ? k == 0 ? w.x : w.y : k == 2 ? w.z : w.w;
		for (int c = 0; c < 3; c++) store_u8(to + 4 * k + c, word >> 8 * c & 255);
		store_u8(to + 4 * k + 3, load_u8(from + 4 * k + 3));
	}
}
#endif

// store_gbr stores the words of the pixels x to x + 3 that exist.
template <bool WHOLE = false>
DEVICE void store_gbr(const vf_args &args, int x, int y, const word4 &w) {
	UNROLL
	for (int plane = 0; plane < 3; plane++) {
		int lane = (plane + 1) % 3; // of words: R, G, B
		store_vector<WHOLE>(args, plane, x, y, pack4(raised(w.x, lane), raised(w.y, lane), raised(w.z, lane), raised(w.w, lane)));
	}
}

// The samples of four pixels in one row, or in two that share their chroma. load_rows reads all of
// them before anything is stored, since the compiler moves no load past a store.
struct rows {
	samples top; // not spread where the vector is inside
	lanes below; // luma of the second row
};
template <bool WHOLE = false>
DEVICE rows load_rows(const vf_args &args, int x, int y) {
	if (!WHOLE && (args.layout == VF_RGBA || x < 0 || x >= args.width || y >= args.height)) return {};
	bool whole = WHOLE || inside(args, x);
	rows r = {whole ? load_vector(args, x, y) : load_samples(args, x, y), 0};
	if (args.sub_y && (WHOLE || y + 1 < args.height)) r.below = whole ? load4(source(args, 0, y + 1) + BYTES * x) : load_samples(args, x, y + 1).x;
	return r;
}

// store_rows stores four words of row y, and of row y + 1 if chroma is halved vertically; x is a
// multiple of 4, and y then of 2. Words beyond the picture are skipped. The old words are
// recomputed from was, the samples.
template <bool WHOLE = false>
DEVICE void store_rows(const vf_args &args, int x, int y, word4 top, word4 bottom, const rows &was) {
	if (!WHOLE && (x < 0 || x >= args.width || y >= args.height)) return;
#if VF_GBR
	return store_gbr<WHOLE>(args, x, y, top);
#endif
#if VF_BYTES == 1
	if (!WHOLE && args.layout == VF_RGBA) return store_rgba(args, x, y, top);
#endif
	bool whole = WHOLE || inside(args, x);
	samples s = whole ? spread(args, was.top) : was.top;
	changes c = changes_of(levels_of(args, s, whole), top), total = sum(c, c);
	store_luma<WHOLE>(args, x, y, s, c);
	if (args.sub_y && (WHOLE || y + 1 < args.height)) {
		samples below = {was.below, s.y, s.z, 0};
		if (whole) below.x = lowered(args, samples{was.below, 0, 0, 0}).x;
		changes d = changes_of(levels_of(args, below, whole), bottom);
		store_luma<WHOLE>(args, x, y + 1, below, d);
		total = sum(c, d);
	}
	if (!WHOLE) fill_pairs(args, x, total);
	store_chroma<WHOLE>(args, x, y >> args.sub_y, s, total);
}
DEVICE void store_rows(const vf_args &args, int x, int y, word4 top, word4 bottom) {
	store_rows(args, x, y, top, bottom, load_rows(args, x, y));
}

// A tile of words.

// load_tile reads ROWS rows of VECTORS vectors from the pixel x0, y0 on (x0 a multiple of 4), by
// all THREADS threads of the block. It converts the samples of each vector, and passes its row, its
// column and the result to use. If all lies inside the picture, all loads are issued before the
// first is used.
template <int VECTORS, int ROWS, int THREADS, class CONVERT, class USE>
DEVICE void load_tile(const vf_args &args, int thread, int x0, int y0, CONVERT convert, USE use) {
	const int count = VECTORS * ROWS, turns = (count + THREADS - 1) / THREADS;
	if (args.aligned && x0 >= 0 && y0 >= 0 && x0 + 4 * VECTORS <= args.width && y0 + ROWS <= args.height) {
		samples s[turns];
		UNROLL
		for (int n = 0; n < turns; n++) {
			int i = thread + n * THREADS;
			if (n + 1 < turns || i < count) s[n] = load_vector(args, x0 + i % VECTORS * 4, y0 + i / VECTORS);
		}
		UNROLL
		for (int n = 0; n < turns; n++) {
			int i = thread + n * THREADS, x = i % VECTORS * 4;
			if (n + 1 < turns || i < count) use(i / VECTORS, x, convert(args, spread(args, s[n]), true));
		}
		return;
	}
	NO_UNROLL
	for (int i = thread; i < count; i += THREADS) {
		int row = i / VECTORS, x = i % VECTORS * 4;
		use(row, x, convert(args, load_samples(args, x0 + x, y0 + row), inside(args, x0 + x)));
	}
}

// store_tile stores WIDTH x HEIGHT words, in rows PITCH words apart, as the pixels from x0, y0 on,
// by all threads of the block. Planes of tiles inside the picture are stored without checks, and
// all samples are read before the first is stored.
template <int PITCH, int WIDTH, int HEIGHT, int THREADS>
DEVICE void store_tile(const vf_args &args, const lanes *words, int thread, int x0, int y0) {
	const int vectors = WIDTH / 4, turns = (vectors * HEIGHT + THREADS - 1) / THREADS;
	const int step = 1 << args.sub_y, count = vectors * HEIGHT >> args.sub_y;
	auto at = [=](int i, auto use) {
		int row = i / vectors * step, x = i % vectors * 4;
		use(x0 + x, y0 + row, words + row * PITCH + x, words + (row + step - 1) * PITCH + x);
	};
	if (args.layout != VF_RGBA && args.aligned && x0 + WIDTH <= args.width && y0 + HEIGHT <= args.height) {
		rows was[turns];
		UNROLL
		for (int n = 0, i = thread; n < turns; n++, i += THREADS) {
			if (i < count) at(i, [&](int x, int y, const lanes *, const lanes *) { was[n] = load_rows<true>(args, x, y); });
		}
		UNROLL
		for (int n = 0, i = thread; n < turns; n++, i += THREADS) {
			if (i < count) at(i, [&](int x, int y, const lanes *top, const lanes *bottom) { store_rows<true>(args, x, y, read_words(top), read_words(bottom), was[n]); });
		}
		return;
	}
	NO_UNROLL
	for (int i = thread; i < count; i += THREADS) {
		at(i, [&](int x, int y, const lanes *top, const lanes *bottom) { store_rows(args, x, y, read_words(top), read_words(bottom)); });
	}
}
