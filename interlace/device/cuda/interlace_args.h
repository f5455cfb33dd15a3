// The parameter of all deinterlacer kernels, filled in by interlace/device. Each kernel reads only
// some of it.
#ifndef VIDFILTER_INTERLACE_ARGS_H
#define VIDFILTER_INTERLACE_ARGS_H

#ifndef __CUDA__
#include <stdint.h>
#endif

enum {
	VI_PLANES = 4,     // components at most
	VI_NEIGHBOURS = 4, // the fields before and after, two before and two after
	VI_WEIGHTS = 16,   // weights of a code, the last two unused
	VI_CLASSES = 27 * 256,
	VI_CODES = 256,
	VI_REACH = 3, VI_WIDTH = 2 * VI_REACH + 1, VI_SUMS = 2 * VI_WIDTH + 3, // sizes of the net
	VI_FLAT = 2, VI_PAIRS = 4, VI_UNITS = VI_FLAT + VI_PAIRS, VI_GATES = 3,
};

// The weights of interlace.Net.
typedef struct {
	float flat[VI_FLAT][VI_SUMS], flat_bias[VI_FLAT];
	float pair[VI_PAIRS][VI_WIDTH], centre[VI_PAIRS][2], outer[VI_PAIRS][3];
	float gate[VI_GATES][VI_UNITS], gate_bias[VI_GATES], filter[VI_GATES][VI_SUMS];
	float mean, bias;
} vi_net;

// A component of a field: its own rows, at an offset in the field's memory.
typedef struct {
	uint64_t offset;
	int32_t pitch, width; // bytes, samples
	int32_t rows[2];      // of a top field, of a bottom field
	int32_t height;       // of the frame
	int32_t shift_x, shift_y; // log2 of the subsampling
} vi_plane;

// A component of an estimate, at an offset in its memory. Three planes follow at intervals of phase
// bytes: half a pel to the right, half a pel down, and both.
typedef struct {
	uint64_t offset, phase;
	int32_t pitch; // bytes
} vi_phases;

// Samples of a frame or a field in the host's layout, step bytes apart. Above 8 bits, a sample is
// two bytes, shifted left by shift bits.
typedef struct {
	uint64_t at;
	int32_t pitch, step, width, height;
} vi_samples;

typedef struct {
	vi_plane plane[VI_PLANES];
	vi_phases estimate[VI_PLANES];
	int32_t depth, shift; // bits of a sample, and its left shift in source and result

	// The launch's blocks: component c starts at block begin[c] and has across[c] blocks per row.
	int32_t begin[VI_PLANES], across[VI_PLANES];
	vi_samples source[VI_PLANES], result[VI_PLANES];

	uint64_t now;   // the field, or its estimate
	int32_t bottom; // its rows are 1, 3, 5, ... of the frame

	// The estimates of the neighbours or their stand-ins: before, after, two before, two after. A
	// stand-in is marked by there = 0.
	uint64_t to[VI_NEIGHBOURS];
	int32_t bottoms[VI_NEIGHBOURS], there[VI_NEIGHBOURS];
	uint64_t vectors; // two int16 per cell, in half-pels, with neighbours stride bytes apart
	int64_t stride;
	int32_t cell_shift, cells_x, cells_y; // a cell is 1 << cell_shift luma samples
	uint64_t classes; // the code of each class of blocks, a byte each
	uint64_t codes;   // VI_WEIGHTS int16 per code, in 1/4096

	vi_net net;
} vi_args;
#endif
