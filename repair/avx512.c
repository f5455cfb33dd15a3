// The kernels for AVX-512.
#ifdef __x86_64__
#pragma GCC target("avx2,avx512f,avx512bw,avx512dq,avx512vl")
#define ISA avx512
#include "kernels.h"
#endif
