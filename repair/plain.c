// The kernels without vector extensions.
#define ISA plain
#include "kernels.h"
