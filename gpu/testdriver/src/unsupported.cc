// What programs may ask a driver for and nobody has needed here yet. All that gpu/libcuda passes on is listed; where a function
// is written elsewhere, that one is taken instead.
#include "report.h"

enum { CUDA_ERROR_NOT_SUPPORTED = 801 };

static int unsupported(const char *name) {
	complain("%s is not supported", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define SYMBOL(name)                                                    \
	extern "C" __attribute__((weak, visibility("default"))) int name(); \
	int name() { return unsupported(#name); }
#include "symbols.h"
