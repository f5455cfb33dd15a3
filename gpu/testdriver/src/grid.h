// Runs a kernel on the CPU.
#pragma once
#include "api.h"

struct Context;

struct Launch {
	const char *name;
	const vf_kernel *kernel;
	const void *args;
	unsigned grid[3], block[3];
	size_t shared;
	Context *context;
};

enum { MAX_THREADS = 1024, MAX_SHARED = 227 << 10 };

// Runs the blocks one after another. What a GPU would not survive, and threads that part where they must be together, is
// an error, told on stderr.
CUresult run_grid(const Launch &launch);

// The context of the kernel that is running.
Context *running_context();
