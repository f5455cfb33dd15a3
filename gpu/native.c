#include "native.h"
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // Linux 5.14
#endif

enum { PAGE = 4096, LARGE = 2 << 20 };

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void *vf_map(size_t size)
{
	size = round_up(size, PAGE);
	size_t all = size + 2 * LARGE;
	char *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	char *p = (char *)round_up((uintptr_t)base + PAGE, LARGE), *end = p + size + PAGE;
	munmap(base, p - PAGE - base);
	munmap(end, base + all - end);
	if (mprotect(p, size, PROT_READ | PROT_WRITE)) {
		vf_unmap(p, size);
		return NULL;
	}
	madvise(p, size, MADV_HUGEPAGE);
	if (madvise(p, size, MADV_POPULATE_WRITE) && errno != EINVAL) { // older systems do it page by page
		vf_unmap(p, size);
		return NULL;
	}
	return p;
}

void vf_unmap(void *ptr, size_t size) { munmap((char *)ptr - PAGE, round_up(size, PAGE) + 2 * PAGE); }

CUresult vf_pin(void *ptr, size_t size) { return cuMemHostRegister(ptr, round_up(size, PAGE), CU_MEMHOSTREGISTER_PORTABLE); }

CUresult vf_alloc_pinned(void **ptr, size_t size) { return cuMemHostAlloc(ptr, size, CU_MEMHOSTALLOC_PORTABLE); }

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

CUresult vf_copy_rows(struct vf_end to, struct vf_end from, size_t width, size_t rows, CUstream stream)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = from.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = from.host, .srcDevice = from.device, .srcPitch = from.pitch,
		.dstMemoryType = to.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = to.host, .dstDevice = to.device, .dstPitch = to.pitch,
		.WidthInBytes = width, .Height = rows,
	};
	return cuMemcpy2DAsync(&c, stream);
}
