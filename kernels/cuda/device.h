// The kernels' interface to the machine. On a GPU each function is one or two instructions; in the
// test driver (VF_CPU) device_cpu.h implements the same functions on the CPU, with fibres as
// threads of a block.
//
// Halves are handled in pairs, packed into 32 bits with the first in the low half: type half2. A
// warp is 32 threads of consecutive x; functions marked "Warp" must be called by all 32 together.
#pragma once

#ifdef VF_CPU
#include <stddef.h>
#include <stdint.h>
#else
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long size_t;
#endif

typedef uint32_t half2;
typedef uint32_t uint4 __attribute__((ext_vector_type(4)));
typedef uint32_t uint2 __attribute__((ext_vector_type(2)));

#ifdef VF_CPU
#include "device_cpu.h"
#else

#define DEVICE static __attribute__((device)) __attribute__((always_inline)) inline
// KERNEL_OF(type, name, threads, blocks) opens the definition of a kernel that is launched with
// that many threads a block; that many blocks should fit on a multiprocessor at a time. Its only
// parameter is the constant args of the given type.
#define KERNEL_OF(type, name, threads, blocks) \
	extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void name(const type args)
#define KERNEL(name, threads, blocks) KERNEL_OF(vf_args, name, threads, blocks)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")
#define VF_PRAGMA(x) _Pragma(#x)
#define UNROLL_BY(n) VF_PRAGMA(clang loop unroll_count(n))

// FLOAT_FUNCTION defines a function of one instruction on a float, WORD_FUNCTION one on three
// words, the last of the given type.
#define FLOAT_FUNCTION(name, instruction) \
	DEVICE float name(float x) { \
		float y; \
		asm(instruction " %0, %1;" : "=f"(y) : "f"(x)); \
		return y; \
	}
#define WORD_FUNCTION(result, name, type, instruction) \
	DEVICE result name(uint32_t a, uint32_t b, type c) { \
		result d; \
		asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); \
		return d; \
	}

// The thread's position.
DEVICE int thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE int block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }

// The block's dynamic shared memory, aligned to 16 bytes, and the barrier of its threads.
extern __attribute__((shared)) uint4 vf_shared[];
DEVICE uint8_t *shared_memory() { return (uint8_t *)vf_shared; }
DEVICE void barrier() { __syncthreads(); }

// Global memory. Addresses read by load are never written while the kernel runs, so the loads may
// go through the read-only cache; p must be aligned to the size of the load.
#define VF_GLOBAL __attribute__((address_space(1)))
DEVICE uint32_t load_u8(const uint8_t *p) { return __nvvm_ldg_uc(p); }
DEVICE uint32_t load_u16(const uint8_t *p) { return __nvvm_ldg_us((const uint16_t *)p); }
DEVICE uint32_t load_u32(const uint8_t *p) { return __nvvm_ldg_ui((const uint32_t *)p); }
DEVICE uint2 load_u64(const uint8_t *p) { return __nvvm_ldg_ui2((const uint2 *)p); }
DEVICE uint4 load_u128(const uint8_t *p) { return __nvvm_ldg_ui4((const uint4 *)p); }
// Ordinary loads, for memory that the kernel may write or when it is unknown.
DEVICE uint32_t read_u8(const uint8_t *p) { return *(VF_GLOBAL const uint8_t *)p; }
DEVICE uint32_t read_u32(const uint8_t *p) { return *(VF_GLOBAL const uint32_t *)p; }
DEVICE uint2 read_u64(const uint8_t *p) { return *(VF_GLOBAL const uint2 *)p; }
DEVICE uint4 read_u128(const uint8_t *p) { return *(VF_GLOBAL const uint4 *)p; }
DEVICE void store_u8(uint8_t *p, uint32_t v) { *(VF_GLOBAL uint8_t *)p = (uint8_t)v; }
DEVICE void store_u16(uint8_t *p, uint32_t v) { *(VF_GLOBAL uint16_t *)p = (uint16_t)v; }
DEVICE void store_u32(uint8_t *p, uint32_t v) { *(VF_GLOBAL uint32_t *)p = v; }
DEVICE void store_u64(uint8_t *p, uint2 v) { *(VF_GLOBAL uint2 *)p = v; }
DEVICE void store_u128(uint8_t *p, uint4 v) { *(VF_GLOBAL uint4 *)p = v; }

// Copies of 8 and 16 bytes into shared memory, asynchronous from compute capability 8.0 on;
// await_copies waits for the thread's own.
#if VF_COMPUTE >= 80
DEVICE void copy_u64(uint2 *to, const uint8_t *p) {
	auto shared = (__attribute__((address_space(3))) uint2 *)to;
	asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" : : "r"((uint32_t)(uint64_t)shared), "l"((VF_GLOBAL const uint8_t *)p) : "memory");
}
DEVICE void copy_u128(void *to, const uint8_t *p) {
	auto shared = (__attribute__((address_space(3))) void *)to;
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"((uint32_t)(uint64_t)shared), "l"((VF_GLOBAL const uint8_t *)p) : "memory");
}
DEVICE void await_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }
#else
DEVICE void copy_u64(uint2 *to, const uint8_t *p) { *to = read_u64(p); }
DEVICE void copy_u128(void *to, const uint8_t *p) { *(uint4 *)to = read_u128(p); }
DEVICE void await_copies() {}
#endif

// Warp: the barrier of its threads. Memory writes before it are visible to all of them after it.
DEVICE void warp_barrier() { __nvvm_bar_warp_sync(~0u); }

// Warp: the value of the lane n below, n above, or number n; the own value if there is no such
// lane.
DEVICE uint32_t shuffle_up(uint32_t v, int n) { return __nvvm_shfl_sync_up_i32(~0u, v, n, 0); }
DEVICE uint32_t shuffle_down(uint32_t v, int n) { return __nvvm_shfl_sync_down_i32(~0u, v, n, 31); }
DEVICE uint32_t shuffle(uint32_t v, int n) { return __nvvm_shfl_sync_idx_i32(~0u, v, n, 31); }

// again returns 0 without the compiler knowing: loads with it as an index are repeated instead of
// kept in registers for a whole loop.
DEVICE int again() {
	int zero;
	asm volatile("mov.u32 %0, 0;" : "=r"(zero));
	return zero;
}

// now forces a value to be computed here, not later, and hides it from the compiler.
DEVICE void now(uint32_t &v) { asm volatile("" : "+r"(v)); }
DEVICE void now(int32_t &v) { asm volatile("" : "+r"(v)); }
DEVICE void now(float &v) { asm volatile("" : "+f"(v)); }

DEVICE uint32_t float_bits(float f) { return __builtin_bit_cast(uint32_t, f); }
DEVICE float bits_float(uint32_t u) { return __builtin_bit_cast(float, u); }

// byte_perm picks four bytes of a (0 to 3) and b (4 to 7) by the hexadecimal digits of c, lowest
// first.
WORD_FUNCTION(uint32_t, byte_perm, uint32_t, "prmt.b32")
// absdiff4 returns |a - b| of each byte.
DEVICE uint32_t absdiff4(uint32_t a, uint32_t b) {
	uint32_t d;
	asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0));
	return d;
}
// dot4 returns c + the sum of a * b over unsigned bytes; dot4_signed over signed ones.
WORD_FUNCTION(uint32_t, dot4, uint32_t, "dp4a.u32.u32")
WORD_FUNCTION(int32_t, dot4_signed, int32_t, "dp4a.s32.s32")

DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// reciprocal and exp2 err by 2 units in the last place at most and flush denormals to zero.
FLOAT_FUNCTION(reciprocal, "rcp.approx.ftz.f32")
FLOAT_FUNCTION(exp2, "ex2.approx.ftz.f32")
// exp2_gradual is exp2 with denormals, at the cost of three more instructions: nvcc's default for
// __expf.
FLOAT_FUNCTION(exp2_gradual, "ex2.approx.f32")
// square_root is rounded to nearest. reciprocal_root and log2 err by 2^-22 at most, log2
// absolutely near 1; sine and cosine err by 2^-20 within 8 pi, and stay within -1 to 1 everywhere.
FLOAT_FUNCTION(log2, "lg2.approx.f32")
FLOAT_FUNCTION(square_root, "sqrt.rn.f32")
FLOAT_FUNCTION(reciprocal_root, "rsqrt.approx.ftz.f32")
FLOAT_FUNCTION(sine, "sin.approx.ftz.f32")
FLOAT_FUNCTION(cosine, "cos.approx.ftz.f32")
// fma_unit is fma, clamped to 0 to 1.
DEVICE float fma_unit(float a, float b, float c) {
	float d;
	asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
	return d;
}

// Pairs of halves; each operation rounds once, to nearest even.
DEVICE half2 half2_of(float low, float high) {
	half2 d;
#if VF_COMPUTE >= 80
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
#else
	asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}" : "=r"(d) : "f"(low), "f"(high));
#endif
	return d;
}
DEVICE float low_float(half2 h) {
	float f;
	asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(f) : "r"(h));
	return f;
}
DEVICE float high_float(half2 h) {
	float f;
	asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(f) : "r"(h));
	return f;
}
DEVICE half2 half2_add(half2 a, half2 b) {
	half2 d;
	asm("{.reg .b32 one; mov.b32 one, 0x3C003C00; fma.rn.f16x2 %0, %1, one, %2;}" : "=r"(d) : "r"(a), "r"(b));
	return d;
}
DEVICE half2 half2_mul(half2 a, half2 b) {
	half2 d;
	asm("{.reg .b32 zero; mov.b32 zero, 0x80008000; fma.rn.f16x2 %0, %1, %2, zero;}" : "=r"(d) : "r"(a), "r"(b));
	return d;
}
WORD_FUNCTION(half2, half2_fma, half2, "fma.rn.f16x2")

#if VF_COMPUTE >= 80
// exp2 of both halves.
DEVICE half2 half2_exp2(half2 x) {
	half2 d;
	asm("ex2.approx.f16x2 %0, %1;" : "=r"(d) : "r"(x));
	return d;
}

// Warp: load COUNT (1, 2 or 4) matrices of 8 x 8 halves from shared memory. Lane 8 i + j gives the
// address, aligned to 16 bytes, of row j of matrix i. The addresses of other lanes are ignored.
// Lane 4 j + k gets the halves 2 k and 2 k + 1 of row j of matrix i in d[i]; TRANSPOSED exchanges
// rows and columns.
template <int COUNT, bool TRANSPOSED>
DEVICE void load_matrices(uint32_t *d, const void *row) {
	uint32_t at = (uint32_t)(size_t)(__attribute__((address_space(3))) const void *)row;
	if (COUNT == 4) {
		if (TRANSPOSED)
			asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at));
		else
			asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at));
	} else if (COUNT == 2) {
		if (TRANSPOSED)
			asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(d[0]), "=r"(d[1]) : "r"(at));
		else
			asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(d[0]), "=r"(d[1]) : "r"(at));
	} else {
		if (TRANSPOSED)
			asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(at));
		else
			asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(at));
	}
}

// Warp: D = A B + C for A of 16 x K, B of K x 8, C and D of 16 x 8, in the register layout of
// PTX's mma.m16n8kK: with g = lane / 4 and t = lane % 4, a[0] and a[1] hold A's rows g and g + 8
// at columns 2 t, 2 t + 1 (K = 16: a[2], a[3] the same at columns + 8), b[0] holds B's column g at
// rows 2 t, 2 t + 1 (b[1]: rows + 8), and d's first half (d[0], or d[0] and d[1]) is row g at
// columns 2 t, 2 t + 1, its second row g + 8. Products are exact and are summed in float32.
DEVICE void mma_k8_half(half2 *d, const half2 *a, half2 b) { // C = 0, D rounded to halves
	asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %5};"
	    : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(b), "r"(0));
}
DEVICE void mma_k8_float(float *d, const half2 *a, half2 b) { // C = 0
	asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
	    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b), "f"(0.f));
}
DEVICE void mma_k8_add(float *d, const half2 *a, half2 b) { // D += A B
	asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
}
DEVICE void mma_k16_add(float *d, const half2 *a, half2 b0, half2 b1) { // D += A B
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif
#endif
