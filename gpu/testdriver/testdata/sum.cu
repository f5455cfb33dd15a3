// Sums 256 words per block in shared memory. Without barriers the result depends on the order of
// the threads.
#include "args.h"

#ifdef NO_BARRIER
#define wait()
#else
#define wait() barrier()
#endif

KERNEL(VF_NAME, 256, 1) {
	uint32_t *sums = (uint32_t *)shared_memory();
	int i = thread_x();
	sums[i] = load(args, block_x() * 256 + i);
	for (int half = 128; half > 0; half /= 2) {
		wait();
		if (i < half) sums[i] += sums[i + half];
	}
	wait();
	if (i == 0) store(args, block_x(), sums[0]);
}
