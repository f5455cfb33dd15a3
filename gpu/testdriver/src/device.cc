// Queries about devices and errors.
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "module.h"
#include "state.h"

namespace {

// Not in our cuda.h.
enum { MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97 };

int attribute_of(const Device &d, int attribute) {
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return INT32_MAX;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 48 << 10;
	case MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return (int)largest_shared(d);
	case MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return (int)largest_shared(d) + 1024;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: return 65536;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1500000;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 16;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 2;
	case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: return 1;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return 1 + d.number;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return d.compute / 10;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return d.compute % 10;
	default: return 0;
	}
}

const struct {
	CUresult code;
	const char *text;
} errors[] = {
	{CUDA_SUCCESS, "no error"},
	{CUDA_ERROR_INVALID_VALUE, "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
	{CUDA_ERROR_DEVICE_UNAVAILABLE, "device(s) is/are busy or unavailable"},
	{CUDA_ERROR_NO_DEVICE, "no device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
	{CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"},
	{CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
	{CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"},
	{CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"},
	{CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"},
	{CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."},
	{CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "device not ready"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
	{CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"},
	{CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"},
	{CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
	{CUDA_ERROR_NOT_SUPPORTED, "operation not supported"},
	{CUDA_ERROR_UNKNOWN, "unknown error"},
};

} // namespace

CUresult cuDeviceGetCount(int *count) {
	return in_driver("cuDeviceGetCount", [&] {
		*count = (int)devices().size();
		return CUDA_SUCCESS;
	});
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
	return in_device("cuDeviceGet", ordinal, [&](Device &d) {
		*device = d.number;
		return CUDA_SUCCESS;
	});
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
	return in_device("cuDeviceGetName", device, [&](Device &) {
		snprintf(name, (size_t)size, "vidfilter test device");
		return CUDA_SUCCESS;
	});
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
	return in_device("cuDeviceTotalMem", device, [&](Device &) {
		*bytes = config().memory;
		return CUDA_SUCCESS;
	});
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
	return in_device("cuDeviceGetAttribute", device, [&](Device &d) {
		*value = attribute_of(d, attribute);
		return CUDA_SUCCESS;
	});
}

// Not in our cuda.h; FFmpeg asks for it.
extern "C" __attribute__((visibility("default"))) CUresult cuGetErrorName(CUresult code, const char **text);
CUresult cuGetErrorName(CUresult code, const char **text) { return cuGetErrorString(code, text); }

CUresult cuGetErrorString(CUresult code, const char **text) {
	for (auto &e : errors)
		if (e.code == code) return *text = e.text, CUDA_SUCCESS;
	return *text = nullptr, CUDA_ERROR_INVALID_VALUE;
}
