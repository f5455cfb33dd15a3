// Interface between Go and the C code of the repair. Samples have two bytes. Planes have no
// padding between rows.
#ifndef VIDFILTER_REPAIR_H
#define VIDFILTER_REPAIR_H

#include <stdint.h>

enum { VR_PLAIN, VR_AVX2, VR_AVX512 }; // as in internal/isa

typedef struct { int width, height, most; } vr_size; // in samples, and the largest sample value

// vr_compensate sets rows y0 <= y < y1 of out to motion-compensated samples of in. vectors holds
// pairs (x, y) in half-pels of the plane, one for each cell of cell_x by cell_y samples, starting
// at row y0, with cells pairs in a row.
//
// vr_compare sets rows y0 <= y < y1 of cells. See cells in reference.go. Each difference is limited
// to most_split before it is added to sum.
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
