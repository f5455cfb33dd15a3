// The denoiser in plain C, in vectors that the compiler splits as the target needs.
#define VL 8
#define ISA plain
#include "kernels.h"
