// The denoiser in AVX2 with FMA: 8 floats an instruction.
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#define VD_ISA_AVX2
#define VL 8
#define ISA avx2
#include "kernels.h"
#endif
