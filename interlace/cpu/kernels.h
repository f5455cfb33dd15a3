// C code compiled for each instruction set, once for samples of one byte and once for two bytes.
// The including file defines ISA, VL (floats per vector), and SAMPLE_BITS if it is 16.
#include <string.h>

// The reference does not fuse multiplications and additions. GCC does not either in standard C.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif !defined __STRICT_ANSI__
#error "compile with -std=c11"
#endif

#include "cpu.h"

#ifndef SAMPLE_BITS
#define SAMPLE_BITS 8
#endif

#define JOIN(f, isa, bits) f##_##isa##_##bits
#define EXPAND(f, isa, bits) JOIN(f, isa, bits)
#define NAME(f) EXPAND(f, ISA, SAMPLE_BITS)

#define INLINE static inline __attribute__((always_inline))

#if SAMPLE_BITS == 8
typedef uint8_t sample;
#else
typedef uint16_t sample;
#endif

INLINE int clampi(int x, int least, int most) { return x < least ? least : x > most ? most : x; }

INLINE sample *row_of(vi_plane p, int y) { return (sample *)p.at + y * p.pitch; }

// The compiler can vectorise these functions if step is a constant.
INLINE void read_row(sample *restrict out, const uint8_t *in, int step, int width, int shift, int most)
{
	for (int x = 0; x < width; x++) {
		sample v;
		memcpy(&v, in + x * step, sizeof v);
		out[x] = SAMPLE_BITS == 8 || v >> shift < most ? v >> shift : most;
	}
}

INLINE void write_row(uint8_t *restrict out, const sample *in, int step, int width, int shift)
{
	for (int x = 0; x < width; x++) {
		sample v = in[x] << shift;
		memcpy(out + x * step, &v, sizeof v);
	}
}

void NAME(vi_load)(vi_plane to, const uint8_t *from, vi_place place, int y0, int y1)
{
	enum { SIZE = sizeof(sample) };
	int most = (1 << to.depth) - 1;
	for (int y = y0; y < y1; y++) {
		sample *row = row_of(to, y);
		const uint8_t *in = from + y * place.pitch;
		if (place.step == SIZE) read_row(row, in, SIZE, to.width, place.shift, most);
		else if (place.step == 2 * SIZE) read_row(row, in, 2 * SIZE, to.width, place.shift, most); // NV12
		else read_row(row, in, place.step, to.width, place.shift, most);
	}
}

INLINE void save_row(uint8_t *to, vi_place place, const sample *row, int width)
{
	enum { SIZE = sizeof(sample) };
	if (place.step == SIZE) write_row(to, row, SIZE, width, place.shift);
	else if (place.step == 2 * SIZE) write_row(to, row, 2 * SIZE, width, place.shift);
	else write_row(to, row, place.step, width, place.shift);
}

void NAME(vi_save)(uint8_t *to, vi_place place, vi_plane from, int y0, int y1)
{
	for (int y = y0; y < y1; y++) save_row(to + y * place.pitch, place, row_of(from, y), from.width);
}

#include "blend.h"
#include "estimate.h"
