// All of the C code that is compiled once for each instruction set. The including file defines VL,
// the floats in a vector, NAME, and VD_ISA_AVX2 or VD_ISA_AVX512 for other than plain C.
//
// It is also compiled for one type of samples, SAMPLE with SAMPLE_BITS. Deeper samples are a second
// compilation with 16 bits: only the differences and loads of search.h and vectors.h are written
// for bytes alone.
#include "cpu.h"

#define SAMPLE uint8_t
#define SAMPLE_MAX 255
#define SUM int16_t // holds the sums of interpolation: 88 times a sample

typedef SAMPLE sample;

#define INLINE static inline __attribute__((always_inline))

INLINE int clampi(int x, int least, int most) { return x < least ? least : x > most ? most : x; }
INLINE int mini(int a, int b) { return a < b ? a : b; }
INLINE int maxi(int a, int b) { return a > b ? a : b; }

INLINE sample *row_of(vd_plane p, int y) { return (sample *)p.at + y * p.pitch; }

#include "vectors.h"
#include "planes.h"
#include "search.h"
#include "patch.h"
#include "first.h"
#include "second.h"
#include "finish.h"

void NAME(vd_fuse)(const vd_pass *p, vd_sums s, int top, int y)
{
	if (p->n == 8) first_row(p, s, top, y);
	else second_row(p, s, top, y);
}
