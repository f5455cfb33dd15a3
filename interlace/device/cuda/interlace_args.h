// The parameter of every kernel of fields; interlace/device fills it. Kernels read the parts that
// their headers name.
#ifndef VIDFILTER_INTERLACE_ARGS_H
#define VIDFILTER_INTERLACE_ARGS_H

#ifndef __CUDA__
#include <stdint.h>
#endif

enum {
	VI_PLANES = 4,     // components, at the most
	VI_NEIGHBOURS = 4, // the fields before and after, and those two away
	VI_WEIGHTS = 16,   // of a code, with two that are not used
	VI_CLASSES = 27 * 256,
	VI_CODES = 256,
	VI_REACH = 3, VI_WIDTH = 2 * VI_REACH + 1, VI_SUMS = 2 * VI_WIDTH + 3, // of the net
	VI_FLAT = 2, VI_PAIRS = 4, VI_UNITS = VI_FLAT + VI_PAIRS, VI_GATES = 3,
};

// The weights of interlace.Net.
typedef struct {
	float flat[VI_FLAT][VI_SUMS], flat_bias[VI_FLAT];
	float pair[VI_PAIRS][VI_WIDTH], centre[VI_PAIRS][2], outer[VI_PAIRS][3];
	float gate[VI_GATES][VI_UNITS], gate_bias[VI_GATES], filter[VI_GATES][VI_SUMS];
	float mean, bias;
} vi_net;

// A component of a field, at an offset in the field's memory: its own rows.
typedef struct {
	uint64_t offset;
	int32_t pitch, width; // bytes, samples
	int32_t rows[2];      // of top and of bottom fields
	int32_t height;       // of the frame
	int32_t shift_x, shift_y; // log2 of the subsampling
} vi_plane;

// A component of an estimate, at an offset in its memory. Planes between the samples follow at a
// distance of phase bytes each: half a pel to the right, down, and both.
typedef struct {
	uint64_t offset, phase;
	int32_t pitch; // bytes
} vi_phases;

// Samples of a frame or a field as the host knows them: one sample each step bytes. Those of more
// than 8 bits have two bytes, and shift bits below them.
typedef struct {
	uint64_t at;
	int32_t pitch, step, width, height;
} vi_samples;

typedef struct {
	vi_plane plane[VI_PLANES];
	vi_phases estimate[VI_PLANES];
	int32_t depth, shift; // bits of a sample; those below it in its two bytes of source and result

	// The launch's blocks: component c has those from begin[c], in rows of across[c].
	int32_t begin[VI_PLANES], across[VI_PLANES];
	vi_samples source[VI_PLANES], result[VI_PLANES];

	uint64_t now;   // the field, or its estimate
	int32_t bottom; // its rows are 1, 3, 5, ... of the frame

	// The neighbours' estimates: before, after, and the same two away. Another one stands in for a
	// neighbour that there is not.
	uint64_t to[VI_NEIGHBOURS];
	int32_t bottoms[VI_NEIGHBOURS], there[VI_NEIGHBOURS];
	uint64_t vectors; // two int16 a cell of 8 x 8, in half-pels; those of neighbours are stride apart
	int64_t stride;
	int32_t cells_x, cells_y;
	uint64_t classes; // a byte for each class of blocks: its code
	uint64_t codes;   // VI_WEIGHTS of int16, in 1/4096, for each

	vi_net net;
} vi_args;
#endif
