// Texture objects, which package gpu does not need. Calls need a current context.
#ifndef VIDFILTER_PAPERS_TEXTURE_H
#define VIDFILTER_PAPERS_TEXTURE_H

#include <libcuda.h>

// Makes a texture object of that many bytes of floats, one a texel. Their address must be a
// multiple of 512, and the memory must outlive the texture.
CUresult vf_texture(CUtexObject *texture, CUdeviceptr floats, size_t bytes);
CUresult vf_texture_free(CUtexObject texture);

#endif
