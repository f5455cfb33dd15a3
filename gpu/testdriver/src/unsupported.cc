// Weak definitions of all functions that gpu/libcuda forwards, for those not implemented here.
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

// FFmpeg also looks for these.
SYMBOL(cuDeviceComputeCapability)
SYMBOL(cuStreamAddCallback)
SYMBOL(cuGLGetDevices_v2)
SYMBOL(cuGraphicsGLRegisterImage)
SYMBOL(cuGraphicsUnregisterResource)
SYMBOL(cuGraphicsMapResources)
SYMBOL(cuGraphicsUnmapResources)
SYMBOL(cuGraphicsSubResourceGetMappedArray)
SYMBOL(cuGraphicsResourceGetMappedPointer_v2)
SYMBOL(cuDevicePrimaryCtxRelease)
SYMBOL(cuDevicePrimaryCtxReset)
SYMBOL(cuDevicePrimaryCtxSetFlags)
SYMBOL(cuLinkAddData)
SYMBOL(cuLinkCreate)
SYMBOL(cuModuleGetGlobal)
