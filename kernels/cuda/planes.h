// Planes to packed words as a block's tile is loaded, and words to planes as it is stored. So what crosses the bus is the planes (1.5
// bytes a pixel for 4:2:0), never RGBA. A word is R | G << 8 | B << 16, its highest byte 0; the alpha of RGBA goes from the
// input straight to the output.
#pragma once

#include "device.h"
#include "args.h"

// Rounding: what is a tie on paper must not depend on the last bit of a float, so all ties go up.
#define TIE_UP (1.0f / 16384)
// Added to a float of 0 to 2^22, this rounds it to nearest and leaves it as an integer in the lower bits.
#define ROUND 8388608.0f

// A byte of a word as a float.
DEVICE float byte_float(uint32_t word, int byte) { return bits_float(byte_perm(word, 0x4B000000, 0x7540 | byte)) - ROUND; }

// pack makes a word of three floats of 0 to 255 to which ROUND was added.
DEVICE uint32_t pack(float r, float g, float b) {
	return byte_perm(byte_perm(float_bits(r), float_bits(g), 0x5540), float_bits(b), 0x5410);
}

// border_index maps a coordinate into 0 to n - 1, or returns -1 for black.
DEVICE int border_index(int i, int n, int border) {
	if ((uint32_t)i < (uint32_t)n) return i;
	if (border == VF_ZERO) return -1;
	if (border == VF_REFLECT && n > 1) {
		int period = 2 * (n - 1);
		i = (i < 0 ? -i : i) % period; // the mirrored picture repeats, and is the same from both sides
		return i < n ? i : period - i;
	}
	return i < 0 ? 0 : n - 1; // clamp; skip too, whose results there are not used
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

// inside says whether the vector of the pixels x to x + 3 may be read and written as one; x divides by 4.
DEVICE bool inside(const vf_args &args, int x) { return x >= 0 && x + 3 < args.width && args.aligned; }

// Four pixels as they were read, alpha and all; of planes x, y, z are four bytes of each Y, U, V, the first pixel lowest.
typedef uint4 samples;

// load_vector reads and no more, so that the samples can be on their way while other work is done; spread makes of what it read, of
// subsampled chroma, one sample a pixel.
DEVICE samples load_vector(const vf_args &args, int x, int y) {
	const uint8_t *row = source(args, 0, y);
	if (args.layout == VF_RGBA) return load_u128(row + 4 * x);
	int cy = chroma_row(args, y);
	uint32_t y4 = load_u32(row + x);
	if (args.layout == VF_NV12) return samples{y4, load_u32(source(args, 1, cy) + x), 0, 0};
	if (args.sub_x) return samples{y4, load_u16(source(args, 1, cy) + x / 2), load_u16(source(args, 2, cy) + x / 2), 0};
	return samples{y4, load_u32(source(args, 1, cy) + x), load_u32(source(args, 2, cy) + x), 0};
}
DEVICE samples spread(const vf_args &args, const samples &s) {
	if (args.layout == VF_NV12) return samples{s.x, byte_perm(s.y, 0, 0x2200), byte_perm(s.y, 0, 0x3311), 0};
	if (args.layout != VF_RGBA && args.sub_x) return samples{s.x, byte_perm(s.y, 0, 0x1100), byte_perm(s.z, 0, 0x1100), 0};
	return s;
}

// One pixel at the place k of four; x < 0 is black.
DEVICE samples load_pixel(const vf_args &args, int x, int y, int k) {
	bool black = x < 0 || y < 0;
	if (args.layout == VF_RGBA) {
		uint32_t word = 0;
		for (int c = 0; c < 3 && !black; c++) word |= load_u8(source(args, 0, y) + 4 * x + c) << 8 * c;
		return samples{k == 0 ? word : 0, k == 1 ? word : 0, k == 2 ? word : 0, k == 3 ? word : 0};
	}
	uint32_t luma = (uint32_t)args.color.y[3], u = 128, v = 128;
	if (!black) {
		int cx = x >> args.sub_x, cy = chroma_row(args, y);
		bool pairs = args.layout == VF_NV12;
		const uint8_t *at = source(args, 1, cy) + (cx << pairs);
		luma = load_u8(source(args, 0, y) + x), u = load_u8(at);
		v = load_u8(pairs ? at + 1 : source(args, 2, cy) + cx);
	}
	return samples{luma << 8 * k, u << 8 * k, v << 8 * k, 0};
}

// The pixels x to x + 3, wherever they lie; x divides by 4.
DEVICE samples load_samples(const vf_args &args, int x, int y) {
	y = border_index(y, args.height, args.border);
	if (y >= 0 && inside(args, x)) return spread(args, load_vector(args, x, y));
	samples all = {0, 0, 0, 0};
	NO_UNROLL
	for (int k = 0; k < 4; k++) all |= load_pixel(args, border_index(x + k, args.width, args.border), y, k);
	return all;
}

// What U and V add to the colours of a pixel, of 0 to 1.
struct chroma {
	float r, g, b;
};
DEVICE chroma chroma_of(const vf_args &args, const samples &s, int k) {
	const vf_color &c = args.color;
	float u = byte_float(s.y, k), v = byte_float(s.z, k);
	return {fma(c.r_v, v, c.r_0), fma(c.g_u, u, fma(c.g_v, v, c.g_0)), fma(c.b_u, u, c.b_0)};
}
DEVICE uint32_t word_of(const vf_args &args, const samples &s, int k, const chroma &c) {
	float gain = args.color.y_gain, y = byte_float(s.x, k);
	return pack(fma(fma_unit(gain, y, c.r), 255.0f, ROUND), fma(fma_unit(gain, y, c.g), 255.0f, ROUND),
	            fma(fma_unit(gain, y, c.b), 255.0f, ROUND));
}

// The words of the pixels x to x + 3, which were read as s.
DEVICE uint4 words_of(const vf_args &args, const samples &s, int x) {
	if (args.layout == VF_RGBA) return s & 0xffffff;
	chroma c0 = chroma_of(args, s, 0), c1 = c0, c2 = chroma_of(args, s, 2), c3 = c2;
	if (!args.sub_x || !inside(args, x)) c1 = chroma_of(args, s, 1), c3 = chroma_of(args, s, 3); // beyond, a border may split pairs
	return uint4{word_of(args, s, 0, c0), word_of(args, s, 1, c1), word_of(args, s, 2, c2), word_of(args, s, 3, c3)};
}

// From words to planes.

// skipped says whether the border skip leaves a sample of luma (part 0) or chroma (1) as it is.
DEVICE bool skipped(const vf_args &args, int part, int x, int y) {
	const int32_t *in = args.inner[part];
	return args.border == VF_SKIP && (x < in[0] || y < in[1] || x >= in[2] || y >= in[3]);
}

DEVICE uint32_t sample_of(const float *k, float r, float g, float b) {
	float x = fma(r, k[0], fma(g, k[1], fma(b, k[2], k[3])));
	return float_bits((x < 0 ? 0 : x > 255 ? 255 : x) + ROUND) & 255;
}

DEVICE uint32_t luma_of(const vf_args &args, uint32_t word) {
	return sample_of(args.color.y, byte_float(word, 0), byte_float(word, 1), byte_float(word, 2));
}

// Sums of R, G and B of the words that one chroma sample covers, and what they are to be multiplied by.
struct mean {
	float r, g, b;
};
DEVICE mean mean_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
	mean m;
	m.r = (byte_float(a, 0) + byte_float(b, 0) + byte_float(c, 0) + byte_float(d, 0)) * 0.25f;
	m.g = (byte_float(a, 1) + byte_float(b, 1) + byte_float(c, 1) + byte_float(d, 1)) * 0.25f;
	m.b = (byte_float(a, 2) + byte_float(b, 2) + byte_float(c, 2) + byte_float(d, 2)) * 0.25f;
	return m;
}

// U in the lower half, V in the upper one.
DEVICE uint32_t chroma_samples(const vf_args &args, const mean &m) {
	return sample_of(args.color.u, m.r, m.g, m.b) | sample_of(args.color.v, m.r, m.g, m.b) << 16;
}

// One chroma sample, where vectors cannot be written.
DEVICE void store_chroma(const vf_args &args, int cx, int cy, uint32_t uv) {
	bool keep = skipped(args, 1, cx, cy);
	if (args.layout == VF_NV12) {
		const uint8_t *from = source(args, 1, cy) + 2 * cx;
		uint8_t *to = target(args, 1, cy) + 2 * cx;
		store_u8(to, keep ? load_u8(from) : uv & 255);
		store_u8(to + 1, keep ? load_u8(from + 1) : uv >> 16);
		return;
	}
	store_u8(target(args, 1, cy) + cx, keep ? load_u8(source(args, 1, cy) + cx) : uv & 255);
	store_u8(target(args, 2, cy) + cx, keep ? load_u8(source(args, 2, cy) + cx) : uv >> 16);
}

// One pixel of RGBA or luma, where vectors cannot be written.
DEVICE void store_pixel(const vf_args &args, int x, int y, uint32_t word) {
	if (args.layout == VF_RGBA) {
		uint8_t *to = target(args, 0, y) + 4 * x;
		for (int c = 0; c < 3; c++) store_u8(to + c, word >> 8 * c & 255);
		store_u8(to + 3, load_u8(source(args, 0, y) + 4 * x + 3));
		return;
	}
	store_u8(target(args, 0, y) + x, skipped(args, 0, x, y) ? load_u8(source(args, 0, y) + x) : luma_of(args, word));
}

// The four pixels of a row from x on, all inside the picture, x divides by 4, the planes are aligned, no sample is skipped.
DEVICE void store_luma4(const vf_args &args, int x, int y, uint4 w) {
	uint32_t l01 = luma_of(args, w.x) | luma_of(args, w.y) << 8, l23 = luma_of(args, w.z) | luma_of(args, w.w) << 8;
	store_u32(target(args, 0, y) + x, l01 | l23 << 16);
}
DEVICE void store_rgba4(const vf_args &args, int x, int y, uint4 w) {
	uint4 alpha = load_u128(source(args, 0, y) + 4 * x) & 0xff000000;
	store_u128(target(args, 0, y) + 4 * x, w | alpha);
}

// Chroma of the pixels x to x + 3 of rows top and bottom (the same row twice where chroma is not halved down).
DEVICE void store_chroma4(const vf_args &args, int x, int cy, uint4 top, uint4 bottom) {
	if (!args.sub_x) {
		uint32_t c[4] = {chroma_samples(args, mean_of(top.x, top.x, top.x, top.x)), chroma_samples(args, mean_of(top.y, top.y, top.y, top.y)),
		                 chroma_samples(args, mean_of(top.z, top.z, top.z, top.z)), chroma_samples(args, mean_of(top.w, top.w, top.w, top.w))};
		uint32_t low = byte_perm(c[0], c[1], 0x6240), high = byte_perm(c[2], c[3], 0x6240);
		store_u32(target(args, 1, cy) + x, byte_perm(low, high, 0x5410));
		store_u32(target(args, 2, cy) + x, byte_perm(low, high, 0x7632));
		return;
	}
	uint32_t a = chroma_samples(args, mean_of(top.x, top.y, bottom.x, bottom.y));
	uint32_t b = chroma_samples(args, mean_of(top.z, top.w, bottom.z, bottom.w));
	if (args.layout == VF_NV12) {
		store_u32(target(args, 1, cy) + x, byte_perm(a, b, 0x6420));
		return;
	}
	store_u16(target(args, 1, cy) + x / 2, byte_perm(a, b, 0x7740));
	store_u16(target(args, 2, cy) + x / 2, byte_perm(a, b, 0x7762));
}

DEVICE uint32_t pick(uint4 v, int k) { return k < 2 ? k == 0 ? v.x : v.y : k == 2 ? v.z : v.w; }

// store_pixels is store_rows where vectors cannot be written: at the right edge, in planes that are not aligned, by the border skip.
DEVICE void store_pixels(const vf_args &args, int x, int y, uint4 top, uint4 bottom, bool two) {
	int n = args.width - x < 4 ? args.width - x : 4, cy = y >> args.sub_y;
	NO_UNROLL
	for (int k = 0; k < n; k++) {
		uint32_t t = pick(top, k), b = pick(bottom, k);
		store_pixel(args, x + k, y, t);
		if (two) store_pixel(args, x + k, y + 1, b);
		if (args.layout == VF_RGBA || cy >= args.chroma_write || (args.sub_x && k % 2)) continue;
		int next = args.sub_x && k + 1 < n ? k + 1 : k; // an odd last column counts for the one that does not exist
		store_chroma(args, (x + k) >> args.sub_x, cy, chroma_samples(args, mean_of(t, pick(top, next), b, pick(bottom, next))));
	}
}

// store_rows stores four words of row y, and of row y + 1 where chroma is halved down; x divides by 4, and y by 2 there. Of the words
// beyond the picture nothing is stored.
DEVICE void store_rows(const vf_args &args, int x, int y, uint4 top, uint4 bottom) {
	if (x < 0 || x >= args.width || y >= args.height) return;
	bool two = args.sub_y && y + 1 < args.height;
	if (!two) bottom = top;
	if (!inside(args, x) || args.border == VF_SKIP) return store_pixels(args, x, y, top, bottom, two);
	if (args.layout == VF_RGBA) return store_rgba4(args, x, y, top);
	store_luma4(args, x, y, top);
	if (two) store_luma4(args, x, y + 1, bottom);
	int cy = y >> args.sub_y;
	if (cy < args.chroma_write) store_chroma4(args, x, cy, top, bottom);
}

// A tile of words.

// load_words reads ROWS rows of VECTORS vectors from the pixel x0, y0 on, x0 divides by 4, by all THREADS threads of the block, and hands
// each vector's row, column and words to use. Where all lies inside the picture, everything is on its way before the first is looked at.
template <int VECTORS, int ROWS, int THREADS, class USE>
DEVICE void load_words(const vf_args &args, int thread, int x0, int y0, USE use) {
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
			if (n + 1 < turns || i < count) use(i / VECTORS, x, words_of(args, spread(args, s[n]), x0 + x));
		}
		return;
	}
	NO_UNROLL
	for (int i = thread; i < count; i += THREADS) {
		int row = i / VECTORS, x = i % VECTORS * 4;
		use(row, x, words_of(args, load_samples(args, x0 + x, y0 + row), x0 + x));
	}
}

// load_tile fills rows rows of pitch words in shared memory.
template <int PITCH, int ROWS, int THREADS>
DEVICE void load_tile(const vf_args &args, uint32_t *words, int thread, int x0, int y0) {
	load_words<PITCH / 4, ROWS, THREADS>(args, thread, x0, y0, [=](int row, int x, uint4 w) { *(uint4 *)(words + row * PITCH + x) = w; });
}

// store_tile stores WIDTH x HEIGHT words that lie PITCH words apart, as the pixels from x0, y0 on, by all threads of the block.
template <int PITCH, int WIDTH, int HEIGHT, int THREADS>
DEVICE void store_tile(const vf_args &args, const uint32_t *words, int thread, int x0, int y0) {
	int step = 1 << args.sub_y;
	for (int i = thread; i < (WIDTH / 4 * HEIGHT) >> args.sub_y; i += THREADS) {
		int row = i / (WIDTH / 4) * step, x = i % (WIDTH / 4) * 4;
		const uint32_t *from = words + row * PITCH + x;
		store_rows(args, x0 + x, y0 + row, *(const uint4 *)from, *(const uint4 *)(from + (step - 1) * PITCH));
	}
}

// keeps says whether the border skip leaves the word of a pixel as it is: its window leaves the picture.
DEVICE bool keeps(const vf_args &args, int x, int y) {
	int r = args.radius;
	return args.border == VF_SKIP && (x < r || y < r || x + r >= args.width || y + r >= args.height);
}

// kept puts back the words, four from x on, that the border skip leaves as they are.
DEVICE uint4 kept(const vf_args &args, uint4 result, uint4 own, int x, int y) {
	if (args.border != VF_SKIP) return result;
	if (keeps(args, x, y)) result.x = own.x;
	if (keeps(args, x + 1, y)) result.y = own.y;
	if (keeps(args, x + 2, y)) result.z = own.z;
	if (keeps(args, x + 3, y)) result.w = own.w;
	return result;
}
