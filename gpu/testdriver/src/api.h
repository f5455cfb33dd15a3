// The driver's exported API. All other symbols of the library are hidden.
#pragma once
#pragma GCC visibility push(default)
#include <cuda.h>
#include "machine_cpu.h"
#pragma GCC visibility pop
