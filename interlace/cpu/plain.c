// Frames of fields in plain C.
#define ISA plain
#define VL 4
#include "kernels.h"
