// Modules and their kernels.
#pragma once
#include "ptx.h"
#include "state.h"

struct Module;

struct Function {
	Module *module;
	Entry entry;
	CUfunction handle;
	const vf_kernel *kernel; // the same, compiled for the CPU
	size_t max_shared;       // a block, dynamic
};

struct Module {
	Context *context;
	Ptx ptx;
	std::vector<Function *> functions; // that were asked for
};

Function *find_function(CUfunction handle);
// How much shared memory the blocks of a device may ask for.
size_t largest_shared(const Device &device);

void free_modules(Context &context);
