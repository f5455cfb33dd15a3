// What a kernel is told. The host fills it (kernels/launch.go) and passes it by value as the kernel's only parameter: parameters
// lie in constant memory, and every launch has its own, so that two jobs with different options may run at once.
#ifndef VIDFILTER_ARGS_H
#define VIDFILTER_ARGS_H

#ifndef __CUDA__
#include <stdint.h>
#endif
#include "../common.h"

// One field or progressive frame and how it is filtered.
typedef struct {
	uint64_t src[3], dst[3];            // device address of the first sample of each plane
	int32_t src_pitch[3], dst_pitch[3]; // bytes
	int32_t width, height;              // luma samples
	int32_t layout, sub_x, sub_y;       // log2 of the chroma subsampling
	int32_t chroma_read, chroma_write;  // chroma rows that may be read (at least 1), and that are written
	int32_t radius, border;
	int32_t aligned;     // all addresses and pitches divide by 16, so that vectors of samples may be read and written
	int32_t inner[2][4]; // the part of luma and chroma that the border skip filters (keptOutside): x0, y0, x1, y1

	// The weight of the tap (dx, dy) at the squared distance D^2 is weight_scale / (b + a D^2) where R is Lorentzian and
	// weight_scale 2^(b + a D^2) where it is Gaussian, with {a, b} = tap[|dy|][|dx|]; see tapWeight for what D^2 is in each form.
	float tap[VF_MAX_RADIUS + 1][VF_MAX_RADIUS + 1][2];
	// For the tensor form: the spatial weight along one axis, or its log2 where R is Gaussian; 2 sigma_r^2; and what -D^2 / 64 is
	// multiplied by where R is Gaussian.
	float axis[VF_MAX_RADIUS + 1];
	float two_var, gauss;

	// From samples to colours of 0 to 1 (the CPU's are of 0 to 255), and from colours of 0 to 255 to samples.
	vf_color color;
} vf_args;

typedef struct {
	float re, im;
} vf_complex;

// One pass of the recursive filter: its constants (kernels/recursive.go; each pair is of the two poles) and how its lines are cut.
typedef struct {
	float slope;                        // (sigma_s / sigma_r)^2; in steps of a pixel between passes (recursion.h) for the fast form
	float far;                          // distances of so much and more are as far as can be
	float reach;                        // kappa sigma_s
	vf_complex a[2], b[2], r1[2];
	float radius[2], angle[2];          // b in the polar form
	vf_complex drive[2];                // p, which is 1/r0
	vf_complex rate[2];                 // b^D is 2^(re D), turned by im D
	int32_t vertical;                   // lines are columns
	int32_t first, last;                // reads the frame, writes it, else the scratch memory
	int32_t phase;                      // VF_WHOLE and so on
	int32_t domain, domains;            // of a line: pixels of each but the last, and their number
	int32_t runs, threads, pieces;      // of the fast form: runs of a piece of a line, threads a block, pieces a line
	int32_t pairs, blocks;              // of lines, which a block filters two at a time; and the blocks that share them
	uint32_t records[2];                // where the records begin in the scratch memory, lower half first
} vf_recursion;

// What a launch does: all; the maps of pieces, the sum of both directions, or planes of what lies in the scratch memory.
enum { VF_WHOLE, VF_PIECES, VF_SUM, VF_PACK };

// Where vf_recursion lies in vf_lab_args: in the place of the taps.
enum { VF_RECURSION_OFFSET = __builtin_offsetof(vf_args, tap) };

// What the kernels of 004 get beside.
typedef struct {
	float sigma_s, sigma_r;           // pixels; colours of 0 to 1
	float variance, sqrt_pi_variance; // sigma_r^2, sqrt(2 pi sigma_r^2)
	uint64_t texture[2];              // the second and the third texture object
	int32_t plane;                    // floats from one channel of a picture in scratch memory to the next
} vf_staal_args;

// What the kernels of the papers (the lab) get. Parameters are 4096 bytes at most, so the table of the range weight, and what else a form
// wants, lie where color.linear is, which only the distance lab has a use for.
typedef struct {
	union {
		vf_args frame;
		struct {
			uint8_t before_range[__builtin_offsetof(vf_args, color.linear)];
			union {
				float range[256]; // R by the difference of levels, for the distances rgb and channel
				vf_staal_args staal;
			};
		};
		struct {
			uint8_t before_recursion[VF_RECURSION_OFFSET];
			vf_recursion recursion;
		};
	};
	uint64_t table;   // device address of the variant's table in global memory, 0 for none
	uint64_t texture; // texture object over scratch memory, 0 for none
	uint64_t scratch; // device address of memory of the variant's own, 0 for none; frames of other streams have their own
	int32_t pass;     // for forms that take several launches: which this one is, from 0
	int32_t spare;
} vf_lab_args;

_Static_assert(__builtin_offsetof(vf_lab_args, range) == __builtin_offsetof(vf_args, color.linear), "range lies where color.linear is");

#endif
