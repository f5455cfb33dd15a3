// What kernels compiled for the CPU and the test driver that runs them (gpu/testdriver) know of each other.
#pragma once
#include <stddef.h>
#include <stdint.h>

// A kernel as its library exports it, under its name followed by _kernel.
struct vf_kernel {
	void (*run)(const void *args);
	size_t args_size;
	int threads; // a block
};

// A stretch of device memory. Its addresses are none of this process: host is where it really lies.
struct vf_range {
	uint64_t begin;
	size_t size;
	uint8_t *host;
};

// Where the running lane is. The driver sets it each time that it lets a lane run.
struct vf_place {
	int thread_x, thread_y, block_x, block_y;
	int lane; // 0 to 31
	uint8_t *shared;
	size_t shared_size;
	vf_range near[2]; // what was read and written last: most accesses stay there
};
extern "C" vf_place vf_here;

// A collective operation gets what each of the warp's 32 lanes handed to vf_collect.
typedef void vf_collective(void *const *lanes);

extern "C" {
// Both stop the lane: until all threads of the block have come here, and until the operation has been done
// for all lanes of the warp.
void vf_barrier();
void vf_collect(const char *name, vf_collective *operation, void *mine);

// Gives the range that a lane may read or write size bytes of at an address, or ends the launch.
const vf_range *vf_find(uint64_t address, size_t size, int write);
// Gives the texel x of a texture object, 0 where there is none; ends the launch where there is no such texture.
float vf_texel(uint64_t texture, int32_t x);
// Ends the launch with a CUresult.
[[noreturn]] void vf_fail(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));
}
