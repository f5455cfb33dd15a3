// All of the C code that is compiled for each instruction set, once for samples of a byte and once
// for those of two. The including file defines ISA, and SAMPLE_BITS if it is 16.
#include <string.h>
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

// The compiler vectorises these where it knows the step.
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
		for (int i = 1; i <= VI_PAD; i++) row[-i] = row[0], row[to.width - 1 + i] = row[to.width - 1];
	}
}

INLINE void save_row(uint8_t *to, vi_place place, const sample *row, int width)
{
	enum { SIZE = sizeof(sample) };
	if (place.step == SIZE) write_row(to, row, SIZE, width, place.shift);
	else if (place.step == 2 * SIZE) write_row(to, row, 2 * SIZE, width, place.shift);
	else write_row(to, row, place.step, width, place.shift);
}

enum { CHUNK = 512 }; // samples that stay in the cache

// missing makes samples between rows k and k + 1 of a field, where row j of its neighbours lies.
// The weights are those of the reference.
INLINE void missing(sample *restrict out, const vi_fields *f, int k, int j, int x0, int width)
{
	int most = (1 << f->now.depth) - 1;
	const sample *a = row_of(f->now, k) + x0, *b = row_of(f->before, j) + x0, *c = row_of(f->after, j) + x0;
	ptrdiff_t p = f->now.pitch; // that of all
	for (int x = 0; x < width; x++) {
		int low = 135 * (a[x] + a[x + p]) - 7 * (a[x - p] + a[x + 2 * p]);
		int high = 44 * (b[x] + c[x]) - 30 * (b[x - p] + b[x + p] + c[x - p] + c[x + p]) +
		           8 * (b[x - 2 * p] + b[x + 2 * p] + c[x - 2 * p] + c[x + 2 * p]);
		out[x] = clampi((low + high + 128) >> 8, 0, most);
	}
}

void NAME(vi_fill)(uint8_t *to, vi_place place, const vi_fields *f, int y0, int y1)
{
	for (int y = y0; y < y1; y++) {
		uint8_t *out = to + y * place.pitch;
		if ((y & 1) == f->parity) {
			save_row(out, place, row_of(f->now, y / 2), f->now.width);
			continue;
		}
		for (int x = 0; x < f->now.width; x += CHUNK) {
			sample row[CHUNK];
			int n = f->now.width - x < CHUNK ? f->now.width - x : CHUNK;
			missing(row, f, y / 2 - f->parity, y / 2, x, n);
			save_row(out + x * place.step, place, row, n);
		}
	}
}
