// The parameter of every kernel of fields; interlace/device fills it. Kernels read the parts that
// their headers name.
#ifndef VIDFILTER_INTERLACE_ARGS_H
#define VIDFILTER_INTERLACE_ARGS_H

#ifndef __CUDA__
#include <stdint.h>
#endif

enum { VI_PLANES = 4 }; // components, at the most

// A component of a field, at an offset in the field's memory: its own rows.
typedef struct {
	uint64_t offset;
	int32_t pitch, width; // bytes, samples
	int32_t rows[2];      // of top and of bottom fields
	int32_t height;       // of the frame
} vi_plane;

// Samples of a frame or a field as the host knows them: one sample each step bytes. Those of more
// than 8 bits have two bytes, and shift bits below them.
typedef struct {
	uint64_t at;
	int32_t pitch, step, width, height;
} vi_samples;

typedef struct {
	vi_plane plane[VI_PLANES];
	int32_t depth, shift; // bits of a sample; those below it in its two bytes

	// The launch's blocks: component c has those from begin[c], in rows of across[c].
	int32_t begin[VI_PLANES], across[VI_PLANES];
	vi_samples source[VI_PLANES], result[VI_PLANES];

	uint64_t now, before, after; // fields
	int32_t bottom;              // now's rows are 1, 3, 5, ... of the frame
} vi_args;
#endif
