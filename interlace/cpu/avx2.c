// The deinterlacer in AVX2.
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#define ISA avx2
#define VL 8
#include "kernels.h"
#endif
