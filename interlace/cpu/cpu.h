// Interface between Go and the C code that makes frames of fields.
#ifndef VIDFILTER_INTERLACE_CPU_H
#define VIDFILTER_INTERLACE_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { VI_PLAIN, VI_AVX2, VI_AVX512 }; // as in internal/isa

enum { VI_PAD = 16 }; // columns and rows beyond each edge of a plane that repeat it

// The rows of a field in one component, a byte a sample or, if they are deeper than 8 bits, two.
// Memory of the C heap.
typedef struct {
	void *at;        // the first sample
	ptrdiff_t pitch; // samples
	int width, height, depth;
} vi_plane;

// Where a component of a frame is: rows pitch bytes apart, samples step bytes apart, and shift bits
// up in their two bytes.
typedef struct {
	ptrdiff_t pitch;
	int step, shift;
} vi_place;

// A component of a picture: the field's rows, at parity, parity + 2, ... of the frame, and those of
// the fields around it, which lie between.
typedef struct {
	vi_plane now, before, after;
	int parity;
} vi_fields;

#define VI_FUNCTIONS(isa) \
	void vi_load_##isa(vi_plane to, const uint8_t *from, vi_place place, int y0, int y1); \
	void vi_fill_##isa(uint8_t *to, vi_place place, const vi_fields *f, int y0, int y1);
VI_FUNCTIONS(plain_8)
VI_FUNCTIONS(plain_16)
VI_FUNCTIONS(avx2_8)
VI_FUNCTIONS(avx2_16)
VI_FUNCTIONS(avx512_8)
VI_FUNCTIONS(avx512_16)
#undef VI_FUNCTIONS

// vi_load copies rows y0 <= y < y1 of a field, with what lies beyond their ends. What exceeds the
// depth becomes the largest sample. vi_pad sets the rows beyond the edges.
void vi_load(int isa, vi_plane to, const uint8_t *from, vi_place place, int y0, int y1);
void vi_pad(vi_plane p);

// vi_fill writes rows y0 <= y < y1 of a frame.
void vi_fill(int isa, uint8_t *to, vi_place place, const vi_fields *f, int y0, int y1);

#endif
