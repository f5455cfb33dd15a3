// Samples of planes and channels of words, four in lanes side by side: of a byte each or, with
// VF_BYTES 2, of two, for depths of 9 to 16 bits. A word is R, G and B from the lowest lane on, its
// highest lane 0. All kernels find here everything that depends on the size of samples.
#pragma once

#include "device.h"
#include "args.h"

#ifndef VF_BYTES
#define VF_BYTES 1
#endif
enum { BYTES = VF_BYTES };

// Added to a float of 0 to 2^22, this rounds it to nearest and leaves it as an integer in the
// lower bits.
#define ROUND 8388608.0f

// raised is a lane as a float, plus ROUND. pack makes a word of three floats with ROUND added,
// pack4 four lanes, pair two as a number.
//
// second moves lane 1 to lane 0; even, odd and twice return lanes 0, 0, 2, 2; 1, 1, 3, 3; and 0, 0,
// 1, 1. firsts and seconds are the lanes of two pairs.
#if VF_BYTES == 1

typedef uint32_t lanes;
typedef uint4 word4;   // of four pixels
typedef uint4 samples; // four of each plane, or words of RGBA

DEVICE float raised(lanes v, int lane) { return bits_float(byte_perm(v, 0x4B000000, 0x7540 | lane)); }
DEVICE lanes pack(float r, float g, float b) {
	return byte_perm(byte_perm(float_bits(r), float_bits(g), 0x5540), float_bits(b), 0x5410);
}
DEVICE lanes pack4(float a, float b, float c, float d) {
	return byte_perm(byte_perm(float_bits(a), float_bits(b), 0x0040), byte_perm(float_bits(c), float_bits(d), 0x0040), 0x5410);
}
DEVICE uint32_t pair(float u, float v) { return byte_perm(float_bits(u), float_bits(v), 0x7740); }
DEVICE lanes even(lanes v) { return byte_perm(v, 0, 0x2200); }
DEVICE lanes odd(lanes v) { return byte_perm(v, 0, 0x3311); }
DEVICE lanes twice(lanes v) { return byte_perm(v, 0, 0x1100); }
DEVICE lanes second(lanes v) { return v >> 8; }
DEVICE lanes in_lane(uint32_t v, int lane) { return v << 8 * lane; }
DEVICE uint32_t firsts(uint32_t a, uint32_t b) { return byte_perm(a, b, 0x7740); }
DEVICE uint32_t seconds(uint32_t a, uint32_t b) { return byte_perm(a, b, 0x7751); }

DEVICE lanes word_of(const word4 &w, int k) { return w[k]; }
DEVICE word4 read_words(const lanes *p) { return *(const uint4 *)p; }
DEVICE void write_words(lanes *p, word4 w) { *(uint4 *)p = w; }

// The largest sample, its inverse, and the chroma of gray; whether chroma is in pairs.
DEVICE float most_of(const vf_args &) { return 255; }
DEVICE float inverse_of(const vf_args &) { return 1 / 255.0f; }
DEVICE uint32_t middle_of(const vf_args &) { return 128; }
#define in_pairs(args) ((args).layout == VF_NV12)

// One, two and four adjacent samples of a plane.
DEVICE uint32_t load1(const uint8_t *p) { return load_u8(p); }
DEVICE lanes load2(const uint8_t *p) { return load_u16(p); }
DEVICE lanes load4(const uint8_t *p) { return load_u32(p); }
DEVICE int shift_of(const vf_args &) { return 0; }
DEVICE const samples &lowered(const vf_args &, const samples &s) { return s; }
DEVICE void store1(const vf_args &, uint8_t *p, uint32_t v) { store_u8(p, v & 255); }
DEVICE void store2(const vf_args &, uint8_t *p, uint32_t v) { store_u16(p, v); }
DEVICE void store4(const vf_args &, uint8_t *p, lanes v) { store_u32(p, v); }
DEVICE void store_pairs(const vf_args &, uint8_t *p, uint32_t a, uint32_t b) { store_u32(p, byte_perm(a, b, 0x5410)); }
DEVICE uint32_t lane_of(lanes v, int lane) { return v >> 8 * lane & 255; }

#else

typedef uint2 lanes;
struct word4 {
	lanes x, y, z, w;
};
struct samples {
	lanes x, y, z, w;
};
DEVICE void operator|=(samples &a, const samples &b) { a.x |= b.x, a.y |= b.y, a.z |= b.z; }

DEVICE float raised(lanes v, int lane) { return bits_float(byte_perm(lane < 2 ? v.x : v.y, 0x4B000000, lane & 1 ? 0x7632 : 0x7610)); }
DEVICE uint32_t pair(float u, float v) { return byte_perm(float_bits(u), float_bits(v), 0x5410); }
DEVICE lanes pack(float r, float g, float b) { return lanes{pair(r, g), float_bits(b) & 0xffff}; }
DEVICE lanes pack4(float a, float b, float c, float d) { return lanes{pair(a, b), pair(c, d)}; }
DEVICE lanes even(lanes v) { return lanes{byte_perm(v.x, 0, 0x1010), byte_perm(v.y, 0, 0x1010)}; }
DEVICE lanes odd(lanes v) { return lanes{byte_perm(v.x, 0, 0x3232), byte_perm(v.y, 0, 0x3232)}; }
DEVICE lanes twice(lanes v) { return lanes{byte_perm(v.x, 0, 0x1010), byte_perm(v.x, 0, 0x3232)}; }
DEVICE uint32_t lane_of(lanes v, int lane) { return (lane < 2 ? v.x : v.y) >> 16 * (lane & 1) & 0xffff; }
DEVICE lanes second(lanes v) { return lanes{v.x >> 16, 0}; }
DEVICE lanes in_lane(uint32_t v, int lane) {
	v <<= 16 * (lane & 1);
	return lanes{lane < 2 ? v : 0, lane < 2 ? 0 : v};
}
DEVICE uint32_t firsts(uint32_t a, uint32_t b) { return byte_perm(a, b, 0x5410); }
DEVICE uint32_t seconds(uint32_t a, uint32_t b) { return byte_perm(a, b, 0x7632); }

DEVICE lanes word_of(const word4 &w, int k) { return k < 2 ? k ? w.y : w.x : k == 2 ? w.z : w.w; }
DEVICE word4 read_words(const lanes *p) {
	uint4 a = ((const uint4 *)p)[0], b = ((const uint4 *)p)[1];
	return {a.xy, a.zw, b.xy, b.zw};
}
DEVICE void write_words(lanes *p, const word4 &w) {
	((uint4 *)p)[0] = uint4{w.x.x, w.x.y, w.y.x, w.y.y};
	((uint4 *)p)[1] = uint4{w.z.x, w.z.y, w.w.x, w.w.y};
}

// The bits beyond 8 are in the layout's number, as in pipeline.Layout.
DEVICE int beyond8(const vf_args &args) { return args.layout >> 8; }
DEVICE uint32_t largest(const vf_args &args) { return (256 << beyond8(args)) - 1; }
DEVICE float most_of(const vf_args &args) { return bits_float(float_bits(ROUND) | largest(args)) - ROUND; }
// One Newton step makes the reciprocal as exact as a division, which takes far more instructions.
DEVICE float inverse_of(const vf_args &args) {
	float most = most_of(args), inverse = reciprocal(most);
	return fma(fma(-most, inverse, 1), inverse, inverse);
}
DEVICE uint32_t middle_of(const vf_args &args) { return 128 << beyond8(args); }
DEVICE bool in_pairs(const vf_args &args) {
	int arrangement = args.layout & 255;
	return arrangement == VF_NV12 || arrangement == VF_NV16 || arrangement == VF_NV24;
}

// Samples of layouts with pairs have their lowest bits, which are 0, below them. Others may hold
// more than the depth allows, which becomes the largest sample. Loads leave both to lowered, which
// asks for all samples at once: a branch for each would have each load wait for the one before.
DEVICE int shift_of(const vf_args &args) { return in_pairs(args) ? 8 - beyond8(args) : 0; }
DEVICE lanes shifted(const vf_args &args, lanes v) {
	int shift = shift_of(args);
	uint32_t mask = (0xffffu >> shift) * 0x10001u;
	return lanes{v.x >> shift & mask, v.y >> shift & mask};
}
DEVICE lanes clamped(const vf_args &args, lanes v) {
	auto both = [=](uint32_t v) {
		uint32_t most = largest(args), low = v & 0xffff, high = v >> 16;
		return (low < most ? low : most) | (high < most ? high : most) << 16;
	};
	return lanes{both(v.x), both(v.y)};
}
DEVICE samples lowered(const vf_args &args, const samples &s) {
	samples low = {shifted(args, s.x), shifted(args, s.y), shifted(args, s.z), 0};
	lanes any = low.x | low.y | low.z;
	if (!((any.x | any.y) & ~(largest(args) * 0x10001u))) return low; // nearly always
	return {clamped(args, low.x), clamped(args, low.y), clamped(args, low.z), 0};
}
DEVICE uint32_t load1(const uint8_t *p) { return load_u16(p); }
DEVICE lanes load2(const uint8_t *p) { return lanes{load_u32(p), 0}; }
DEVICE lanes load4(const uint8_t *p) { return load_u64(p); }
DEVICE void store1(const vf_args &args, uint8_t *p, uint32_t v) { store_u16(p, (v & 0xffff) << shift_of(args)); }
DEVICE void store2(const vf_args &args, uint8_t *p, uint32_t v) { store_u32(p, v << shift_of(args)); }
DEVICE void store4(const vf_args &args, uint8_t *p, lanes v) { store_u64(p, lanes{v.x << shift_of(args), v.y << shift_of(args)}); }
DEVICE void store_pairs(const vf_args &args, uint8_t *p, uint32_t a, uint32_t b) { store4(args, p, lanes{a, b}); }

#endif

// A lane as a float.
DEVICE float lane_float(lanes v, int lane) { return raised(v, lane) - ROUND; }
