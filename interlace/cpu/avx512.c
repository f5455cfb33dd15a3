// The deinterlacer in AVX-512 (F, BW, DQ, VL).
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define ISA avx512
#define VL 16
#include "kernels.h"
#endif
