// The functions that do not depend on the instruction set, and those that choose by it and by the
// depth of the samples.
#include <string.h>
#include "cpu.h"

#ifdef __x86_64__
#define BY_ISA(isa, name, bits, ...) \
	switch (isa) { \
	case VI_AVX512: name##_avx512_##bits(__VA_ARGS__); return; \
	case VI_AVX2: name##_avx2_##bits(__VA_ARGS__); return; \
	default: name##_plain_##bits(__VA_ARGS__); return; \
	}
#else
#define BY_ISA(isa, name, bits, ...) { name##_plain_##bits(__VA_ARGS__); return; }
#endif

#define CHOOSE(isa, plane, name, ...) \
	if ((plane).depth > 8) BY_ISA(isa, name, 16, __VA_ARGS__) \
	BY_ISA(isa, name, 8, __VA_ARGS__)

void vi_load(int isa, vi_plane to, const uint8_t *from, vi_place place, int y0, int y1)
{
	CHOOSE(isa, to, vi_load, to, from, place, y0, y1)
}

void vi_fill(int isa, uint8_t *to, vi_place place, const vi_fields *f, int y0, int y1)
{
	CHOOSE(isa, f->now, vi_fill, to, place, f, y0, y1)
}

void vi_pad(vi_plane p)
{
	size_t size = p.depth > 8 ? 2 : 1, row = p.pitch * size, whole = (p.width + 2 * VI_PAD) * size;
	uint8_t *first = (uint8_t *)p.at - VI_PAD * size, *last = first + (p.height - 1) * row;
	for (int i = 1; i <= VI_PAD; i++) {
		memcpy(first - i * row, first, whole);
		memcpy(last + i * row, last, whole);
	}
}
