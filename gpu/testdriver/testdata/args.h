// Arguments of the test kernels, in place of kernels/cuda/args.h.
#pragma once
#include "device.h"

typedef struct {
	uint64_t in, out; // words in device memory
	int32_t what;     // the kernel's operation
	int32_t count;    // number of words
} vf_args;

DEVICE uint32_t load(const vf_args &args, int i) { return load_u32((const uint8_t *)args.in + 4 * i); }
DEVICE void store(const vf_args &args, int i, uint32_t v) { store_u32((uint8_t *)args.out + 4 * i, v); }
