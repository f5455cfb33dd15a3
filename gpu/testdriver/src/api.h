// The driver's API as programs see it. Everything else is hidden in the library.
#pragma once
#pragma GCC visibility push(default)
#include <cuda.h>
#include "machine_cpu.h"
#pragma GCC visibility pop
