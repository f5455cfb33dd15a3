// NVDEC's abilities, by libnvcuvid.
#ifndef VIDFILTER_GPU_NVDEC_H
#define VIDFILTER_GPU_NVDEC_H

#include <libcuda.h>

// A device's limits for one codec, chroma format and depth.
struct vf_caps {
	int supported, engines;
	unsigned min_width, min_height, width, height, macroblocks; // limits
};

// Returns FFmpeg's name of the i-th codec that is decoded, or a null pointer.
const char *vf_decoded_codec(int i);

// Asks for the device of the current context. The codec is FFmpeg's name of it, chroma the number
// of samples of 4:2:0, 4:2:2 or 4:4:4. An unknown codec is not supported.
CUresult vf_decodes(vf_decoder_caps *ask, const char *codec, int chroma, int depth, struct vf_caps *caps);

#endif
