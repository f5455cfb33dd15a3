#include "native.h"

CUresult vf_pin(void **ptr, size_t size) { return cuMemHostAlloc(ptr, size, CU_MEMHOSTALLOC_PORTABLE); }

void *vf_ordinary(size_t size) { return aligned_alloc(64, (size + 63) / 64 * 64); }

CUresult vf_run(CUfunction f, const struct vf_launch *l, CUstream stream, void *args)
{
	void *params[] = {args};
	return cuLaunchKernel(f, l->grid[0], l->grid[1], 1, l->block[0], l->block[1], 1, l->shared,
		stream, params, NULL);
}

CUresult vf_allow_shared(CUfunction f, int bytes)
{
	return cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

CUresult vf_rows_in(CUdeviceptr dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows, CUstream stream)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = src, .srcPitch = src_pitch,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dst, .dstPitch = dst_pitch,
		.WidthInBytes = width, .Height = rows,
	};
	return cuMemcpy2DAsync(&c, stream);
}

CUresult vf_rows_out(void *dst, size_t dst_pitch, CUdeviceptr src, size_t src_pitch, size_t width, size_t rows, CUstream stream)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src, .srcPitch = src_pitch,
		.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = dst, .dstPitch = dst_pitch,
		.WidthInBytes = width, .Height = rows,
	};
	return cuMemcpy2DAsync(&c, stream);
}

CUresult vf_rows_within(CUdeviceptr dst, size_t dst_pitch, CUdeviceptr src, size_t src_pitch, size_t width, size_t rows, CUstream stream)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src, .srcPitch = src_pitch,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dst, .dstPitch = dst_pitch,
		.WidthInBytes = width, .Height = rows,
	};
	return cuMemcpy2DAsync(&c, stream);
}
