// The denoiser in plain C, in vectors that the compiler splits as the target needs.
#ifdef __aarch64__
#include <arm_neon.h>
#elif defined __SSE2__
#include <emmintrin.h>
#endif
#define VL 8
#define ISA plain
#include "kernels.h"
