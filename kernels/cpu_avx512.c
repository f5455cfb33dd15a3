// The filter in AVX-512 (F, BW, DQ, VL): 16 pixels an instruction.
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")
#define VF_ISA_AVX512
#define VL 16
#define ISA avx512
#include "cpu_kernels.h"
#endif
