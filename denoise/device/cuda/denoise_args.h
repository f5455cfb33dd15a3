// The parameter of every kernel of the denoiser; denoise/device fills it. Kernels read the parts
// that their headers name.
#ifndef VIDFILTER_DENOISE_ARGS_H
#define VIDFILTER_DENOISE_ARGS_H

#ifndef __CUDA__
#include <stdint.h>
#endif

enum {
	VD_LEVELS = 12,     // of the pyramid, at the most
	VD_NEIGHBOURS = 12, // frames besides the one that is filtered, at the most
	VD_PAST = 4,        // sums of frames before the window, at the most
	VD_RIM = 24,        // samples beyond the edges of the planes of levels, the same as there
	VD_CELL = 16, VD_REFINED_CELL = 8, // sides of cells: of the search, of the refinement
	VD_LENGTHS = 73,    // squared lengths of vectors at the coarsest level: 0 to 2*6*6
};

// A plane of a picture, at an offset in the picture's memory. Planes between the samples follow at
// a distance of phase bytes each: half a pel to the right, down, and both.
typedef struct {
	uint64_t offset, phase;
	int32_t pitch, width, height; // pitch in bytes
	int32_t first_cell;           // of a level's vectors among those of the levels above the finest
} vd_plane;

// Samples of a frame or a field as the host knows them: one sample each step bytes. Samples of more
// than 8 bits have two bytes, and shift bits below them.
typedef struct {
	uint64_t at;
	int32_t pitch, step, width, height;
} vd_samples;

typedef struct {
	vd_plane noisy[3], level[VD_LEVELS]; // of every picture; levels, of bytes, begin with smoothed luma
	int32_t levels, planes;              // planes that have sums: bit c is set for plane c
	int32_t shift_x, shift_y;            // of chroma
	int32_t depth, coarse;               // bits of a sample; smooth more

	uint64_t centre, to[VD_NEIGHBOURS]; // pictures: the one that is filtered, its neighbours
	int32_t distance[VD_NEIGHBOURS];    // in frames
	int32_t from[VD_NEIGHBOURS];        // whose search led there: the neighbour itself, or a nearer one
	int32_t reach[VD_NEIGHBOURS];       // longest vector, 0: any
	int32_t first, count;               // the launch's neighbours

	// The launch's blocks: plane c has those from begin[c], in rows of across[c].
	int32_t begin[4], across[3];
	int32_t shift; // bits below a sample in its two bytes there
	vd_samples source[3], result[3];

	// Two int16 a cell. Neighbours are stride apart.
	uint64_t vectors;        // of the levels above the finest
	uint64_t found, refined; // in half-pels
	uint64_t gates;          // uint64 a neighbour: how much it differs
	int64_t misfit;          // from which it is left out
	int64_t vector_stride, found_stride, refined_stride;
	int32_t level_now; // of the launch
	int32_t penalty, refine_penalty, length[VD_LENGTHS];

	float inverse[3][64]; // 1 / the noise's variance, at [v * 8 + u]
	float clip[3];        // 1 / sigma, for the factor near white; 0: off
	float curve[256];
	float window[16]; // of a patch, along one side
	int32_t stride;   // between patches
	float fade;       // -log2(e) / PatchFade
	float frequency, weight_unit;
	int32_t dc_gate;
	float threshold, threshold_fall, least_threshold, least_gain; // of the first pass
	float noise_share;                                            // of the second
	float share, share_from, share_rise;                          // of the pilot in it, by the variance left

	uint64_t sums[3];                 // int32 values over uint32 weights, a sample, without padding
	uint64_t pilot[3], pilot_luma;    // 16 bits a sample; luma in bytes
	int32_t pilot_pitch[3], pilot_bits;
	float grain;                        // share of the source in the result
	float dither;                       // range of the pattern in the result
	int32_t result_depth, result_shift; // bits of a sample there, and those below it in two bytes

	int32_t half_depth; // bits of a sample of half the size, in two bytes
	int32_t part[3];    // of the change that is made, in 1/256
	uint64_t change[3]; // int32 for each of these samples, without padding

	uint64_t past[VD_PAST][3];                 // sums, 16 bits a sample, in the pilot's pitch
	float past_count[VD_PAST], past_unit[VD_PAST]; // frames; a step of their mean
	int32_t pasts;
	int32_t nearest[VD_NEIGHBOURS], nears;     // the neighbours that were searched, the nearest first
	int32_t past_reach;                        // the past is for patches with no longer vector there
	float past_most;                           // and with no more variance left without it
} vd_args;
#endif
