// Textures of floats in linear memory.
#pragma once

#include "device.h"

// texel reads the texel x of a texture object through the texture cache; 0 beyond its ends.
DEVICE float texel(uint64_t texture, int x) {
#ifdef VF_CPU
	return vf_texel(texture, x);
#else
	float r, g, b, a;
	asm("tex.1d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5}];" : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(texture), "r"(x));
	return r;
#endif
}
