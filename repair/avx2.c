// The kernels for AVX2.
#ifdef __x86_64__
#pragma GCC target("avx2")
#define ISA avx2
#include "kernels.h"
#endif
