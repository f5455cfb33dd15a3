// Functions of the test driver for the test libraries of NVDEC and NVENC. They do not count as
// calls of the program, so they are never refused.
#pragma once
#include <cuda.h>

#define INSIDE extern "C" __attribute__((visibility("default")))

INSIDE CUcontext vf_current(void);          // the thread's context, or null
INSIDE int vf_device_of(CUcontext context); // its number, or -1
INSIDE int vf_has_memory(CUdeviceptr address);
INSIDE void vf_report_leak(CUcontext context, const char *what);
// The function reports the sessions of a context when it is closed.
INSIDE void vf_count_sessions(int (*of)(CUcontext));
