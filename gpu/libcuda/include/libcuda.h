/* The state of the CUDA driver, from the archive that stands in for it at link time. */
#ifndef VIDFILTER_LIBCUDA_H
#define VIDFILTER_LIBCUDA_H

#include <cuda.h>

struct vf_cuda_state {
	const char *load_error; /* the loader's error; NULL if the driver was loaded */
	CUresult init;          /* result of its cuInit; CUDA_ERROR_NOT_INITIALIZED if not loaded */
};

/* Loads and initializes the driver at the first call, from any thread; the result never changes
 * and is never freed. Any other driver call does the same first. */
const struct vf_cuda_state *vf_cuda_state(void);

typedef CUresult vf_decoder_caps(void *caps); /* CUVIDDECODECAPS; of the current context */

/* The driver's library for video, libnvcuvid. FFmpeg, which uses it, finds it loaded. */
struct vf_nvcuvid {
	const char *load_error; /* the loader's error; NULL if it was loaded */
	vf_decoder_caps *decoder_caps;
};

/* Loads the library at the first call, from any thread; the result never changes. */
const struct vf_nvcuvid *vf_nvcuvid(void);

typedef int vf_encode_version(unsigned *version); /* NVENCSTATUS */
typedef int vf_encode_instance(void *functions);    /* NV_ENCODE_API_FUNCTION_LIST */

/* The driver's library for encoding, libnvidia-encode. FFmpeg finds it loaded, too. */
struct vf_nvenc {
	const char *load_error; /* the loader's error; NULL if it was loaded */
	vf_encode_version *version;
	vf_encode_instance *instance;
};

/* Loads the library at the first call, from any thread; the result never changes. */
const struct vf_nvenc *vf_nvenc(void);

#endif
