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

// Runs the blocks one after another. Errors that are fatal on a GPU, and threads that diverge at
// operations that they must execute together, fail the launch with a message on stderr.
CUresult run_grid(const Launch &launch);

// The context of the running kernel.
Context *running_context();
