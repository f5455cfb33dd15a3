// The arguments of a kernel. The host fills them (kernels/window.go) and passes them by value as
// the kernel's only parameter: parameters lie in constant memory, and every launch has its own, so
// jobs with different options may run concurrently.
#ifndef VIDFILTER_ARGS_H
#define VIDFILTER_ARGS_H

#ifndef __CUDA__
#include <stdint.h>
#endif
#include "../common.h"

// One field or progressive frame, and the options of its filter.
typedef struct {
	uint64_t src[3], dst[3];            // device address of the first sample of each plane
	int32_t src_pitch[3], dst_pitch[3]; // bytes
	int32_t width, height;              // luma samples
	int32_t layout, sub_x, sub_y;       // log2 of the chroma subsampling
	int32_t chroma_read, chroma_write;  // chroma rows to read (at least 1) and to write
	int32_t radius, border;
	// all addresses and pitches are multiples of 16, so samples may be accessed as vectors
	int32_t aligned;

	// The weight of the tap (dx, dy) at the squared distance D^2 is weight_scale / (b + a D^2)
	// where R is Lorentzian and weight_scale 2^(b + a D^2) where it is Gaussian, with {a, b} =
	// tap[|dy|][|dx|]; plainTap and scaledTap in kernels/window.go give the units of D^2 in each
	// form.
	float tap[VF_MAX_RADIUS + 1][VF_MAX_RADIUS + 1][2];
	// For the tensor form: the spatial weight along one axis, or its log2 where R is Gaussian; 2
	// sigma_r^2; and, where R is Gaussian, the factor of -D^2 / 64.
	float axis[VF_MAX_RADIUS + 1];
	float two_var, gauss;

	// From samples to colours of 0 to 1 (the CPU's are 0 to 255), and from changes of colours of 0
	// to 255 to changes of samples of 0 to 1.
	vf_color color;
} vf_args;

typedef struct {
	float re, im;
} vf_complex;

// One pass of the recursive filter: its constants (kernels/recursive.go; each pair is for the two
// poles) and the cut of its lines.
typedef struct {
	// (sigma_s / sigma_r)^2, for differences in steps of a pixel between passes (recursion.h)
	float slope;
	float far;                     // beyond this distance b^D is 0
	vf_complex drive[2];           // p, which is 1/r0
	vf_complex rate[2];            // b^D is 2^(re D), turned by im D
	int32_t vertical;              // lines are columns
	int32_t first, last;           // reads the frame, writes it; otherwise the scratch memory
	int32_t phase;                 // VF_WHOLE and so on
	int32_t runs, threads, pieces; // runs in a piece, threads in a block, pieces in a line
	int32_t pairs, blocks;         // pairs of lines, and the blocks that share them
	uint64_t records;              // offset of the records in the scratch memory
} vf_recursion;

// The phase of a launch: filtering whole lines, computing the maps of pieces, or packing the
// scratch memory into planes.
enum { VF_WHOLE, VF_PIECES, VF_PACK };

// The parameter of the recursive filter's kernel.
typedef struct {
	vf_args frame;
	vf_recursion recursion;
	uint64_t scratch;
} vf_recursive_args;

#endif
