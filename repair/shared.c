// Dispatch by instruction set.
#include "repair.h"

#ifdef __x86_64__
#define BY_ISA(isa, name, ...) \
	switch (isa) { \
	case VR_AVX512: name##_avx512(__VA_ARGS__); return; \
	case VR_AVX2: name##_avx2(__VA_ARGS__); return; \
	default: name##_plain(__VA_ARGS__); \
	}
#else
#define BY_ISA(isa, name, ...) name##_plain(__VA_ARGS__);
#endif

void vr_compensate(int isa, uint16_t *out, const uint16_t *in, vr_size s, const int16_t *vectors, int cells, int cell_x, int cell_y, int y0, int y1)
{
	BY_ISA(isa, vr_compensate, out, in, s, vectors, cells, cell_x, cell_y, y0, y1)
}

void vr_compare(int isa, uint16_t *peak, uint16_t *split, uint32_t *sum, const uint16_t *now, const uint16_t *before, const uint16_t *after, vr_size s, int most_split, int y0, int y1)
{
	BY_ISA(isa, vr_compare, peak, split, sum, now, before, after, s, most_split, y0, y1)
}
