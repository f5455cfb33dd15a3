// All of the C code that is compiled for each instruction set, once for samples of one byte and
// once for two. The including file defines VL, the floats in a vector, ISA, and VF_ISA_AVX2 or
// VF_ISA_AVX512 for other than plain C; and SAMPLE_BITS, if it is 16.
#include <string.h>

#include "cpu.h"
#include "cpu_vectors.h"

#ifndef SAMPLE_BITS
#define SAMPLE_BITS 8
#endif

#define JOIN(f, isa, bits) f##_##isa##_##bits
#define EXPAND(f, isa, bits) JOIN(f, isa, bits)
#define NAME(f) EXPAND(f, ISA, SAMPLE_BITS)

// Samples lie at any address. most_of is the largest; load_samples and store_samples convert VL of
// them to floats and whole floats to them.
#if SAMPLE_BITS == 8
typedef uint8_t sample;
INLINE vf most_of(const vf_job *j) { return (void)j, splat(255); }
INLINE vf load_samples(const vf_job *j, const sample *p) { return (void)j, load_u8(p); }
INLINE void store_samples(const vf_job *j, sample *p, vf x) { (void)j, store_u8(p, to_int(x)); }
#else
typedef uint16_t sample __attribute__((aligned(1)));
INLINE vf most_of(const vf_job *j) { return splat(j->most); }
INLINE vf load_samples(const vf_job *j, const sample *p) { return vmin(to_float(load_int_u16(p) >> j->shift), most_of(j)); }
INLINE void store_samples(const vf_job *j, sample *p, vf x) { store_u16(p, x * j->raise); }
#endif

#include "cpu_tile.h"
#include "cpu_recursive.h"
