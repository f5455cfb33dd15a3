/* What became of the CUDA driver, from the archive that stands in for it at link time. */
#ifndef VIDFILTER_LIBCUDA_H
#define VIDFILTER_LIBCUDA_H

#include <cuda.h>

struct vf_cuda_state {
	const char *load_error; /* why there is no driver, in the loader's words; NULL when there is one */
	CUresult init;          /* what the driver's cuInit answered; CUDA_ERROR_NOT_INITIALIZED without one */
};

/* Loads and initializes the driver at the first call, from any thread; the answer never changes and is
 * never freed. Any other call to the driver does the same first. */
const struct vf_cuda_state *vf_cuda_state(void);

#endif
