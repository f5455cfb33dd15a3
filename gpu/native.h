// Driver calls that gorgonia.org/cu lacks: pinned memory, a kernel's one parameter by value,
// copies with a pitch, the limit of dynamic shared memory. All need a current context.
#ifndef VIDFILTER_GPU_NATIVE_H
#define VIDFILTER_GPU_NATIVE_H

#include <libcuda.h>

// Maps host memory, in large pages where the system has them, and between inaccessible pages. All
// of it is there when this returns; NULL if it is not to be had.
void *vf_map(size_t size);
void vf_unmap(void *ptr, size_t size);

// Pin mapped memory, from and to which all devices then copy directly, or let the driver allocate
// such memory.
CUresult vf_pin(void *ptr, size_t size);
CUresult vf_alloc_pinned(void **ptr, size_t size);

// Allocates unpinned host memory, aligned to a cache line; free it with free. NULL on failure.
void *vf_ordinary(size_t size);

struct vf_launch {
	int grid[2], block[2];
	int shared; // dynamic shared memory in bytes
};

// Queues a kernel whose only parameter is the struct at args, copied before this returns.
CUresult vf_run(CUfunction f, const struct vf_launch *l, CUstream stream, void *args);

// Sets the limit of a kernel's dynamic shared memory (default 48 KiB).
CUresult vf_allow_shared(CUfunction f, int bytes);

// Where rows begin: in host memory, or in device memory if host is NULL.
struct vf_end {
	void *host;
	CUdeviceptr device;
	size_t pitch; // bytes
};

// Queues a copy of rows of width bytes.
CUresult vf_copy_rows(struct vf_end to, struct vf_end from, size_t width, size_t rows, CUstream stream);

#endif
