// The filter in plain C with vectors of four, which every target of the compiler has or can
// emulate.
#define VL 4
#define ISA plain
#include "cpu_kernels.h"
