// Dispatch by instruction set and sample depth, and the learned tables.
#include "cpu.h"

struct vi_learned vi_learned;

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

void vi_save(int isa, uint8_t *to, vi_place place, vi_plane from, int y0, int y1)
{
	CHOOSE(isa, from, vi_save, to, place, from, y0, y1)
}

void vi_estimate(int isa, vi_plane to, vi_plane lines, int parity, const vi_net *net, int y0, int y1)
{
	CHOOSE(isa, to, vi_estimate, to, lines, parity, net, y0, y1)
}

void vi_blend(int isa, const vi_pass *p, int y0, int y1)
{
	CHOOSE(isa, p->now, vi_blend, p, y0, y1)
}
