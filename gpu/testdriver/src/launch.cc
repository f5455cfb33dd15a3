// Kernel launches and attributes.
#include <string.h>

#include "config.h"
#include "grid.h"
#include "module.h"
#include "stream.h"

namespace {

struct KernelRun : Work {
	std::string name;
	Launch launch;
	std::vector<uint64_t> args; // a copy, aligned for any argument
	bool fails;

	CUresult run() override {
		log_work("run %s device=%d", name.c_str(), launch.context->device->number);
		if (fails) return CUDA_ERROR_LAUNCH_FAILED;
		launch.name = name.c_str();
		launch.args = args.data();
		return run_grid(launch);
	}
};

bool possible(const Function &f, const unsigned *grid, const unsigned *block, size_t shared) {
	size_t threads = (size_t)block[0] * block[1] * block[2];
	if (!threads || threads > f.entry.threads || block[0] > 1024 || block[1] > 1024 || block[2] > 64) return false;
	if (!grid[0] || !grid[1] || !grid[2] || grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535) return false;
	return shared <= f.max_shared;
}

// Virtual time that grows with the work: 3 us and a nanosecond for every 20 threads.
int64_t duration(const Launch &l) {
	double threads = 1;
	for (int i = 0; i < 3; i++) threads *= (double)l.grid[i] * l.block[i];
	return 3000 + (int64_t)(threads / 20);
}

KernelRun *new_run(const Function &f, const Launch &launch, const void *arg) {
	auto *run = new KernelRun;
	run->name = f.entry.name;
	run->launch = launch;
	run->args.resize((f.kernel->args_size + 7) / 8);
	memcpy(run->args.data(), arg, f.kernel->args_size);
	run->fails = config().launch.hits();
	if (config().hang.hits()) run->after = NEVER;
	return run;
}

} // namespace

CUresult cuLaunchKernel(CUfunction func, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                        unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream, void **params,
                        void **) {
	return in_stream("cuLaunchKernel", stream, [&](Stream &s) {
		Function *f = find_function(func);
		if (!f || f->module->context != s.context) return CUDA_ERROR_INVALID_HANDLE;
		Launch l = {nullptr, f->kernel, nullptr, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, s.context};
		note(" kernel=%s grid=%u,%u block=%u,%u shared=%u", f->entry.name.c_str(), grid_x, grid_y, block_x, block_y, shared);
		if (!params || !possible(*f, l.grid, l.block, shared)) return CUDA_ERROR_INVALID_VALUE;
		s.put(new_run(*f, l, params[0]), KERNELS, duration(l)); // kernels have one parameter
		return CUDA_SUCCESS;
	});
}

CUresult cuFuncSetAttribute(CUfunction func, CUfunction_attribute attribute, int value) {
	return in_context("cuFuncSetAttribute", [&](Context &context) {
		Function *f = find_function(func);
		if (!f) return CUDA_ERROR_INVALID_HANDLE;
		if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_NOT_SUPPORTED;
		if (value < 0 || (size_t)value > largest_shared(*context.device)) return CUDA_ERROR_INVALID_VALUE;
		f->max_shared = (size_t)value;
		return CUDA_SUCCESS;
	});
}
