// What gorgonia.org/cu lacks of the driver: pinned memory, a kernel's one parameter by value, copies with a
// pitch, the limit of dynamic shared memory, texture objects. All need a current context.
#ifndef VIDFILTER_GPU_NATIVE_H
#define VIDFILTER_GPU_NATIVE_H

#include <libcuda.h>

// Host memory that all devices copy from and to without a detour.
CUresult vf_pin(void **ptr, size_t size);

// Host memory that is not pinned, aligned to a cache line; freed by free. NULL when there is none.
void *vf_ordinary(size_t size);

struct vf_launch {
	int grid[3], block[3];
	int shared; // dynamic shared memory in bytes
};

// Queues a kernel whose only parameter is the struct at args, which is copied before this returns.
CUresult vf_run(CUfunction f, const struct vf_launch *l, CUstream stream, void *args);

// Lets a kernel use so much dynamic shared memory; by default 48 KiB is the most.
CUresult vf_allow_shared(CUfunction f, int bytes);

// Queues a copy of rows of so many bytes, where the pitches differ. width is in bytes.
CUresult vf_rows_in(CUdeviceptr dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows, CUstream stream);
CUresult vf_rows_out(void *dst, size_t dst_pitch, CUdeviceptr src, size_t src_pitch, size_t width, size_t rows, CUstream stream);

// Makes a texture object of so many bytes of floats, one a texel, at an address that divides by 512. Its memory must outlive it.
CUresult vf_texture(CUtexObject *texture, CUdeviceptr floats, size_t bytes);

#endif
