// The interface between kernels compiled for the CPU and the test driver that runs them
// (gpu/testdriver).
#pragma once
#include <stddef.h>
#include <stdint.h>

// A kernel as exported by its library, under its name followed by _kernel.
struct vf_kernel {
	void (*run)(const void *args);
	size_t args_size;
	int threads; // per block
};

// A range of device memory. Its addresses are not valid in this process; host is its real
// location.
struct vf_range {
	uint64_t begin;
	size_t size;
	uint8_t *host;
};

// The position of the running lane. The driver sets it before resuming a lane.
struct vf_place {
	int thread_x, thread_y, block_x, block_y;
	int lane; // 0 to 31
	uint8_t *shared;
	size_t shared_size;
	vf_range near[2]; // last read and last written: most accesses stay there
};
extern "C" vf_place vf_here;

// A collective operation receives the argument that each of the warp's 32 lanes passed to
// vf_collect.
typedef void vf_collective(void *const *lanes);

extern "C" {
// Both suspend the lane: vf_barrier until all threads of the block have reached it, vf_collect
// until the operation has been done for all lanes of the warp.
void vf_barrier();
void vf_collect(const char *name, vf_collective *operation, void *mine);

// Returns the range in which a lane may read or write size bytes at an address, or ends the
// launch.
const vf_range *vf_find(uint64_t address, size_t size, int write);
// Returns texel x of a texture object, 0 outside it; ends the launch if the texture does not
// exist.
float vf_texel(uint64_t texture, int32_t x);
// Ends the launch with a CUresult.
[[noreturn]] void vf_fail(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));
}
