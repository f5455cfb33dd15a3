// device.h on the CPU, for the test driver. Stopping lanes and checking memory accesses is left to
// the driver, see machine_cpu.h. Accesses that would fault on a GPU end the launch with a message.
#pragma once
#include "machine_cpu.h"

#define DEVICE static __attribute__((always_inline)) inline
#define KERNEL_OF(type, name, threads, blocks) \
	static void vf_main(const type &args);     \
	VF_EXPORT(name, threads, type)             \
	static void vf_main(const type &args)
#define KERNEL(name, threads, blocks) KERNEL_OF(vf_args, name, threads, blocks)
#define VF_EXPORT(name, threads, type)                                                           \
	extern "C" __attribute__((visibility("default"))) const vf_kernel name##_kernel = {          \
		[](const void *args) { vf_main(*(const type *)args); }, sizeof(type), (threads)};
// Unrolling would only cost compile time here.
#define UNROLL
#define NO_UNROLL
#define UNROLL_BY(n)

DEVICE int thread_x() { return vf_here.thread_x; }
DEVICE int thread_y() { return vf_here.thread_y; }
DEVICE int block_x() { return vf_here.block_x; }
DEVICE int block_y() { return vf_here.block_y; }

DEVICE uint8_t *shared_memory() { return vf_here.shared; }
DEVICE void barrier() { vf_barrier(); }

// vf_at returns the host address of a device address.
template <class T> DEVICE T *vf_at(const uint8_t *p, int write) {
	uint64_t address = (uint64_t)p;
	const vf_range *r = &vf_here.near[write];
	size_t offset = address - r->begin;
	if (address % sizeof(T) || offset >= r->size || r->size - offset < sizeof(T)) r = vf_find(address, sizeof(T), write);
	return (T *)(r->host + (address - r->begin));
}
DEVICE uint32_t load_u8(const uint8_t *p) { return *vf_at<uint8_t>(p, 0); }
DEVICE uint32_t load_u16(const uint8_t *p) { return *vf_at<uint16_t>(p, 0); }
DEVICE uint32_t load_u32(const uint8_t *p) { return *vf_at<uint32_t>(p, 0); }
DEVICE uint2 load_u64(const uint8_t *p) { return *vf_at<uint2>(p, 0); }
DEVICE uint4 load_u128(const uint8_t *p) { return *vf_at<uint4>(p, 0); }
DEVICE uint32_t read_u8(const uint8_t *p) { return load_u8(p); }
DEVICE uint32_t read_u32(const uint8_t *p) { return load_u32(p); }
DEVICE uint2 read_u64(const uint8_t *p) { return load_u64(p); }
DEVICE uint4 read_u128(const uint8_t *p) { return load_u128(p); }
DEVICE void store_u8(uint8_t *p, uint32_t v) { *vf_at<uint8_t>(p, 1) = (uint8_t)v; }
DEVICE void store_u16(uint8_t *p, uint32_t v) { *vf_at<uint16_t>(p, 1) = (uint16_t)v; }
DEVICE void store_u32(uint8_t *p, uint32_t v) { *vf_at<uint32_t>(p, 1) = v; }
DEVICE void store_u64(uint8_t *p, uint2 v) { *vf_at<uint2>(p, 1) = v; }
DEVICE void store_u128(uint8_t *p, uint4 v) { *vf_at<uint4>(p, 1) = v; }
DEVICE void copy_u64(uint2 *to, const uint8_t *p) { *to = read_u64(p); }
DEVICE void copy_u128(void *to, const uint8_t *p) { *(uint4 *)to = read_u128(p); }
DEVICE void await_copies() {}

// These only affect speed.
DEVICE int again() { return 0; }
DEVICE void now(uint32_t &) {}
DEVICE void now(int32_t &) {}
DEVICE void now(float &) {}

DEVICE uint32_t float_bits(float f) { return __builtin_bit_cast(uint32_t, f); }
DEVICE float bits_float(uint32_t u) { return __builtin_bit_cast(float, u); }

// The bytes of a word as a vector.
typedef uint8_t vf_bytes __attribute__((ext_vector_type(4)));
typedef int8_t vf_signed_bytes __attribute__((ext_vector_type(4)));
typedef int32_t vf_int4 __attribute__((ext_vector_type(4)));

DEVICE uint32_t byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
	uint64_t both = (uint64_t)b << 32 | a;
	uint32_t d = 0;
	for (int i = 0; i < 4; i++) {
		uint32_t pick = selector >> 4 * i;
		uint32_t byte = both >> 8 * (pick & 7) & 0xff;
		// Selectors 8 to f replicate the sign of the byte, as on the hardware.
		d |= (pick & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
	}
	return d;
}
DEVICE uint32_t absdiff4(uint32_t a, uint32_t b) {
	vf_bytes x = __builtin_bit_cast(vf_bytes, a), y = __builtin_bit_cast(vf_bytes, b);
	return __builtin_bit_cast(uint32_t, __builtin_elementwise_max(x, y) - __builtin_elementwise_min(x, y));
}
DEVICE uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
	uint4 x = __builtin_convertvector(__builtin_bit_cast(vf_bytes, a), uint4);
	uint4 y = __builtin_convertvector(__builtin_bit_cast(vf_bytes, b), uint4);
	return c + __builtin_reduce_add(x * y);
}
DEVICE int32_t dot4_signed(uint32_t a, uint32_t b, int32_t c) {
	vf_int4 x = __builtin_convertvector(__builtin_bit_cast(vf_signed_bytes, a), vf_int4);
	vf_int4 y = __builtin_convertvector(__builtin_bit_cast(vf_signed_bytes, b), vf_int4);
	return (int32_t)((uint32_t)c + (uint32_t)__builtin_reduce_add(x * y));
}

DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// vf_normal flushes denormals to zero, as the approximations do with arguments and results.
DEVICE float vf_normal(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }
// vf_turn rounds as coarsely as the hardware's sine and cosine.
DEVICE float vf_turn(float x) { return __builtin_rintf(x * 0x1p21f) * 0x1p-21f; }
DEVICE float reciprocal(float x) { return vf_normal(1 / vf_normal(x)); }
DEVICE float reciprocal_root(float x) { return vf_normal(1 / __builtin_sqrtf(vf_normal(x))); }
DEVICE float sine(float x) { return vf_turn(__builtin_sinf(x)); }
DEVICE float cosine(float x) { return vf_turn(__builtin_cosf(x)); }
DEVICE float exp2(float x) { return vf_normal(__builtin_exp2f(vf_normal(x))); }
DEVICE float exp2_gradual(float x) { return __builtin_exp2f(x); }
DEVICE float log2(float x) { return __builtin_log2f(x); }
DEVICE float square_root(float x) { return __builtin_sqrtf(x); }
// The comparisons make NaN give 0.
DEVICE float fma_unit(float a, float b, float c) {
	float d = fma(a, b, c);
	return d > 0 ? (d < 1 ? d : 1) : 0;
}

#include "half_cpu.h"
#include "warp_cpu.h"
