// The denoiser in AVX-512 (F, BW, DQ, VL): 16 floats an instruction.
#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define VD_ISA_AVX512
#define VL 16
#define ISA avx512
#include "kernels.h"
#endif
