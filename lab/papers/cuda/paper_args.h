// The parameter of the papers' kernels. The host fills it (args.go) and passes it by value, at
// most 4096 bytes.
#ifndef VIDFILTER_PAPER_ARGS_H
#define VIDFILTER_PAPER_ARGS_H

#include "../../../kernels/cuda/args.h"

// One pass of the recursive filter (002) along rows or columns. Arrays of 2 are for the two poles;
// see kernels/recursive.go.
typedef struct {
	float slope; // (sigma_s / sigma_r)^2
	float reach; // kappa sigma_s
	vf_complex a[2], b[2], r1[2];
	float radius[2], angle[2]; // b in polar form
	vf_complex drive[2];       // 1 / r0
	int32_t vertical;          // lines are columns
	int32_t first, last;       // reads the frame, writes it; otherwise the scratch memory
	int32_t sum;               // adds up both directions
	int32_t domain, domains;   // pixels in each domain of a line but the last, and their number
} walk_args;

// One launch of a kernel over one field of RGBA.
typedef struct {
	uint64_t src, dst;           // device addresses of the first pixel
	int32_t src_pitch, dst_pitch; // bytes
	int32_t width, height, radius;
	int32_t pass; // number of the launch, from 0
	uint64_t table, scratch, texture[3];
	float two_var;                                  // 2 sigma_r^2
	float tap[VF_MAX_RADIUS + 1][VF_MAX_RADIUS + 1]; // spatial weights by |dy|, |dx|
	float range[256];                               // range weights by the difference of levels
	float xyz[9], linear[256];                      // for CIE-Lab, as in vf_color

	// 004: sigma_r is for colours of 0 to 1; variance is sigma_r^2, and sqrt_pi_variance is
	// sqrt(2 pi sigma_r^2).
	float sigma_s, sigma_r, variance, sqrt_pi_variance;
	uint64_t picture;                                   // address of the floats
	int32_t plane;                                      // floats from one channel to the next

	walk_args walk;
} paper_args;

#endif
