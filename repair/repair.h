// Interface between Go and the C code of the repair. Samples are of two bytes; pitches are in
// samples.
#ifndef VIDFILTER_REPAIR_H
#define VIDFILTER_REPAIR_H

#include <stdint.h>

enum { VR_PLAIN, VR_AVX2, VR_AVX512 }; // as in internal/isa

typedef struct { int width, height, most; } vr_size; // of a plane, and its largest sample

// vr_compensate sets rows y0 <= y < y1 of out to the samples of in where vectors lead, in half-pels
// of the plane. Each cell of cell_x by cell_y samples has one. The vectors begin with row y0, and
// have so many cells in a row.
// vr_compare compares rows y0 <= y < y1 of cells: see cells in reference.go. A sample adds
// most_split to a sum at the most.
#define VR_FUNCTIONS(isa) \
	void vr_compensate_##isa(uint16_t *out, const uint16_t *in, vr_size s, const int16_t *vectors, int cells, int cell_x, int cell_y, int y0, int y1); \
	void vr_compare_##isa(uint16_t *peak, uint16_t *split, uint32_t *sum, const uint16_t *now, const uint16_t *before, const uint16_t *after, vr_size s, int most_split, int y0, int y1);
VR_FUNCTIONS(plain)
VR_FUNCTIONS(avx2)
VR_FUNCTIONS(avx512)
#undef VR_FUNCTIONS

void vr_compensate(int isa, uint16_t *out, const uint16_t *in, vr_size s, const int16_t *vectors, int cells, int cell_x, int cell_y, int y0, int y1);
void vr_compare(int isa, uint16_t *peak, uint16_t *split, uint32_t *sum, const uint16_t *now, const uint16_t *before, const uint16_t *after, vr_size s, int most_split, int y0, int y1);

#endif
