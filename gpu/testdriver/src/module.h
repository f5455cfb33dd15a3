// Modules and their kernels.
#pragma once
#include "ptx.h"
#include "state.h"

struct Module;

struct Function {
	Module *module;
	Entry entry;
	CUfunction handle;
	const vf_kernel *kernel; // compiled for the CPU
	size_t max_shared;       // dynamic, per block
};

struct Module {
	Context *context;
	Ptx ptx;
	std::vector<Function *> functions; // requested so far
};

Function *find_function(CUfunction handle);
// The limit of shared memory per block, in bytes.
size_t largest_shared(const Device &device);

void free_modules(Context &context);
