#include "texture.h"

CUresult vf_texture(CUtexObject *texture, CUdeviceptr floats, size_t bytes)
{
	CUDA_RESOURCE_DESC memory = {
		.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {.devPtr = floats, .format = CU_AD_FORMAT_FLOAT, .numChannels = 1, .sizeInBytes = bytes},
	};
	CUDA_TEXTURE_DESC desc = {.filterMode = CU_TR_FILTER_MODE_POINT};
	return cuTexObjectCreate(texture, &memory, &desc, NULL);
}

CUresult vf_texture_free(CUtexObject texture) { return cuTexObjectDestroy(texture); }
