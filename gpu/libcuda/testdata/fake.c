/* A libcuda.so.1 with a few functions, to test the jumps: each checks its arguments. */
#include <cuda.h>
#include <stdlib.h>

CUresult cuInit(unsigned int flags)
{
	const char *answer = getenv("FAKE_INIT");
	return flags ? CUDA_ERROR_INVALID_VALUE : (CUresult)(answer ? atoi(answer) : 0);
}

CUresult cuLaunchKernel(CUfunction f, unsigned int a, unsigned int b, unsigned int c, unsigned int d, unsigned int e,
	unsigned int g, unsigned int shared, CUstream stream, void **params, void **extra)
{
	int same = (size_t)f == 1 && a == 2 && b == 3 && c == 4 && d == 5 && e == 6 && g == 7 && shared == 8 &&
		(size_t)stream == 9 && (size_t)params == 10 && (size_t)extra == 11;
	return same ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref ref, float low, float high)
{
	return (size_t)ref == 1 && low == 0.25f && high == 7.5f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAlloc(CUdeviceptr *ptr, size_t size)
{
	*ptr = 0x1234567890ab;
	return size == 0x100000001 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
