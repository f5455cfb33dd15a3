// The repair in plain C.
#define ISA plain
#include "kernels.h"
