// The filter in AVX2 with FMA: 8 pixels an instruction.
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#define VF_ISA_AVX2
#define VL 8
#define ISA avx2
#include "cpu_kernels.h"
#endif
