// Frames of fields in plain C.
#define ISA plain
#include "kernels.h"
