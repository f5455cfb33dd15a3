// The deinterlacer in plain C.
#define ISA plain
#define VL 4
#include "kernels.h"
