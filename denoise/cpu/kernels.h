// All of the C code that is compiled for each instruction set, once for samples of one byte and
// once for two. The including file defines VL, the floats in a vector, ISA, and VD_ISA_AVX2 or
// VD_ISA_AVX512 for other than plain C; and SAMPLE_BITS, if it is 16.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cpu.h"

#ifndef SAMPLE_BITS
#define SAMPLE_BITS 8
#endif

#define JOIN(f, isa, bits) f##_##isa##_##bits
#define EXPAND(f, isa, bits) JOIN(f, isa, bits)
#define NAME(f) EXPAND(f, ISA, SAMPLE_BITS)

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

// wide holds the sums of interpolation: 88 times a sample. extra_bits are the bits beyond 8;
// most_of is a plane's largest sample, pilot_bits the pilot's further bits; level_of and pilot_of
// are a step of the samples, and one of the pilot, in 8-bit levels.
#if SAMPLE_BITS == 8
typedef uint8_t sample;
typedef int16_t wide;
INLINE int extra_bits(vd_plane p) { return (void)p, 0; }
INLINE int most_of(vd_plane p) { return (void)p, 255; }
INLINE int pilot_bits(vd_plane p) { return (void)p, VD_PILOT_BITS; }
INLINE float level_of(const vd_pass *p) { return (void)p, 1; }
INLINE float pilot_of(const vd_pass *p) { return (void)p, 1.0f / (1 << VD_PILOT_BITS); }
#else
typedef uint16_t sample;
typedef int32_t wide;
INLINE int extra_bits(vd_plane p) { return p.depth - 8; }
INLINE int most_of(vd_plane p) { return (1 << p.depth) - 1; }
INLINE int pilot_bits(vd_plane p) { return VD_PILOT_BITS < 16 - p.depth ? VD_PILOT_BITS : 16 - p.depth; }
INLINE float level_of(const vd_pass *p) { return p->level; }
INLINE float pilot_of(const vd_pass *p) { return p->pilot_level; }
#endif

INLINE int clampi(int x, int least, int most) { return x < least ? least : x > most ? most : x; }
INLINE int mini(int a, int b) { return a < b ? a : b; }
INLINE int maxi(int a, int b) { return a > b ? a : b; }

INLINE sample *row_of(vd_plane p, int y) { return (sample *)p.at + y * p.pitch; }
// bytes_of is a row of a plane that the search reads.
INLINE uint8_t *bytes_of(vd_plane p, int y) { return (uint8_t *)p.at + y * p.pitch; }

#include "vectors.h"
#include "samples.h"
#include "planes.h"
#include "coarse.h"
#if SAMPLE_BITS == 8
#include "search.h"
#endif
#include "patch.h"
#include "words.h"
#include "first.h"
#include "second.h"
#include "finish.h"

void NAME(vd_fuse)(const vd_pass *p, vd_sums s, int top, int y)
{
	if (p->n == 8) first_row(p, s, top, y);
	else second_row(p, s, top, y);
}
