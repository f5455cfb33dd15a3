// Vectors of VL floats, and the few operations on them that GCC's extensions lack. The including
// file defines VL, and VF_ISA_AVX2 or VF_ISA_AVX512 for an instruction set other than plain C.
#ifndef VIDFILTER_CPU_VECTORS_H
#define VIDFILTER_CPU_VECTORS_H

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// Loads and stores go through memcpy, which compiles to one unaligned move.
typedef float vf __attribute__((vector_size(4 * VL)));
typedef int32_t vi __attribute__((vector_size(4 * VL)));
typedef uint8_t vb __attribute__((vector_size(VL)));
typedef uint16_t vh __attribute__((vector_size(2 * VL)));

INLINE vf load(const float *p) { vf v; memcpy(&v, p, sizeof v); return v; }
INLINE void store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf splat(float x) { return x - (vf){}; }

#include "cpu_ops.h"

// 2^x for x of at most 0: a polynomial for the fraction (relative error 3e-06), scale2 for the
// exponent.
INLINE vf exp2_neg(vf x)
{
	x = vmax(x, splat(-126));
	// floor, or one less for whole x: the fraction is then 1, within the polynomial's range
	vf n = round_near(x - 0.5f);
	vf f = x - n;
	vf p = fmadd(splat(0.0135341676f), f, splat(0.0520114612f));
	p = fmadd(p, f, splat(0.241442757f));
	p = fmadd(p, f, splat(0.693003835f));
	p = fmadd(p, f, splat(1.00000259f));
	return scale2(p, n);
}

#endif
